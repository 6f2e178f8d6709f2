// What the gate does by itself about operations that are unknown: through the whole chain.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gateWith, key, origin, stack } from "../support/scripted.mjs";
import { send, until } from "../support/stack.mjs";

const ADMIN = "0123456789abcdef";

gateWith({ lease_ms: 1_500, wait_ms: 200, client_timeout_ms: 1_000, ADMIN_SECRETS: `anna=${ADMIN}` });

/** The operations in trouble, as the Desk lists them. */
const trouble = async (operation) => {
  const headers = { authorization: `Bearer ${ADMIN}` };
  const response = await fetch(`${stack.gate}/.oncegate/v1/admin/operations?state=trouble`, { headers });
  const { operations } = await response.json();
  return operations.filter((entry) => entry.operation === operation);
};

/** An answer that proves nothing of a ledger. */
const mute = (request, response) => response.writeHead(500).end();

test("an operation that is unknown is listed, and not any more when it is settled", async () => {
  origin.handle = mute;
  const { operation, says } = await send(stack, key);
  assert.equal(says, "unknown");
  const [listed] = await until(() => trouble(operation), (found) => found.length === 1);
  assert.deepEqual([listed.state, listed.route], ["unknown", "orders"]);
  origin.handle = origin.done;
  assert.equal((await send(stack, key)).says, "executed");
  await until(() => trouble(operation), (found) => found.length === 0);
  assert.equal(origin.seen.length, 2, "without finish, the gate sends nothing by itself");
});

test("a4 an attempt that outlives its lease is listed while it goes on, and settles by its own answer", async () => {
  let finish;
  origin.handle = (request, response) => {
    finish = () => origin.done(request, response);
  };
  const { operation, body } = await send(stack, key);
  assert.equal(body.code, "in_progress");
  await until(() => trouble(operation), (found) => found.length === 1);
  finish();
  await until(() => trouble(operation), (found) => found.length === 0);
  assert.equal((await send(stack, key)).replayed, true);
  assert.equal(origin.seen.length, 1);
});
