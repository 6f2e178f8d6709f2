// A key that shall be dead: the ledger is asked, and what it says is final.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";

import { lookUp, send, startStack, until } from "../support/stack.mjs";

let stack;
let key;

before(async () => {
  stack = await startStack({ lease_ms: 2_000, wait_ms: 1_000, client_timeout_ms: 1_500 });
});
after(() => stack?.stop());
beforeEach(() => {
  key = randomUUID();
  return stack.clear();
});

const look = (key) => lookUp(stack, key);

const cancel = async (key, query = "") => {
  const headers = { "idempotency-key": key };
  const response = await fetch(`${stack.gate}/.oncegate/v1/operations/cancel${query}`, { method: "POST", headers });
  return { status: response.status, says: response.headers.get("idempotency-status"), body: await response.json() };
};

test("l6 a key that was never seen can be cancelled, and is dead from then on", async () => {
  const cancelled = await cancel(key);
  assert.equal(cancelled.status, 200);
  assert.deepEqual([cancelled.body.state, cancelled.body.executed, cancelled.body.safe_new_key], ["cancelled", false, true]);
  const late = await send(stack, key);
  assert.deepEqual([late.status, late.body.code, late.says], [410, "operation_cancelled", "cancelled"]);
  assert.equal(late.body.safe_new_key, true);
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
});

test("l6 a cancellation that overtakes the attempt stops it", async () => {
  await stack.faults({ delay_before: 900 });
  const attempt = send(stack, key);
  await until(() => look(key), (seen) => seen.attempts === 1);
  const cancelled = await cancel(key);
  assert.deepEqual([cancelled.status, cancelled.body.state], [200, "cancelled"]);
  const answer = await attempt;
  assert.deepEqual([answer.status, answer.body.code], [410, "operation_cancelled"]);
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
});

test("l6 a cancellation that comes too late says executed", async () => {
  await send(stack, key);
  const late = await cancel(key, "?route=orders");
  assert.deepEqual([late.status, late.body.state, late.body.executed, late.body.safe_new_key], [200, "executed", true, false]);

  const lost = `${key}-lost`;
  await stack.faults("drop_after_commit");
  await send(stack, lost);
  assert.deepEqual((await cancel(lost)).body.executed, true);
  // The ledger gave its answer with its word: whoever asks again gets it.
  const again = await send(stack, lost);
  assert.deepEqual([again.status, again.says, again.body.order.request_id], [201, "replayed", lost]);
  assert.equal((await look(lost)).attempts, 1);
  assert.deepEqual(stack.rows(), { orders: 2, payments: 2 });
});

test("l6 while the ledger cannot be asked, nothing is cancelled", async () => {
  await stack.tell("stop-origin");
  const open = await cancel(key);
  await stack.tell("start-origin");
  assert.deepEqual([open.status, open.body.code, open.body.safe_new_key], [409, "outcome_unknown", false]);
  assert.deepEqual([(await send(stack, key)).says, stack.rows().orders], ["executed", 1]);
});

test("a cancellation names its key and, where there are several, its route", async () => {
  assert.equal((await cancel("a, b")).body.code, "key_invalid");
  assert.equal((await cancel(key, "?route=no-such")).body.code, "route_unknown");
});
