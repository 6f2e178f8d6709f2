// Which route of the gate a question is about: by the route's name, if the page gave one, or by the request that it is about.

export function nameRoute(endpoint, { route, url, method }) {
  const { searchParams } = endpoint;
  if (route !== undefined) return searchParams.set("route", route);
  searchParams.set("path", new URL(url).pathname);
  if (method != null) searchParams.set("method", String(method).toUpperCase());
}
