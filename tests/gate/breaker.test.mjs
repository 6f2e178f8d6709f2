// An origin that cannot be reached: nothing new is claimed for it, and nobody else suffers.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { call } from "../support/raw.mjs";
import { lookUp, startStack, until } from "../support/stack.mjs";

const FAILURES = 5;
let origin;
let stack;

before(async () => {
  origin = await startOrigin();
  stack = await startStack({ origin: "none" }, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => origin.clear());

const send = (key = randomUUID()) => call(stack.gate, "/orders", { key });
const look = (key) => lookUp(stack, key);

/** Calls the origin so often in vain that the next request is preceded by a test. */
async function fail(times = FAILURES) {
  for (let count = 0; count < times; count += 1) {
    const lost = await send();
    assert.deepEqual([lost.status, lost.json().code], [502, "outcome_unknown"]);
  }
}

test("a5 an origin that takes no connection is unreachable, and nothing is claimed for it", async () => {
  const before = randomUUID();
  assert.equal((await send(before)).says, "executed");
  const open = randomUUID();
  await origin.stop();
  try {
    assert.equal((await send(open)).json().code, "outcome_unknown");
    await fail(FAILURES - 1);
    const key = randomUUID();
    const refused = await send(key);
    assert.deepEqual([refused.status, refused.json().code], [502, "origin_unreachable"]);
    assert.ok(Number(refused.headers["retry-after"]) >= 1);
    const { executed, retryable, safe_new_key } = refused.json();
    assert.deepEqual([executed, retryable, safe_new_key], [null, true, false]);
    assert.equal((await look(key)).state, "absent");
    assert.equal((await send(before)).says, "replayed", "what was executed is replayed all the same");
    assert.equal((await send(open)).json().code, "outcome_unknown", "what was claimed stays what it is");

    await origin.start();
    const found = await until(() => send(key), (answer) => answer.status !== 502);
    assert.deepEqual([found.status, found.says], [201, "executed"]);
    assert.equal((await send(key)).says, "replayed");
  } finally {
    await origin.start().catch(() => {});
  }
});

test("a5 a crowd that meets an origin which is gone is one test, and all hear its word", async () => {
  const tested = async () => (await readFile(join(stack.folder, "gate.log"), "utf8")).split('"origin_tested"').length - 1;
  // The word of the last test, of whichever test, is over.
  await until(() => send(), (answer) => answer.says === "executed");
  await origin.stop();
  try {
    await fail();
    const before = await tested();
    const crowd = await Promise.all(Array.from({ length: 30 }, () => send()));
    assert.deepEqual(new Set(crowd.map((answer) => answer.json().code)), new Set(["origin_unreachable"]));
    await until(tested, (count) => count > before);
    // One, and another one whenever its word is over before all have arrived.
    assert.ok((await tested()) - before < crowd.length / 3);
  } finally {
    await origin.start();
  }
  await until(() => send(), (answer) => answer.says === "executed");
});

test("a5 an origin that takes connections and breaks them is never called unreachable", async () => {
  origin.handle = (request) => request.socket.destroy();
  await fail();
  await fail();
  const lost = await send();
  assert.deepEqual([lost.status, lost.json().code], [502, "outcome_unknown"]);
  origin.clear();
  assert.equal((await send()).says, "executed");
});

test("a5 answers in between keep the breaker closed", async () => {
  for (let round = 0; round < 3; round += 1) {
    origin.handle = (request) => request.socket.destroy();
    for (let count = 1; count < FAILURES; count += 1) await send();
    origin.clear();
    assert.equal((await send()).says, "executed");
  }
  await origin.stop();
  const lost = await send();
  await origin.start();
  assert.equal(lost.json().code, "outcome_unknown", "one failure is no reason to test");
});
