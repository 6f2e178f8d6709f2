// The entry `oncegate/fetch`: `fetch` for requests that change something.
//
// Invariant: a promise that resolves has the service's answer to this very request, its first one or the
// stored one. Whatever else became of it rejects, and the error has the result.

import { messages, OncegateError } from "oncegate";
import { sharedClient } from "./pages/shared.js";

const KEYED = new Set(["POST", "PUT", "PATCH", "DELETE"]);
const INTENT = "oncegate-intent";

export class NoResponseError extends Error {
  constructor(result, options) {
    super(`oncegate: ${messages(result).title} (${result.outcome}${result.reason ? `, ${result.reason}` : ""})`, options);
    this.name = result.reason === "aborted" ? "AbortError" : "NoResponseError";
    this.result = result;
  }
}

export function createFetch({ client } = {}) {
  const { fetch: native } = globalThis;
  const send = (request, { intent, ignore }) =>
    (client ?? sharedClient()).submit({ ...request, ...named(request, intent), ...(ignore && { ignore }) }).then(responseOf);
  return function fetch(input, { intent, ignore, ...init } = {}) {
    // Also where a page has put this function in the place of the browser's, which the SDK itself sends with.
    const passes = !isKeyed(init.method ?? input.method) || hasKey(init.headers ?? input.headers);
    if (passes) return (globalThis.fetch === fetch ? native : globalThis.fetch)(input, init);
    const options = { intent, ignore };
    if (!(input instanceof Request)) return send({ ...init, url: input }, options);
    return taken(new Request(input, init)).then((request) => send(request, options));
  };
}

export const fetch = createFetch();

/** Whether requests of this method are sent with a key. */
export function isKeyed(method = "GET") {
  return KEYED.has(method.toUpperCase());
}

function hasKey(headers) {
  return new Headers(headers).has("idempotency-key");
}

/** The intent, by option or by a header that does not leave the page. */
function named({ headers }, intent) {
  const all = new Headers(headers);
  const name = intent ?? all.get(INTENT);
  all.delete(INTENT);
  return { headers: all, ...(name && { intent: name }) };
}

/** A request whose body is read: as what it says, so that the same form is the same payload next time. */
async function taken(request) {
  const { url, method, credentials, signal } = request;
  const headers = new Headers(request.headers);
  const type = headers.get("content-type") ?? "";
  const isForm = /^multipart\/form-data\b/i.test(type);
  if (isForm) headers.delete("content-type");
  const body = await (isForm ? request.formData().catch(unreadable) : /\bjson\b|urlencoded|^text\//i.test(type) ? request.text() : request.blob());
  return { url, method, headers, credentials, signal, ...((isForm || body.length || body.size) && { body }) };
}

/** What browsers throw does not tell these cases apart. */
function unreadable(cause) {
  throw new OncegateError("body_unreadable", "the form cannot be read out of this Request (WebKit never reads its files; elsewhere one may be gone, or it is no form): give fetch the address and the form, or submit it", { cause });
}

function responseOf(result) {
  const { outcome, changed, response, error } = result;
  const isAnswered = outcome === "failed" || (outcome === "done" && !changed);
  if (isAnswered && response) return response;
  throw new NoResponseError(result, { cause: error });
}
