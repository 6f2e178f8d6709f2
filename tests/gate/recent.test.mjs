// An answer that a shard has just given is given again for a moment without asking it: to the same request of the same
// principal, and to nobody else (decision 12). That the shard was not asked is told by the gate's own count of calls.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { json, startStack } from "../support/stack.mjs";

const ADMIN = "0123456789abcdef";
const METRICS = "fedcba9876543210";
const ROUTES = `[
  { name = "order", methods = ["POST"], path = "/order", origin = "none" },
  { name = "pay", methods = ["POST"], path = "/pay", origin = "none", bind = { header = "X-User" } },
  { name = "sealed", methods = ["POST"], path = "/sealed", origin = "none", seal = true },
]`.replaceAll("\n", " ");
const SEALING = randomBytes(32).toString("base64");
let origin;
let stack;
let key;

before(async () => {
  origin = await startOrigin();
  const secrets = { ADMIN_SECRETS: `anna=${ADMIN}`, METRICS_SECRETS: `page=${METRICS}`, SEALING_SECRETS: `"rest=${SEALING}"` };
  stack = await startStack({ ROUTES, ...secrets }, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => {
  key = randomUUID();
  origin.clear();
});

async function post(path, { body = `{"item":"kettle"}`, headers = {} } = {}) {
  const init = { method: "POST", headers: { ...json, "idempotency-key": key, ...headers }, body };
  const response = await fetch(stack.gate + path, init);
  const text = await response.text();
  const said = new Headers(response.headers);
  said.delete("date");
  return { status: response.status, headers: said, text, says: said.get("idempotency-status") };
}

const code = ({ text }) => JSON.parse(text).code;

/** What the gate has counted so far: the sum of the lines of this name that have all these labels. */
async function counted(name, ...labels) {
  const headers = { authorization: `Bearer ${METRICS}` };
  const page = await (await fetch(`${stack.gate}/.oncegate/v1/metrics`, { headers })).text();
  const lines = page.split("\n").filter((line) => line.startsWith(name) && labels.every((label) => line.includes(label)));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const calls = () => counted("oncegate_shard_calls_total");
const replays = () => counted("oncegate_decisions_total", `decision="replayed"`);

/** Executes, and has the shard answer a first replay. */
async function executed(path, init) {
  assert.equal((await post(path, init)).says, "executed");
  const replay = await post(path, init);
  assert.equal(replay.says, "replayed");
  return replay;
}

for (const path of ["/order", "/sealed"]) {
  test(`p5 replays within a moment are the shard's own answer, and each is counted: ${path}`, async () => {
    const replay = await executed(path);
    const before = { calls: await calls(), replays: await replays() };
    for (let count = 0; count < 5; count += 1) {
      const again = await post(path);
      assert.deepEqual([again.status, again.text], [replay.status, replay.text]);
      assert.deepEqual(Object.fromEntries(again.headers), Object.fromEntries(replay.headers));
      assert.equal(again.headers.get("oncegate-fresh-ms"), null);
    }
    assert.equal((await replays()) - before.replays, 5);
    assert.ok((await calls()) - before.calls < 5, "not every replay asked the shard");
    assert.equal(origin.seen.length, 1);
  });
}

test("k4 another request under the key is turned away, however lately the answer was given", async () => {
  await executed("/order");
  const other = await post("/order", { body: `{"item":"teapot"}` });
  assert.deepEqual([other.status, code(other)], [422, "key_reused"]);
});

test("k4 another principal hears nothing, however lately the answer was given", async () => {
  await executed("/pay", { headers: { "x-user": "ada" } });
  const other = await post("/pay", { headers: { "x-user": "ben" } });
  assert.deepEqual([other.status, code(other)], [403, "principal_mismatch"]);
  assert.equal((await post("/pay", { headers: { "x-user": "ada" } })).says, "replayed");
});

test("p4 a refusal is asked for each time", async () => {
  origin.handle = (request, response) => response.writeHead(422).end("no");
  assert.equal((await post("/order")).says, "refused");
  await post("/order");
  const before = await calls();
  for (let count = 0; count < 3; count += 1) {
    assert.equal((await post("/order")).says, "refused");
  }
  assert.equal((await calls()) - before, 3);
});

test("what is erased is not given again by the gate that has erased it", async () => {
  const { headers } = await executed("/order");
  const erased = await fetch(`${stack.gate}/.oncegate/v1/admin/operations/${headers.get("oncegate-operation")}`, {
    method: "DELETE",
    headers: { ...json, authorization: `Bearer ${ADMIN}` },
    body: JSON.stringify({ actor: "anna", reason: "asked for by the customer" }),
  });
  assert.equal(erased.status, 200);
  assert.equal(code(await post("/order")), "result_unavailable");
});
