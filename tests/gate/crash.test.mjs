// kill -9 of the gate in mid-flight, and a start on the same state: what was said stays true, and nothing happens twice.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { call } from "../support/raw.mjs";
import { gateWith, key, origin, stack } from "../support/scripted.mjs";
import { json, lookUp, until } from "../support/stack.mjs";

const TIMES = "lease_ms = 1000, wait_ms = 500, client_timeout_ms = 800, max_body_bytes = 65536";
const ROUTES = `[
  { name = "orders", methods = ["POST"], path = "/orders", origin = "ledger", ${TIMES} },
  { name = "held", methods = ["POST"], path = "/held", origin = "none", ${TIMES} },
]`.replaceAll(/\n */g, " ");

gateWith({ ROUTES });

/** What an origin with a ledger does: the effect of a key happens once, and everybody gets its answer. */
function ledger() {
  const effects = new Map();
  origin.handle = ({ headers }, response) => {
    const name = headers["idempotency-key"];
    if (!effects.has(name)) effects.set(name, `effect ${effects.size} for ${name}`);
    response.writeHead(201, { "content-type": "text/plain", "idempotency-outcome": "executed" }).end(effects.get(name));
  };
  return effects;
}

async function send(name, path = "/orders", body = "{}") {
  const response = await fetch(`${stack.gate}${path}`, { method: "POST", headers: { ...json, "idempotency-key": name }, body });
  const text = await response.text();
  return { status: response.status, says: response.headers.get("idempotency-status"), text, problem: text.startsWith("{") ? JSON.parse(text) : {} };
}

const look = (name, route) => lookUp(stack, name, route);

/** Sends a request whose answer the origin holds, and kills the gate under it. */
async function cutOff(path, duplicates = 0) {
  origin.handle = () => {};
  const cut = Array.from({ length: 1 + duplicates }, () => assert.rejects(send(key, path)));
  await until(() => origin.seen.length, (seen) => seen === 1);
  await Promise.all([...cut, stack.tell("kill-gate")]);
  await stack.tell("start-gate");
}

test("i2 a gate that is killed under an attempt sends it again to a ledger, under the next number", async () => {
  await cutOff("/orders", 3);
  const effects = ledger();
  const found = await until(() => send(key), ({ status }) => status === 201);
  assert.deepEqual([found.says, found.text], ["executed", effects.get(key)]);
  assert.deepEqual(origin.seen.map(({ headers }) => headers["oncegate-attempt"]), ["1", "2"]);
  assert.equal((await send(key)).says, "replayed");
});

test("i5 a gate that is killed under an attempt says unknown where nobody can be asked, and sends nothing again", async () => {
  await cutOff("/held", 3);
  const seen = await until(() => look(key, "held"), ({ state }) => state === "unknown");
  assert.deepEqual([seen.attempts, seen.unsettled, seen.executed, seen.safe_new_key], [1, 1, null, false]);
  const again = await send(key, "/held");
  assert.deepEqual([again.status, again.problem.code], [409, "outcome_unknown"]);
  const other = await send(key, "/held", `{"other":true}`);
  assert.deepEqual([other.status, other.problem.code], [422, "key_reused"]);
  assert.equal(origin.seen.length, 1);
});

test("i2 an operation outlives as many crashes as come", async () => {
  for (const attempt of [1, 2, 3]) {
    origin.handle = () => {};
    const cut = [];
    // Duplicates before the lease is over start nothing.
    await until(() => (cut.push(send(key).catch(() => {})), origin.seen.length), (seen) => seen === attempt);
    await Promise.all([...cut, stack.tell("kill-gate")]);
    await stack.tell("start-gate");
  }
  assert.deepEqual(await look(key, "orders").then(({ attempts, executed, safe_new_key }) => [attempts, executed, safe_new_key]), [3, null, false]);
  const effects = ledger();
  const found = await until(() => send(key), ({ status }) => status === 201);
  assert.equal(found.text, effects.get(key));
  assert.deepEqual(origin.seen.map(({ headers }) => headers["oncegate-attempt"]), ["1", "2", "3", "4"]);
});

for (const [framing, length] of [["announced", { "content-length": 3_000_000 }], ["chunked", {}]]) {
  test(`i2 a gate that is killed in the middle of an answer that passes, ${framing}: its client sees that it broke off, and nothing is sent again`, async () => {
    origin.handle = (_, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream", ...length });
      // More than is kept of an answer, so that the chunked one passes as well; its end never comes.
      response.write("x".repeat(2_500_000));
    };
    let came;
    const first = new Promise((resolve) => (came = resolve));
    const cut = call(stack.gate, "/held", { key, onHead: (head) => head.once("data", came) });
    await first;
    await stack.tell("kill-gate");
    const answer = await cut;
    assert.deepEqual([answer.status, answer.whole], [200, false], "never a clean end with half the bytes");
    assert.ok(answer.bytes.length > 0 && answer.bytes.length < 3_000_000, `${answer.bytes.length} bytes`);
    await stack.tell("start-gate");
    const seen = await until(() => look(key, "held"), ({ state }) => state === "unknown");
    assert.deepEqual([seen.attempts, seen.unsettled, seen.executed, seen.safe_new_key], [1, 1, null, false]);
    const again = await send(key, "/held");
    assert.deepEqual([again.status, again.problem.code, origin.seen.length], [409, "outcome_unknown", 1]);
  });
}

test("i2 a ledger's word outlives a gate that is killed in the middle of the answer that it came with", async () => {
  origin.handle = (_, response) => {
    response.writeHead(201, { "content-length": 3_000_000, "idempotency-outcome": "executed" });
    response.write("x".repeat(1_000_000));
  };
  let came;
  const first = new Promise((resolve) => (came = resolve));
  const cut = call(stack.gate, "/orders", { key, onHead: (head) => head.once("data", came) });
  await first;
  await stack.tell("kill-gate");
  assert.equal((await cut).whole, false);
  await stack.tell("start-gate");
  const again = await until(() => send(key), ({ problem }) => problem.code !== "gate_unavailable");
  assert.deepEqual([again.status, again.problem.code, again.problem.executed, origin.seen.length], [409, "result_unavailable", true, 1]);
});

test("i2 whoever was answered before a crash under load gets the same answer after it", async () => {
  const effects = ledger();
  const told = new Map();
  let over = false;
  const client = async () => {
    while (!over) {
      const name = randomUUID();
      const answer = await send(name).catch(() => undefined);
      told.set(name, answer?.status === 201 ? answer.text : undefined);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  await until(() => told.size, (size) => size >= 100);
  over = true;
  await Promise.all([...clients, stack.tell("kill-gate")]);
  await stack.tell("start-gate");
  const answered = [...told].filter(([, text]) => text !== undefined);
  assert.ok(answered.length > 50, `${answered.length} were answered`);
  const sent = origin.seen.length;
  for (const [name, text] of answered) {
    const again = await send(name);
    assert.deepEqual([again.status, again.says, again.text], [201, "replayed", text]);
  }
  assert.equal(origin.seen.length, sent, "a replay asks no origin");
  for (const [name, text] of told) {
    if (text !== undefined) continue;
    const found = await until(() => send(name), ({ status }) => status === 201);
    assert.equal(found.text, effects.get(name));
  }
});
