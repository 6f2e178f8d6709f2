// The server of the benchmark: pages, the entries that they import, and orders, which it answers at once. It lets nothing be kept.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";

import { build } from "esbuild";

const TYPES = { js: "text/javascript", wasm: "application/wasm" };

/** As much of a client as is measured, without anything that the SDK is for. */
const NOTHING = `export const createOncegate = () => ({
  state: () => ({ key: "none" }),
  submit: ({ url, body }) => fetch(url, { method: "POST", body: JSON.stringify(body) }).then((response) => response.text()),
});`;

/** The same by a library that many pages have. */
const RIVAL = `import ky from "ky";
export const createOncegate = () => {
  const api = ky.create({ retry: 3 });
  return { state: () => ({ key: "none" }), submit: ({ url, body }) => api.post(url, { json: body }).text() };
};`;

/** Every page has a script of its own, except one that is to make its first request when it is measured. */
const PAGE = `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>`;
const BARE = `<!doctype html><link rel="icon" href="data:,">`;

/** A shop with the package's files; its `slow.js` is the default entry, and takes so many milliseconds more. */
export async function openShop(dist, slowMs) {
  const scripts = new Map([
    ["/page.js", ""],
    ["/empty.js", NOTHING],
    ["/rival.js", await bundled(RIVAL)],
    ["/slow.js", `for (const begun = performance.now(); performance.now() - begun < ${slowMs}; );${readFileSync(`${dist}/index.js`, "utf8")}`],
  ]);
  const file = (path) => {
    if (!scripts.has(path)) scripts.set(path, readFileSync(dist + path));
    return scripts.get(path);
  };
  const server = http.createServer((request, response) => serve(request, response, file)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    page: ({ policy = "", bare = "" }) => `${url}/?${new URLSearchParams({ policy, bare })}`,
    close: () => (server.closeAllConnections(), server.close()),
  };
}

async function bundled(contents) {
  const { outputFiles } = await build({ stdin: { contents, resolveDir: import.meta.dirname }, bundle: true, minify: true, write: false, format: "esm", target: "es2022" });
  return outputFiles[0].text;
}

function serve(request, response, file) {
  const { pathname, searchParams } = new URL(request.url, "http://shop");
  response.setHeader("cache-control", "no-store");
  if (request.method === "POST") return response.setHeader("idempotency-status", "executed").end("{}");
  if (pathname === "/") {
    if (searchParams.get("policy")) response.setHeader("content-security-policy", searchParams.get("policy"));
    return response.setHeader("content-type", "text/html").end(searchParams.get("bare") ? BARE : PAGE);
  }
  return response.setHeader("content-type", TYPES[pathname.split(".").pop()]).end(file(pathname));
}
