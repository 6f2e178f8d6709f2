// A route whose key the gate takes from the request itself: here, the customer's e-mail stands for an order number.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";

import { createOncegate } from "../../sdk/dist/index.js";
import { declined, order, send, startStack } from "../support/stack.mjs";

let stack;
let email;

before(async () => {
  stack = await startStack({ key: '"generated"', key_from: '{ json = "/email" }', fingerprint: '"json"', fingerprint_ignore: '["/csrf"]' });
});
after(() => stack?.stop());
beforeEach(() => {
  email = `${randomUUID()}@example.com`;
  return stack.clear();
});

const pay = (changes = {}) => send(stack, undefined, order({ email, ...changes }));

test("k2 the same value is the same operation, whatever key the client sends", async () => {
  const first = await pay();
  const again = await send(stack, "another-key", order({ email }));
  assert.deepEqual([first.status, first.says], [201, "executed"]);
  assert.deepEqual([again.status, again.says], [201, "replayed"]);
  assert.equal(first.body.order.request_id, email);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("k2 a request without the value is refused, and says where it belongs", async () => {
  const missing = await pay({ email: undefined });
  assert.deepEqual([missing.status, missing.body.code], [400, "key_missing"]);
  assert.match(missing.body.detail, /'\/email' is missing/);
  const ambiguous = await send(stack, undefined, order({ email }).replace("{", `{"email":"x@example.com",`));
  assert.match(ambiguous.body.detail, /occurs twice/);
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
});

test("k3 json is compared by what it says", async () => {
  const first = await pay({ csrf: "a" });
  const spelled = JSON.stringify({ ...JSON.parse(order({ email, csrf: "b" })) }, null, 2);
  const again = await send(stack, undefined, spelled);
  assert.deepEqual([first.status, again.status, again.says], [201, 201, "replayed"]);
  const other = await pay({ cart: [{ sku: "cup", quantity: 1 }] });
  assert.deepEqual([other.status, other.body.code], [422, "key_reused"]);
});

test("p3 every answer says who makes the keys of its route", async () => {
  const headers = { "idempotency-key": `"${email}"` };
  const cancelled = `${stack.gate}/.oncegate/v1/operations/cancel`;
  const answers = [
    await pay(),
    await pay(),
    await pay({ cart: [{ sku: "cup", quantity: 1 }] }),
    await pay({ email: undefined }),
    await fetch(`${stack.gate}/.oncegate/v1/operations`, { headers }),
    await fetch(cancelled, { method: "POST", headers }),
    await fetch(cancelled, { method: "POST", headers: { "idempotency-key": '"never seen"' } }),
  ];
  assert.deepEqual(answers.map((answer) => answer.status), [201, 201, 422, 400, 200, 200, 200]);
  for (const answer of answers) assert.equal(answer.headers.get("oncegate-key-kind"), "generated");
});

test("p4 after a refusal another card pays the same order, and the refused one is not tried again", async () => {
  const refused = await pay(declined);
  assert.deepEqual([refused.status, refused.says], [402, "refused"]);
  assert.equal((await pay(declined)).replayed, true);
  const paid = await pay();
  assert.deepEqual([paid.status, paid.says], [201, "executed"]);
  const late = await pay(declined);
  assert.deepEqual([late.status, late.body.code, late.body.executed], [422, "key_reused", true]);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("k2 a look-up and a cancellation name the value", async () => {
  await pay();
  const headers = { "idempotency-key": `"${email}"` };
  const seen = await (await fetch(`${stack.gate}/.oncegate/v1/operations`, { headers })).json();
  assert.equal(seen.state, "executed");
});

test("t4 to the SDK, a key of its own that the gate has cancelled is not the order: failed is said of the order's own key alone", async () => {
  const client = createOncegate({ storage: null, quietMs: 0, maxAttempts: 1 });
  const request = { intent: "order-1", url: `${stack.gate}/orders`, headers: { "content-type": "application/json" }, body: order({ email }) };
  await stack.faults("unavailable");
  const ending = async (running) => (({ outcome, reason }) => [outcome, reason])(await running);
  assert.deepEqual(await ending(client.submit(request)), ["unknown", "sends_used_up"]);
  assert.deepEqual(await ending(client.cancel(request)), ["unknown", "key_unnamed"]);
  assert.deepEqual(await ending(client.lookup(request)), ["unknown", "key_unnamed"]);
  assert.deepEqual(await ending(client.cancel({ ...request, generatedKey: email })), ["failed", "cancelled"]);
  assert.deepEqual(await ending(client.submit(request)), ["failed", "cancelled"]);
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
});
