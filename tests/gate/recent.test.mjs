// What a gate has just answered it gives again for a moment without asking the shard: to the same request of the same
// principal, and to nobody else (decision 12). That the shard was not asked is told by the gate's own count of calls.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { startOrigin } from "../support/origin.mjs";
import { json, startStack } from "../support/stack.mjs";

const ADMIN = "0123456789abcdef";
const METRICS = "fedcba9876543210";
const ROUTES = `[
  { name = "order", methods = ["POST"], path = "/order", origin = "none" },
  { name = "pay", methods = ["POST"], path = "/pay", origin = "none", bind = { header = "X-User" } },
  { name = "sealed", methods = ["POST"], path = "/sealed", origin = "none", seal = true },
  { name = "more", methods = ["POST"], path = "/more", origin = "none", replay_headers = ["X-Order-Id"] },
  { name = "status", methods = ["POST"], path = "/status", origin = "none", store = "status" },
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

/** Executes, and has it answered twice more. */
async function executed(path, init) {
  assert.equal((await post(path, init)).says, "executed");
  const replay = await post(path, init);
  assert.equal(replay.says, "replayed");
  assert.equal((await post(path, init)).says, "replayed");
  return replay;
}

/** How many of `count` repetitions asked the shard. */
async function asked(path, count, init) {
  const before = await calls();
  for (let number = 0; number < count; number += 1) {
    await post(path, init);
  }
  return (await calls()) - before;
}

const ANSWERS = {
  "with fields that a replay has not": ["/order", 201, { location: "/orders/7", "set-cookie": "a=1", "x-order-id": "7" }, "{}"],
  "with nothing to replay but its body": ["/order", 200, { "set-cookie": "a=1" }, "paid"],
  "with fields that its route adds": ["/more", 200, { "x-order-id": "7", etag: '"7"' }, "paid"],
  "without a body": ["/order", 204, { "content-location": "/orders/7" }, undefined],
  "of bytes that are no text": ["/order", 200, { "content-type": "application/octet-stream" }, Buffer.from([0, 255, 10, 13, 0])],
  "that is coded, although nobody asked for it": ["/order", 200, { "content-encoding": "br" }, Buffer.from([0x0b, 0x01, 0x80, 0x68, 0x69, 0x0a, 0x03])],
};

/** As long as the gate remembers. */
const MOMENT_MS = 2_000;

/** Executes, and sends it again before the moment is over, however slow the machine is. */
async function retried(path) {
  for (;;) {
    key = randomUUID();
    const began = Date.now();
    const first = await post(path);
    const before = await calls();
    const retry = await post(path);
    if (Date.now() - began < MOMENT_MS) return { first, retry, asked: (await calls()) - before };
  }
}

test("p5 a retry within a moment is answered as its shard would answer", async (context) => {
  for (const [name, [path, status, headers, body]] of Object.entries(ANSWERS)) {
    await context.test(`one ${name}`, async () => {
      origin.handle = (request, response) => response.writeHead(status, headers).end(body);
      const { first, retry, asked } = await retried(path);
      assert.deepEqual([first.says, first.headers.get("oncegate-remember"), asked], ["executed", null, 0]);
      const before = await calls();
      const replay = await post(path, { headers: { "cache-control": "no-cache" } });
      assert.equal((await calls()) - before, 1);
      assert.equal(replay.says, "replayed");
      assert.deepEqual([retry.status, retry.text], [replay.status, replay.text]);
      assert.deepEqual(Object.fromEntries(retry.headers), Object.fromEntries(replay.headers));
      assert.equal(origin.seen.filter((request) => request.headers["idempotency-key"] === key).length, 1);
    });
  }
});

test("an attempt that took longer than a moment is not remembered", async () => {
  origin.handle = async (request, response) => {
    await pause(MOMENT_MS);
    response.writeHead(201).end("slow");
  };
  const first = await post("/order");
  assert.deepEqual([first.text, first.says, first.headers.get("oncegate-remember")], ["slow", "executed", null]);
  assert.equal(await asked("/order", 1), 1);
});

test("what is sealed in its row, or not in it, is asked for at the first retry", async () => {
  assert.equal((await post("/sealed")).says, "executed");
  assert.equal(await asked("/sealed", 1), 1);
  key = randomUUID();
  assert.equal((await post("/status")).says, "executed");
  assert.equal(await asked("/status", 3), 3);
});

test("what is too large to be kept is asked for each time", async () => {
  origin.handle = (request, response) => response.writeHead(200).end("x".repeat(64 * 1024 + 1));
  assert.equal((await post("/order")).says, "executed");
  assert.equal(await asked("/order", 3), 3);
});

for (const path of ["/order", "/sealed"]) {
  test(`p5 replays within a moment are alike, and each is counted: ${path}`, async () => {
    const replay = await executed(path);
    const before = { calls: await calls(), replays: await replays() };
    for (let count = 0; count < 5; count += 1) {
      const again = await post(path);
      assert.deepEqual([again.status, again.text], [replay.status, replay.text]);
      assert.deepEqual(Object.fromEntries(again.headers), Object.fromEntries(replay.headers));
      assert.equal(again.headers.get("oncegate-remember"), null);
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
  origin.handle = (request, response) => response.writeHead(422, { "oncegate-remember": "2000" }).end("no");
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
