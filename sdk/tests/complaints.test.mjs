// Reports from other projects, each as a test named after what it prevents: the guard, tabs, networks and unknown servers. The table of all of
// them is docs/sdk/complaints.md.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bare, gate, lost, memoryStorage, network, ORDER, page, pause } from "./support.mjs";

function pretend(t, name, value) {
  Object.defineProperty(navigator, name, { configurable: true, value });
  t.after(() => delete navigator[name]);
}

test("the second half of a double click after a fast refusal is not another order", async () => {
  const sent = network(gate("refused", { status: 402 }), gate("executed"));
  const { client } = await page(memoryStorage(), { quietMs: 60_000 });
  const first = client.submit(ORDER);
  await first;
  assert.equal(client.submit(ORDER), first);
  assert.equal(sent.length, 1);
  assert.equal((await client.submit({ ...ORDER, body: '{"card":"other"}' })).outcome, "done");
});

test("trailing: the last of several calls is sent, once", async () => {
  const sent = network(gate("executed"));
  const { client } = await page(memoryStorage(), { trailingMs: 20 });
  const calls = [1, 2, 3].map((mug) => client.submit({ ...ORDER, body: { mug } }));
  await Promise.all(calls);
  assert.deepEqual(sent.map(({ body }) => body), ['{"mug":3}']);
});

test("\"POST retried on network error, duplicates\": no second send to a server that proves nothing", async () => {
  for (const answer of [lost, bare(504), bare(502)]) {
    const sent = network(answer);
    sent.look = bare(404);
    const { client } = await page(memoryStorage());
    const result = await client.submit(ORDER);
    assert.deepEqual([result.outcome, result.reason, sent.length], ["unknown", "not_proven", 1]);
    assert.match(sent[0].key, /^[0-9a-f-]{36}$/);
  }
});

test("\"retried though retries are 0, without key\": the key is there with retries off", async () => {
  const sent = network(lost);
  const { client } = await page(memoryStorage(), { maxAttempts: 1 });
  await client.submit(ORDER);
  assert.equal(sent.length, 1);
  assert.match(sent[0].key, /^[0-9a-f-]{36}$/);
});

test("\"one click, the action runs twice\": a framework that calls it again, behind its middleware and after its answer, makes no second order", async () => {
  const sent = network(() => pause(100).then(gate("executed")), gate("replayed"));
  const { client } = await page(memoryStorage());
  const action = async () => {
    await pause(25);
    return client.submit(ORDER);
  };
  const results = [...(await Promise.all([action(), action()])), await action()];
  assert.deepEqual(results.map(({ outcome, replayed }) => [outcome, replayed]), [["done", false], ["done", false], ["done", true]]);
  assert.deepEqual([sent.length, sent.keys().length], [2, 1]);
});

test("\"everything hangs, forever\": a lock that another tab holds stops nobody", async (t) => {
  const asked = [];
  const request = (name, { ifAvailable }, callback) => {
    asked.push(name);
    return ifAvailable ? Promise.resolve(callback(null)) : new Promise(() => {});
  };
  pretend(t, "locks", { request });
  network(gate("executed"));
  const { client, events } = await page(memoryStorage(), { lockPatienceMs: 10 });
  assert.equal((await client.submit(ORDER)).outcome, "done");
  assert.deepEqual(asked, ["oncegate:cart-42", "oncegate:cart-42"]);
  assert.equal(events.types()[0], "tab-wait");
});

test("\"replayed twice\": who resumes an operation twice at once, or in two tabs, sends one request at a time, under one key", async () => {
  const storage = memoryStorage();
  const sent = network(bare(404), bare(404), gate("executed"));
  const [first, second] = [await page(storage), await page(storage)];
  const unknown = await Promise.all([first.client.submit(ORDER), second.client.submit(ORDER)]);
  assert.deepEqual(unknown.map(({ outcome }) => outcome), ["unknown", "unknown"]);
  const running = unknown.flatMap(({ resume }) => [resume(), resume()]);
  assert.ok(running[0] === running[1] && running[2] === running[3]);
  const results = await Promise.all(running);
  assert.deepEqual([results.map(({ outcome }) => outcome), sent.length], [Array(4).fill("done"), 4]);
  assert.equal(sent.keys().length, 1);
});

test("\"network errors missed in Safari\": whatever fetch throws, by whatever name, is a call without an answer", async () => {
  const thrown = [new TypeError("Load failed"), new TypeError("x"), new DOMException("", "NetworkError"), new Error("wrapped", { cause: new TypeError() }), "gone", undefined];
  for (const error of thrown) {
    const sent = network(() => Promise.reject(error), gate("executed"));
    const { client } = await page(memoryStorage());
    const result = await client.submit(ORDER);
    assert.deepEqual([result.outcome, sent.length, sent.keys().length], ["done", 2, 1], String(error));
  }
});

test("\"the clock was wrong\": a clock that is set during a payment changes neither its deadline nor its key", async (t) => {
  const { now } = Date;
  t.after(() => (Date.now = now));
  for (const jumpMs of [-3_600_000, 3_600_000]) {
    Date.now = now;
    const set = () => (Date.now = () => now() + jumpMs);
    const sent = network(() => (set(), lost()), gate("executed"));
    const { client } = await page(memoryStorage(), { deadlineMs: 30_000 });
    const result = await client.submit(ORDER);
    assert.deepEqual([result.outcome, sent.length, sent.keys().length], ["done", 2, 1], `${jumpMs} ms`);
  }
});

test("\"queue never replays\": a device that is offline sends again as soon as it is online, without Background Sync", async (t) => {
  const listeners = new Map();
  globalThis.addEventListener = (type, listener) => listeners.set(type, listener);
  globalThis.removeEventListener = (type) => listeners.delete(type);
  t.after(() => (delete globalThis.addEventListener, delete globalThis.removeEventListener));
  pretend(t, "onLine", false);
  const sent = network(lost, gate("executed"));
  const { client } = await page(memoryStorage(), { retryUnproven: true, backoff: { baseMs: 1, capMs: 60_000 } });
  const running = client.submit(ORDER);
  while (!listeners.has("online")) await pause(1);
  listeners.get("online")();
  assert.equal((await running).outcome, "done");
  assert.deepEqual([sent.length, listeners.size], [2, 0]);
});
