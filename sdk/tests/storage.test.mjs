// Storage that is missing, blocked or full: the payment goes on, keyed, and the page is told.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gate, load, lost, memoryStorage, network, ORDER, page } from "./support.mjs";

const full = () => {
  const storage = memoryStorage();
  storage.faults.write = true;
  return storage;
};
const blocked = () => {
  const storage = full();
  storage.faults.read = true;
  return storage;
};

for (const [name, make] of Object.entries({ full, blocked, none: () => null })) {
  test(`storage ${name}: still keyed, one key, one event`, async () => {
    const sent = network(lost, lost, gate("executed"), gate("replayed"));
    const { client, events } = await page(make());
    const result = await client.submit(ORDER);
    assert.equal(result.outcome, "done");
    assert.equal(sent.keys().length, 1);
    assert.match(sent[0].key, /^[0-9a-f-]{36}$/);
    assert.equal(events.filter(({ type }) => type === "storage-missing").length, 1);
    assert.equal(client.state("cart-42").phase, "executed");
    assert.equal((await client.submit(ORDER)).key, result.key);
    assert.equal(client.end("cart-42"), true);
    assert.equal(client.state("cart-42").epoch, 1);
    assert.deepEqual(client.pending(), []);
  });
}

test("storage that fills up in the middle keeps the key of the page", async () => {
  const storage = memoryStorage();
  const sent = network(() => {
    storage.faults.write = true;
    return lost();
  }, gate("refused", { status: 402 }), gate("executed"));
  const { client } = await page(storage);
  assert.equal((await client.submit(ORDER)).outcome, "failed");
  assert.equal(sent.keys().length, 1);
  assert.equal((await client.submit(ORDER)).outcome, "done");
  assert.equal(sent.keys().length, 2);
});

test("by default the page's localStorage is used, and its absence is no error", async (t) => {
  const localStorage = memoryStorage();
  const replace = (descriptor) => Object.defineProperty(globalThis, "localStorage", { configurable: true, ...descriptor });
  const original = Object.getOwnPropertyDescriptor(globalThis, "localStorage");
  t.after(() => (original ? replace(original) : delete globalThis.localStorage));

  network(gate("executed"));
  replace({ value: localStorage });
  await (await load()).createOncegate().submit(ORDER);
  assert.equal(localStorage.record("cart-42").phase, "executed");

  replace({
    get: () => {
      throw new DOMException("denied", "SecurityError");
    },
  });
  assert.equal((await (await load()).createOncegate().submit(ORDER)).outcome, "done");
  replace({ value: undefined });
  assert.equal((await (await load()).createOncegate().submit(ORDER)).outcome, "done");
});

test("a foreign entry in the same storage is left alone", async () => {
  const storage = memoryStorage({ theme: "dark", "oncegate:intent:x": "not ours" });
  network(gate("executed"));
  const { client } = await page(storage);
  await client.submit(ORDER);
  assert.deepEqual(client.pending(), []);
  assert.equal(storage.entries().theme, "dark");
  assert.equal(storage.entries()["oncegate:intent:x"], "not ours");
});

test("storage that is cleared while the page lives changes no key", async () => {
  const storage = memoryStorage();
  const sent = network(lost, lost, gate("executed"));
  const { client } = await page(storage, { maxAttempts: 1 });
  assert.equal((await client.submit(ORDER)).outcome, "unknown");
  storage.clear();
  assert.equal((await client.submit(ORDER)).outcome, "unknown");
  storage.clear();
  assert.equal((await client.submit(ORDER)).outcome, "done");
  assert.equal(sent.length, 3);
  assert.equal(sent.keys().length, 1);
  assert.equal(storage.record("cart-42").phase, "executed");
});

for (const [name, change] of Object.entries({
  "an empty key": { key: "" },
  "a key with a line break": { key: "a\nb" },
  "a key that no header can carry": { key: "订单" },
  "more sends than a number holds": { sends: 2 ** 40 },
})) {
  test(`a stored record with ${name} counts as absent`, async () => {
    const storage = memoryStorage();
    network(lost);
    const first = await page(storage, { maxAttempts: 1 });
    const { key } = await first.client.submit(ORDER);
    storage.setItem("oncegate:intent:cart-42", JSON.stringify({ ...storage.record("cart-42"), ...change }));
    const sent = network(gate("executed"));
    const { client } = await page(storage);
    assert.deepEqual(client.pending(), []);
    assert.equal((await client.submit(ORDER)).outcome, "done");
    assert.deepEqual(sent.keys(), [key]);
  });
}

test("what is not stored is not parsed: a page's first exception takes a millisecond of its start", async (t) => {
  const parse = t.mock.method(JSON, "parse");
  const { client } = await page(memoryStorage());
  assert.match(client.state("cart-42").key, /^[0-9a-f-]{36}$/);
  assert.deepEqual(parse.mock.calls.filter(({ error }) => error).map(({ arguments: [text] }) => text), []);
});
