// The list of operations that do not settle by themselves, and who may read it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startStack } from "../support/stack.mjs";

const SECRET = "0123456789abcdef";
let stack;
let closed;

before(async () => {
  stack = await startStack({ ADMIN_SECRETS: `anna=${SECRET}` });
  closed = await startStack();
});
after(() => Promise.all([stack?.stop(), closed?.stop()]));

const list = (gate, authorization) =>
  fetch(`${gate}/.oncegate/v1/admin/operations?state=trouble`, { headers: authorization ? { authorization } : {} });

test("who presents no secret that the gate knows is refused", async () => {
  for (const authorization of [undefined, SECRET, "Bearer", `Bearer ${SECRET}0`, `Basic ${SECRET}`, `Bearer anna=${SECRET}`]) {
    const answer = await list(stack.gate, authorization);
    assert.deepEqual([answer.status, answer.headers.get("www-authenticate")], [401, "Bearer"], authorization);
    assert.equal((await answer.json()).code, "unauthorized");
  }
});

test("without a configured secret there is no such endpoint, whatever is presented", async () => {
  for (const authorization of [undefined, "Bearer ", `Bearer ${SECRET}`]) {
    assert.equal((await list(closed.gate, authorization)).status, 404, authorization);
  }
});

test("nothing is listed where nothing is in trouble", async () => {
  const answer = await list(stack.gate, `bearer ${SECRET}`);
  assert.equal(answer.status, 200);
  assert.deepEqual(await answer.json(), { operations: [], more: 0 });
});
