// The origin behind the gate in workerd. It runs in Node, so each request's body says what shall be done with it, as JSON:
// { status, outcome, body, size, announced, link, hold, shows }. With `hold` the effect happens, and the answer waits for
// `POST /release?key=…`; with `announced` the answer of that `size` says its length; with `shows` the body says with which header fields the request came.
// Where the gate itself makes the body, `POST /told?key=…` says ahead what shall be done with the next request of a key; `GET /came?key=…` says
// with which type and body the last one came.

import { startOrigin } from "../../support/origin.mjs";

/** Vitest's global set-up: `inject("origin")` is its address. */
export async function setup({ provide }) {
  const effects = new Map();
  const held = new Map();
  const told = new Map();
  const came = new Map();
  const origin = await startOrigin(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://origin");
    const key = searchParams.get("key") ?? request.headers["idempotency-key"];
    if (pathname === "/effects") return response.end(String(effects.get(key) ?? 0));
    if (pathname === "/release") return response.end(String(release(held, key)));
    if (pathname === "/came") return response.end(came.get(key) ?? "");
    if (pathname === "/told") return response.end(String(told.set(key, JSON.parse(request.body.toString())).size));
    came.set(key, `${request.headers["content-type"]} ${request.body}`);
    const asks = told.get(key) ?? JSON.parse(request.body.toString() || "{}");
    told.delete(key);
    await act(asks, request, response, key, effects, held);
  });
  provide("origin", origin.url);
  return () => origin.stop();
}

async function act(asks, request, response, key, effects, held) {
  const { status = 201, outcome = "executed", body = `the answer for ${key}`, size, announced, link, hold, shows } = asks;
  if (outcome === "executed") effects.set(key, (effects.get(key) ?? 0) + 1);
  if (hold) await new Promise((resolve) => held.set(key, resolve));
  response.writeHead(status, { "content-type": "text/plain", ...(announced && { "content-length": size }), ...(link && { link: '"'.repeat(link) }), ...(outcome && { "idempotency-outcome": outcome }) });
  if (shows) return response.end(JSON.stringify(request.headers));
  response.end(size ? "x".repeat(size) : body);
}

function release(held, key) {
  const answer = held.get(key);
  held.delete(key);
  answer?.();
  return answer !== undefined;
}
