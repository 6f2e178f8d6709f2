// K6: what the front of `wrangler dev` takes away before the gate sees it.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";

import Gate from "../../target/gate/index.js";
import { effects, GATE, look, newKey, send } from "./support/gate.mjs";

const shown = async (headers, path) => JSON.parse((await send(newKey(), { shows: true }, { path, headers })).body);

test("k6 header fields that Connection names are of one connection, and stay here", async () => {
  const hops = { connection: "close, X-Hop", "x-hop": "1", "x-kept": "1" };
  for (const path of ["/orders", "/not-protected"]) {
    const seen = await shown(hops, path);
    expect([seen["x-hop"], seen["x-kept"]]).toEqual([undefined, "1"]);
  }
});

test("k6 a request that nobody has an address for has no chain of addresses: the client's word alone is none", async () => {
  expect((await shown({ "x-forwarded-for": "6.6.6.6" }, "/orders"))["x-forwarded-for"]).toBe(undefined);
});

test("k6 a header field that is not ASCII reaches the origin as it does without a gate", async () => {
  const headers = { "x-name": "J\u00f6rg \"the\" \\ \u4f60\u597d" };
  const [kept, passed] = [await shown(headers, "/orders"), await shown(headers, "/not-protected")];
  expect(kept["x-name"]).toMatch(/^J.+rg "the" \\ .+/);
  expect(kept["x-name"]).toBe(passed["x-name"]);
});

test("a body that breaks off is answered, says nothing of an earlier request, and its key is as good as new", async () => {
  const key = newKey();
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"status":'));
    },
    pull(controller) {
      controller.error(new Error("the client is gone"));
    },
  });
  const headers = { "content-type": "application/json", "idempotency-key": key };
  // Whoever calls through the platform is cut off with the body.
  const gate = new Gate(createExecutionContext(), env);
  const response = await gate.fetch(new Request(`${GATE}/orders`, { method: "POST", headers, body }));
  const { code, executed, state } = await response.json();
  expect([response.status, code, executed, state]).toEqual([400, "body_incomplete", null, null]);
  expect([(await look(key)).state, await effects(key)]).toEqual(["absent", 0]);
  expect((await send(key)).says).toBe("executed");
});
