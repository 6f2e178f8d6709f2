// P5: pages of other origins. What a browser would do with these headers is its own business; here are the headers.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";

import { declined, order, send, startStack } from "../support/stack.mjs";

const PAGE = "https://shop.example";
let stack;
let key;

before(async () => {
  stack = await startStack({ CORS_ORIGINS: JSON.stringify([PAGE]), replay_headers: '["X-Request-Cost"]' });
});
after(() => stack?.stop());
beforeEach(() => {
  key = randomUUID();
  return stack.clear();
});

const from = (origin) => ({ headers: { origin } });
const allows = (answer) => answer.headers.get("access-control-allow-origin");

test("p5 every answer about an operation can be read by a configured page", async () => {
  const answers = [
    await send(stack, key, order(), from(PAGE)),
    await send(stack, key, order(), from(PAGE)),
    await send(stack, key, order(declined), from(PAGE)),
    await send(stack, undefined, order(), from(PAGE)),
  ];
  assert.deepEqual(answers.map((answer) => answer.status), [201, 201, 422, 400]);
  for (const answer of answers) {
    assert.equal(allows(answer), PAGE);
    assert.match(answer.headers.get("vary"), /Origin/i);
    assert.equal(answer.headers.get("oncegate-key-kind"), "client");
    for (const name of ["retry-after", "idempotency-status", "idempotency-replayed", "oncegate-operation", "oncegate-decision", "oncegate-key-kind", "x-request-cost"]) {
      assert.ok(answer.headers.get("access-control-expose-headers").includes(name), name);
    }
  }
});

test("p5 what is refused before anything is decided can be read as well", async () => {
  const forbidden = { "x-http-method-override": "PUT", origin: PAGE };
  const answers = [
    await send(stack, key, order(), { headers: forbidden }),
    await send(stack, key, "x".repeat(70_000), from(PAGE)),
    await fetch(`${stack.gate}/.oncegate/v1/nothing`, from(PAGE)),
  ];
  assert.deepEqual(answers.map((answer) => answer.status), [400, 413, 404]);
  for (const answer of answers) {
    assert.equal(allows(answer), PAGE);
  }
});

test("p5 another page's answer is the same, without the permission", async () => {
  const answer = await send(stack, key, order(), from("https://evil.example"));
  assert.deepEqual([answer.status, allows(answer)], [201, null]);
});

test("p5 a preflight for a protected route is answered by the gate and nothing reaches the origin", async () => {
  const ask = (path, origin) =>
    fetch(`${stack.gate}${path}`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,idempotency-key",
      },
    });
  for (const path of ["/orders", "/.oncegate/v1/operations/cancel"]) {
    const answer = await ask(path, PAGE);
    assert.deepEqual([answer.status, allows(answer)], [204, PAGE]);
    assert.equal(answer.headers.get("access-control-allow-methods"), "POST");
    assert.equal(answer.headers.get("access-control-allow-headers"), "content-type,idempotency-key");
  }
  assert.equal(allows(await ask("/orders", "https://evil.example")), null);
  assert.equal(allows(await ask("/catalog", PAGE)), null);
});

test("p5 what a route without a key answers can be read like what it answers with one", async () => {
  const optional = await startStack({ CORS_ORIGINS: JSON.stringify([PAGE]), key: "optional" });
  try {
    const answers = [await send(optional, key, order(), from(PAGE)), await send(optional, undefined, order(), from(PAGE))];
    // The shop takes no order without a key.
    assert.deepEqual(answers.map((answer) => [answer.status, allows(answer)]), [[201, PAGE], [401, PAGE]]);
    await optional.tell("stop-origin");
    const failed = await send(optional, undefined, order(), from(PAGE));
    assert.deepEqual([failed.status, allows(failed)], [502, PAGE]);
  } finally {
    await optional.stop();
  }
});
