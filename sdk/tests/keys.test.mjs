// Which key a send carries, and what reloads, tabs and crashes find in storage.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bare, closedPage, cut, dead, gate, hangs, lost, memoryStorage, network, ORDER, page, pause, problem } from "./support.mjs";

const KEY = "0190163d-8694-8000-8000-0000000000aa";

const DAY = 24 * 60 * 60 * 1000;
const reused = (state, safe_new_key) =>
  problem(422, state, { code: "key_reused", state, safe_new_key, retryable: false });

test("the key is stored before the first byte", async () => {
  const storage = memoryStorage();
  let stored;
  network(() => {
    stored = storage.record("cart-42");
    return gate("executed")();
  });
  const { client } = await page(storage);
  const { key } = await client.submit(ORDER);
  assert.equal(stored.key, key);
  assert.equal(stored.phase, "open");
  assert.equal(stored.sends, 1);
  assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("the payload is never stored", async () => {
  const storage = memoryStorage();
  network(gate("executed"));
  const { client } = await page(storage);
  await client.submit({ ...ORDER, body: '{"card":"4242424242424242"}' });
  assert.doesNotMatch(JSON.stringify(storage.entries()), /4242/);
});

test("every send of an operation carries one key", async () => {
  const sent = network(lost, bare(500), bare(503), bare(429), cut, problem(409, "in_progress", { code: "in_progress", retryable: true }), gate("replayed"));
  const { client } = await page(memoryStorage());
  const result = await client.submit(ORDER);
  assert.equal(result.outcome, "done");
  assert.equal(result.replayed, true);
  assert.equal(result.sends, 7);
  assert.equal(sent.length, 7);
  assert.equal(sent.keys().length, 1);
});

test("a reload in the middle keeps the key, and pending tells of it", async () => {
  const storage = memoryStorage();
  const sent = network(dead, gate("replayed"));
  await closedPage(storage);

  const after = await page(storage);
  const [open] = after.client.pending();
  assert.equal(open.intent, "cart-42");
  assert.equal(open.phase, "open");
  assert.equal(open.sends, 1);
  assert.ok(Math.abs(Date.now() - open.firstSentMs) < 5_000);
  const result = await after.client.submit(ORDER);
  assert.equal(result.outcome, "done");
  assert.equal(result.sends, 2);
  assert.equal(sent.keys().length, 1);
  assert.deepEqual(after.events.types(), ["resumed", "send", "answer", "settled"]);
  assert.deepEqual(after.client.pending(), []);
});

test("what runs in this page is not pending", async () => {
  network(() => pause(20).then(gate("executed")));
  const { client } = await page(memoryStorage());
  const running = client.submit(ORDER);
  await pause(5);
  assert.equal(client.state("cart-42").phase, "open");
  assert.deepEqual(client.pending(), []);
  assert.equal(client.end("cart-42"), false);
  await running;
});

test("a crash at any instant leads to the same key", async () => {
  const storage = memoryStorage();
  const crashes = [];
  const snapshot = ({ type }) => crashes.push([type, storage.entries()]);
  network(lost, bare(503), () => (snapshot({ type: "on the wire" }), gate("executed")()));
  const { client } = await page(storage, { onEvent: snapshot });
  const { key } = await client.submit(ORDER);
  assert.ok(crashes.length >= 9);
  for (const [instant, entries] of crashes) {
    const sent = network(gate("replayed"));
    const after = await page(memoryStorage(entries));
    const result = await after.client.submit(ORDER);
    assert.equal(result.outcome, "done", instant);
    assert.deepEqual(sent.keys(), [key], instant);
  }
});

test("two tabs compute the same key without a lock", async () => {
  const storage = memoryStorage();
  const sent = network(gate("executed"));
  const tabs = [await page(storage), await page(storage)];
  const results = await Promise.all(tabs.map(({ client }) => client.submit(ORDER)));
  assert.equal(sent.length, 2);
  assert.equal(sent.keys().length, 1);
  assert.deepEqual(results.map(({ outcome }) => outcome), ["done", "done"]);
});

test("of two tabs that make the install secret at once, the last one written counts for both", async () => {
  const storage = memoryStorage();
  const other = "ab".repeat(32);
  const { setItem } = storage;
  storage.setItem = (name, value) => setItem(name, name === "oncegate:secret" ? other : value);
  network(gate("executed"));
  const first = await (await page(storage)).client.submit(ORDER);
  const second = await page(memoryStorage({ "oncegate:secret": other }));
  assert.equal(second.client.state("cart-42").key, first.key);
});

test("an open operation keeps its name even if the install secret is lost", async () => {
  const storage = memoryStorage();
  const sent = network(dead, gate("executed"));
  await closedPage(storage);
  storage.setItem("oncegate:secret", "00".repeat(32));
  await (await page(storage)).client.submit(ORDER);
  assert.equal(sent.keys().length, 1);
});

test("a record that cannot be read leads to a known key, never to a new one", async () => {
  const storage = memoryStorage();
  const sent = network(gate("executed"));
  await (await page(storage)).client.submit(ORDER);
  for (const nonsense of ["", "{", "null", '{"epoch":"x"}', '{"epoch":0,"key":"k"}']) {
    storage.setItem("oncegate:intent:cart-42", nonsense);
    await (await page(storage)).client.submit(ORDER);
  }
  assert.equal(sent.length, 6);
  assert.equal(sent.keys().length, 1);
});

test("t4 an executed intent answers done with the stored answer until the application ends it", async () => {
  const storage = memoryStorage();
  const sent = network(gate("executed", { body: "1" }), gate("replayed", { body: "1" }), gate("executed", { body: "2" }));
  const { client } = await page(storage);
  const first = await client.submit(ORDER);
  const again = await client.submit(ORDER);
  assert.equal(again.outcome, "done");
  assert.equal(again.replayed, true);
  assert.equal(await again.response.text(), "1");
  assert.equal(again.key, first.key);
  assert.deepEqual(client.state("cart-42"), { epoch: 0, key: first.key, phase: "executed" });
  assert.equal(client.end("cart-42"), true);
  assert.equal(client.state("cart-42").epoch, 1);
  assert.equal(client.state("cart-42").phase, "none");
  const next = await client.submit(ORDER);
  assert.equal(next.sends, 1);
  assert.notEqual(next.key, first.key);
  assert.equal(sent.keys().length, 2);
});

test("t4 an executed intent stays done whatever the second send hears", async () => {
  for (const answer of [lost, bare(404), bare(500), gate("refused", { status: 402 }), gate("unknown"), reused("refused", true)]) {
    const storage = memoryStorage();
    const sent = network(gate("executed"), answer);
    const { client } = await page(storage);
    const { key } = await client.submit(ORDER);
    const again = await client.submit(ORDER);
    assert.equal(again.outcome, "done");
    assert.equal(again.response, null);
    assert.equal(again.changed, false);
    assert.deepEqual(client.state("cart-42"), { epoch: 0, key, phase: "executed" });
    assert.ok(sent.length <= 3);
    assert.equal(sent.keys().length, 1);
  }
});

test("without a gate that remembers, an executed intent is never sent again", async () => {
  const sent = network(bare(201));
  const { client } = await page(memoryStorage());
  await client.submit(ORDER);
  const again = await client.submit(ORDER);
  assert.equal(sent.length, 1);
  assert.deepEqual([again.outcome, again.replayed, again.changed, again.response], ["done", true, false, null]);
});

test("another payload of an executed intent is done and changed, and is not sent", async () => {
  const sent = network(gate("executed"));
  const { client } = await page(memoryStorage());
  await client.submit(ORDER);
  const changed = await client.submit({ ...ORDER, body: '{"mug":2}' });
  assert.equal(sent.length, 1);
  assert.deepEqual([changed.outcome, changed.changed, changed.response], ["done", true, null]);
});

test("t4 after failed the next submit is a new operation under the next epoch's key", async () => {
  const words = { refused: gate("refused", { status: 402 }), cancelled: problem(410, "cancelled", { code: "operation_cancelled" }) };
  for (const [reason, answer] of Object.entries(words)) {
    const storage = memoryStorage();
    const sent = network(answer, gate("executed"));
    const { client } = await page(storage);
    const first = await client.submit(ORDER);
    assert.deepEqual([first.outcome, first.reason], ["failed", reason]);
    assert.equal(client.state("cart-42").epoch, 1);
    const announced = client.state("cart-42").key;
    const reloaded = await page(storage);
    const second = await reloaded.client.submit({ ...ORDER, body: '{"card":"other"}' });
    assert.equal(second.outcome, "done");
    assert.equal(second.key, announced);
    assert.notEqual(second.key, first.key);
    assert.equal(sent.length, 2);
  }
});

test("t4 unknown keeps the key", async () => {
  const sent = network(bare(404), gate("executed"));
  const { client } = await page(memoryStorage());
  const first = await client.submit(ORDER);
  assert.deepEqual([first.outcome, first.reason, first.response.status], ["unknown", "not_understood", 404]);
  assert.equal(client.end("cart-42"), false);
  assert.equal((await client.submit(ORDER)).key, first.key);
  assert.equal(sent.keys().length, 1);
});

test("t4 an earlier payload that was executed is done and changed", async () => {
  const storage = memoryStorage();
  const sent = network(dead, reused("executed", false));
  await closedPage(storage);
  const { client } = await page(storage);
  const result = await client.submit({ ...ORDER, body: '{"mug":2}' });
  assert.deepEqual([result.outcome, result.changed, result.response], ["done", true, null]);
  assert.equal(result.problem.code, "key_reused");
  assert.equal(client.state("cart-42").phase, "executed");
  assert.equal(sent.keys().length, 1);
});

test("t4 an earlier payload that was refused gives way to the next key, in the same submit", async () => {
  const storage = memoryStorage();
  const sent = network(dead, reused("refused", true), () => {
    assert.equal(storage.record("cart-42").epoch, 1);
    return gate("executed", { status: 201 })();
  });
  await closedPage(storage);
  const { client } = await page(storage);
  const result = await client.submit({ ...ORDER, body: '{"card":"other"}' });
  assert.deepEqual([result.outcome, result.changed, result.sends], ["done", false, 1]);
  assert.equal(sent[0].key, sent[1].key);
  assert.notEqual(sent[2].key, sent[1].key);
  assert.equal(result.key, sent[2].key);
  assert.deepEqual(client.state("cart-42"), { epoch: 1, key: sent[2].key, phase: "executed" });
});

test("i8 an earlier payload that is refused keeps the key until a new one is safe", async () => {
  const storage = memoryStorage();
  const sent = network(dead, reused("refused", false), reused("executed", false));
  await closedPage(storage);
  const { client } = await page(storage);
  const result = await client.submit({ ...ORDER, body: '{"mug":2}' });
  assert.deepEqual([result.outcome, result.changed], ["done", true]);
  assert.equal(sent.length, 3);
  assert.equal(sent.keys().length, 1);
});

test("another tab's refusal is not undone by this tab's late one", async () => {
  const storage = memoryStorage();
  let answer;
  network(() => new Promise((resolve) => (answer = resolve)), gate("refused", { status: 402 }), gate("executed"));
  const slow = await page(storage);
  const running = slow.client.submit(ORDER);
  await pause(5);
  const other = await page(storage);
  assert.equal((await other.client.submit(ORDER)).outcome, "failed");
  assert.equal((await other.client.submit(ORDER)).outcome, "done");
  answer(gate("refused", { status: 402 })());
  assert.equal((await running).outcome, "failed");
  assert.equal(slow.client.state("cart-42").epoch, 1);
  assert.equal(slow.client.state("cart-42").phase, "executed");
});

test("an execution that another tab has learned of is not forgotten by this tab", async () => {
  const storage = memoryStorage();
  network(hangs, gate("executed"), bare(404));
  const slow = await page(storage, { attemptTimeoutMs: 30 });
  const running = slow.client.submit(ORDER);
  await pause(5);
  const other = await page(storage);
  assert.equal((await other.client.submit(ORDER)).outcome, "done");
  await running;
  assert.equal(other.client.state("cart-42").phase, "executed");
});

test("t3 a key near the end of its lifetime is not sent", async () => {
  for (const [lifetime, age, sends] of [[7 * DAY, 6 * DAY, 1], [7 * DAY, 6.4 * DAY, 0], [undefined, 0.8 * DAY, 1], [undefined, 0.95 * DAY, 0]]) {
    const record = { epoch: 3, key: KEY, phase: "open", digest: "", sends: 2, firstSent: Date.now() - age, lifetime };
    const storage = memoryStorage({ "oncegate:intent:cart-42": JSON.stringify(record) });
    const sent = network(bare(404));
    const { client } = await page(storage);
    const result = await client.submit(ORDER);
    assert.equal(sent.length, sends);
    assert.equal(result.outcome, "unknown");
    assert.equal(result.key, KEY);
    assert.equal(result.reason, sends ? "not_understood" : "key_too_old");
    assert.deepEqual(client.state("cart-42"), { epoch: 3, key: KEY, phase: "open" });
  }
});

test("t3 an executed intent whose key has aged is done without a send", async () => {
  const record = { epoch: 0, key: KEY, phase: "executed", digest: "", sends: 1, firstSent: Date.now() - 7 * DAY, lifetime: 7 * DAY };
  const sent = network(gate("executed"));
  const { client } = await page(memoryStorage({ "oncegate:intent:cart-42": JSON.stringify(record) }));
  const result = await client.submit(ORDER);
  assert.deepEqual([result.outcome, result.response, sent.length], ["done", null, 0]);
});
