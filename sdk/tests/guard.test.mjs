// The synchronous guard: one promise per intent while it runs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bare, gate, lost, memoryStorage, network, ORDER, page, pause, problem } from "./support.mjs";

test("two clicks in one task are one promise and one send", async () => {
  const sent = network(gate("executed", { status: 201, body: '{"id":1}' }));
  const { client, events } = await page(memoryStorage());
  const first = client.submit(ORDER);
  const second = client.submit({ ...ORDER });
  assert.equal(first, second);
  for (const { response } of await Promise.all([first, second])) {
    assert.deepEqual(await response.json(), { id: 1 });
  }
  assert.equal(sent.length, 1);
  assert.deepEqual(events.types(), ["click-coalesced", "send", "answer", "settled"]);
  assert.equal(new Set(events.map(({ key }) => key)).size, 1);
  assert.equal(events[0].changed, false);
});

test("a click with another payload while one runs joins it, and the event says so", async () => {
  const sent = network(gate("executed"));
  const { client, events } = await page(memoryStorage());
  const first = client.submit(ORDER);
  assert.equal(client.submit({ ...ORDER, body: '{"mug":2}' }), first);
  await first;
  assert.equal(sent.length, 1);
  assert.equal(sent[0].body, ORDER.body);
  assert.equal(events[0].changed, true);
});

test("the guard opens on every way out", async () => {
  const ways = {
    done: gate("executed"),
    failed: gate("refused", { status: 402 }),
    unknown: bare(404),
  };
  for (const [outcome, answer] of Object.entries(ways)) {
    network(answer);
    const { client } = await page(memoryStorage());
    const first = client.submit(ORDER);
    assert.equal((await first).outcome, outcome);
    const second = client.submit(ORDER);
    assert.notEqual(second, first);
    await second;
  }
});

test("intents run side by side under keys of their own", async () => {
  const sent = network(gate("executed"));
  const { client } = await page(memoryStorage());
  const results = await Promise.all(["a", "b"].map((intent) => client.submit({ ...ORDER, intent })));
  assert.equal(sent.keys().length, 2);
  assert.deepEqual(results.map(({ intent }) => intent), ["a", "b"]);
});

test("without an intent every call is an operation of its own, and leaves nothing behind", async () => {
  const sent = network(lost, gate("executed"));
  const storage = memoryStorage();
  const { client } = await page(storage);
  const { intent, ...order } = ORDER;
  const first = await client.submit(order);
  await client.submit(order);
  assert.equal(sent[0].key, sent[1].key);
  assert.equal(sent.keys().length, 2);
  assert.match(first.key, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/);
  assert.equal(first.intent, undefined);
  assert.deepEqual(Object.keys(storage.entries()), []);
});

test("a listener that throws does not stop the payment", async (t) => {
  network(gate("executed"));
  const reported = [];
  const { queueMicrotask } = globalThis;
  t.after(() => (globalThis.queueMicrotask = queueMicrotask));
  globalThis.queueMicrotask = (task) =>
    queueMicrotask(() => {
      try {
        task();
      } catch (error) {
        reported.push(error.message);
      }
    });
  const { client } = await page(memoryStorage(), {
    onEvent: () => {
      throw new Error("from the page");
    },
  });
  assert.equal((await client.submit(ORDER)).outcome, "done");
  await pause(1);
  assert.deepEqual(reported, ["from the page", "from the page", "from the page"]);
});

test("events reach listeners too", async () => {
  network(gate("executed"));
  const { client } = await page(memoryStorage());
  const heard = [];
  client.addEventListener("oncegate", ({ detail }) => heard.push(detail.type));
  await client.submit(ORDER);
  assert.deepEqual(heard, ["send", "answer", "settled"]);
});

test("mistakes in the request reject, say what to do, and send nothing", async () => {
  const sent = network(gate("executed"));
  const storage = memoryStorage();
  const { client } = await page(storage);
  const mistakes = [
    [{ headers: { "Idempotency-Key": "k" } }, /leave Idempotency-Key out of headers/],
    [{ intent: "" }, /intent must be a string/],
    [{ intent: 42 }, /intent must be a string/],
    [{ url: "/orders" }, /URL/],
    [{ method: "GET" }, /GET/],
    [{ method: "B AD" }, /method/i],
  ];
  for (const [mistake, message] of mistakes) {
    await assert.rejects(client.submit({ ...ORDER, ...mistake }), message);
  }
  assert.equal(sent.length, 0);
  assert.equal(storage.record("cart-42"), null);
  assert.equal((await client.submit(ORDER)).outcome, "done");
});

test("options that make no sense are refused at once", async () => {
  await assert.rejects(page(null, { deadlineMs: 0 }), /deadlineMs must be a whole number from 1 to 86400000/);
  await assert.rejects(page(null, { maxAttempts: 1.5 }), /maxAttempts/);
  await assert.rejects(page(null, { backoff: { baseMs: -1 } }), /backoff\.baseMs/);
});

test("bodies are copied at once and sent byte for byte the same", async () => {
  const bodies = {
    text: ["é", "text", null],
    form: [new URLSearchParams({ a: "1 2" }), "a=1+2", "application/x-www-form-urlencoded;charset=UTF-8"],
    bytes: [new Uint8Array([1, 2, 3]).subarray(1), [2, 3], null],
    buffer: [new Uint8Array([7, 8]).buffer, [7, 8], null],
    none: [undefined, undefined, null],
  };
  for (const [name, [body, expected, type]] of Object.entries(bodies)) {
    const sent = network(lost, gate("executed"));
    const { client } = await page(memoryStorage());
    const promise = client.submit({ intent: name, url: ORDER.url, body });
    if (body instanceof Uint8Array) body.fill(0);
    if (body instanceof URLSearchParams) body.set("a", "changed");
    await promise;
    assert.equal(sent.length, 2);
    for (const { body: bytes, type: actual } of sent) {
      const seen = bytes instanceof Uint8Array ? [...bytes] : bytes;
      assert.deepEqual(seen, name === "text" ? "é" : expected, name);
      assert.equal(actual, type, name);
    }
  }
});

test("a problem of the service is handed over with the refusal", async () => {
  network(problem(402, "refused", { code: "card_declined", detail: "No." }));
  const { client } = await page(memoryStorage());
  const result = await client.submit(ORDER);
  assert.equal(result.reason, "refused");
  assert.equal(result.problem.code, "card_declined");
  assert.equal((await result.response.json()).detail, "No.");
});
