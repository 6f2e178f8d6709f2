// Asking and cancelling: on an unknown result, after a reload, and while a submit runs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { absent, bare, closedPage, dead, gate, lost, memoryStorage, network, ORDER, page, pause, problem } from "./support.mjs";

const DAY = 24 * 60 * 60 * 1000;
const QUESTION = Object.freeze({ intent: ORDER.intent, url: ORDER.url });
const seen = (state, safe_new_key = false) => () => Response.json({ operation: "op_1", state, executed: state === "executed", safe_new_key });

/** A page after a reload that left the order open. */
async function reloaded(...answers) {
  const storage = memoryStorage();
  const sent = network(dead, ...answers);
  await closedPage(storage);
  return { storage, sent, ...(await page(storage)) };
}

test("after a reload, lookup says what the gate says, by intent and url, and sends nothing", async () => {
  const ends = [
    [seen("executed"), ["done", undefined], "executed", 0],
    [seen("refused", true), ["failed", "refused"], "none", 1],
    [seen("cancelled", true), ["failed", "cancelled"], "none", 1],
    [seen("dispatched"), ["unknown", "open"], "open", 0],
    [absent, ["unknown", "open"], "open", 0],
    [bare(404), ["unknown", "not_understood"], "open", 0],
  ];
  for (const [answer, expected, phase, epoch] of ends) {
    const { client, sent } = await reloaded();
    sent.look = answer;
    const result = await client.lookup(QUESTION);
    assert.deepEqual([result.outcome, result.reason], expected);
    assert.deepEqual([client.state("cart-42").phase, client.state("cart-42").epoch], [phase, epoch]);
    assert.deepEqual([sent.length, sent.looks.length, sent.looks[0].key], [1, 1, sent[0].key]);
  }
});

test("a look-up of an open operation says how the gate calls it", async () => {
  const { client, sent } = await reloaded();
  sent.look = seen("dispatched");
  assert.equal((await client.lookup(QUESTION)).state, "dispatched");
});

test("t3 a key that is too old is looked up, and neither sent nor cancelled", async () => {
  const record = { epoch: 0, key: "0190163d-8694-8000-8000-0000000000aa", phase: "open", digest: "", sends: 1, firstSent: Date.now() - 7 * DAY, lifetime: 7 * DAY };
  for (const verb of ["submit", "lookup", "cancel"]) {
    for (const [answer, outcome] of [[seen("executed"), "done"], [absent, "unknown"]]) {
      const sent = network(gate("executed"));
      sent.look = answer;
      const { client } = await page(memoryStorage({ "oncegate:intent:cart-42": JSON.stringify(record) }));
      const result = await client[verb](verb === "submit" ? ORDER : QUESTION);
      assert.equal(result.outcome, outcome);
      assert.deepEqual([sent.length, sent.looks.length], [0, 1]);
      if (outcome === "unknown") assert.equal(result.reason, verb === "lookup" ? "open" : "key_too_old");
    }
  }
});

test("an unknown result offers lookup, resume and cancel, under its key", async () => {
  const sent = network(bare(404), bare(404), gate("executed", { body: "paid" }));
  const { client } = await page(memoryStorage());
  const first = await client.submit({ ...ORDER, body: { card: "a" } });
  assert.equal(first.outcome, "unknown");
  assert.equal((await first.lookup()).reason, "open");
  const second = await first.resume();
  const third = await second.resume();
  assert.equal(await third.response.text(), "paid");
  assert.deepEqual([third.outcome, third.lookup, third.resume, third.cancel], ["done", undefined, undefined, undefined]);
  assert.deepEqual([...new Set(sent.map(({ body }) => body))], ['{"card":"a"}']);
  assert.equal(sent.keys().length, 1);
  const { client: other } = await page(memoryStorage());
  network(bare(404), seen("cancelled", true));
  const cancelled = await (await other.submit(ORDER)).cancel();
  assert.deepEqual([cancelled.outcome, cancelled.reason], ["failed", "cancelled"]);
});

test("an operation without an intent is resumed under its own key", async () => {
  const sent = network(bare(404), gate("executed"));
  const { intent, ...order } = ORDER;
  const { client } = await page(memoryStorage());
  const result = await (await client.submit(order)).resume();
  assert.equal(result.outcome, "done");
  assert.equal(sent.keys().length, 1);
});

test("a look-up has nothing to resume", async () => {
  const { client } = await reloaded();
  const result = await client.lookup(QUESTION);
  await assert.rejects(result.resume(), { name: "OncegateError", code: "body_missing" });
});

test("cancel is failed, or it was too late and it is done, or nobody knows yet", async () => {
  const open = problem(409, "unknown", { code: "outcome_unknown", safe_new_key: false, retryable: true });
  const ends = [
    [[seen("cancelled", true)], "failed", "none", 1],
    [[seen("executed")], "done", "executed", 0],
    [[open, bare(503), seen("cancelled", true)], "failed", "none", 1],
    [[open], "unknown", "open", 0],
    [[bare(404)], "unknown", "open", 0],
  ];
  for (const [answers, outcome, phase, epoch] of ends) {
    const storage = memoryStorage();
    const sent = network(dead, ...answers);
    await closedPage(storage);
    const { client } = await page(storage, { maxAttempts: 3 });
    const result = await client.cancel(QUESTION);
    assert.equal(result.outcome, outcome);
    assert.deepEqual([client.state("cart-42").phase, client.state("cart-42").epoch], [phase, epoch]);
    assert.equal(sent.keys().length, 1);
    assert.ok(sent.slice(1).every(({ url }) => url.includes("/operations/cancel?")));
  }
});

test("cancel ends a submit that runs, and both hear the same", async () => {
  const sent = network(dead, seen("cancelled", true));
  const { client } = await page(memoryStorage());
  const paying = client.submit(ORDER);
  await pause(10);
  const cancelled = await client.cancel(QUESTION);
  assert.deepEqual([cancelled.outcome, cancelled.reason], ["failed", "cancelled"]);
  assert.equal((await paying).outcome, "failed");
  assert.equal(sent.length, 2);
});

test("a submit during a cancellation comes after it, under the next key", async () => {
  const storage = memoryStorage();
  const sent = network(dead, () => pause(20).then(seen("cancelled", true)), gate("executed"));
  await closedPage(storage);
  const { client } = await page(storage);
  const cancelling = client.cancel(QUESTION);
  const paying = client.submit({ ...ORDER, body: { card: "other" } });
  assert.equal((await cancelling).outcome, "failed");
  assert.equal((await paying).outcome, "done");
  assert.notEqual(sent[2].key, sent[0].key);
});

test("t4 an executed intent is done, whatever is asked, and nobody is asked", async () => {
  const sent = network(gate("executed"));
  const { client } = await page(memoryStorage());
  await client.submit(ORDER);
  for (const verb of ["lookup", "cancel"]) assert.equal((await client[verb](QUESTION)).outcome, "done");
  assert.deepEqual([sent.length, sent.looks.length], [1, 0]);
});

test("questions name the route, the value that the gate makes its key of, and who asks", async () => {
  const { client, sent } = await reloaded(seen("cancelled", true));
  const question = { ...QUESTION, route: "orders", generatedKey: "4711", headers: { authorization: "Bearer x" } };
  await client.lookup(question);
  assert.deepEqual(sent.looks[0], { url: "https://shop.example/.oncegate/v1/operations?route=orders", key: "4711" });
  await client.cancel(question);
  assert.deepEqual([sent[1].url, sent[1].key], ["https://shop.example/.oncegate/v1/operations/cancel?route=orders", "4711"]);
});

test("questions name the request, where the page names no route", async () => {
  const { client, sent } = await reloaded(seen("cancelled", true));
  await client.lookup(QUESTION);
  await client.cancel(QUESTION);
  assert.equal(sent.looks[0].url, "https://shop.example/.oncegate/v1/operations?path=%2Forders");
  assert.equal(sent[1].url, "https://shop.example/.oncegate/v1/operations/cancel?path=%2Forders");
  await client.lookup({ ...QUESTION, method: "put" });
  assert.equal(sent.looks[1].url, "https://shop.example/.oncegate/v1/operations?path=%2Forders&method=PUT");
  await client.lookup({ ...QUESTION, method: null });
  assert.equal(sent.looks[2].url, sent.looks[0].url);
});

test("t4 on a route that makes its keys itself, nothing is cancelled that nobody uses, unless the page says of what they are made", async () => {
  const kind = { "oncegate-key-kind": "generated" };
  const refusing = problem(503, "not_executed", { retryable: false, safe_new_key: false }, kind);
  const cancelled = gate("cancelled", { body: '{"state":"cancelled","safe_new_key":true}', headers: kind });
  const ended = { unnamed: ["unknown", "not_retryable", 1], named: ["failed", "cancelled", 2] };
  for (const [name, generatedKey] of [["unnamed", undefined], ["named", "order-1"]]) {
    const sent = network(refusing, cancelled);
    const { client } = await page(memoryStorage());
    const { outcome, reason } = await client.submit({ ...ORDER, generatedKey });
    assert.deepEqual([outcome, reason, sent.length], ended[name], name);
  }
});

test("t4 where nothing is executed and nothing more is sent, it is cancelled before it is called failed", async () => {
  const released = problem(503, "not_executed", { code: "origin_unreachable", safe_new_key: false, retryable: true });
  const sent = network(released, seen("cancelled", true), gate("executed"));
  const { client } = await page(memoryStorage(), { maxAttempts: 1 });
  const result = await client.submit(ORDER);
  assert.deepEqual([result.outcome, result.reason, result.problem.code], ["failed", "cancelled", "origin_unreachable"]);
  assert.equal((await client.submit(ORDER)).outcome, "done");
  assert.equal(sent.keys().length, 2);
});

test("t4 a request that the gate turns away for good is cancelled and failed, with the gate's words", async () => {
  const tooLarge = { code: "request_too_large", executed: null, safe_new_key: false, retryable: false };
  network(() => new Response(JSON.stringify(tooLarge), { status: 413, headers: { "content-type": "application/problem+json" } }), seen("cancelled", true));
  const { client } = await page(memoryStorage());
  const result = await client.submit(ORDER);
  assert.deepEqual([result.outcome, result.problem.code, result.response.status], ["failed", "request_too_large", 413]);
});

test("the log tells support how often it was sent and executed, without the payload", async () => {
  const storage = memoryStorage();
  network(lost, bare(503), gate("replayed"));
  const { client } = await page(storage, { retryUnproven: true });
  await client.submit({ ...ORDER, body: '{"card":"4242424242424242"}' });
  const said = client.log("cart-42");
  const { line, entries } = (await page(storage)).client.log("cart-42");
  assert.deepEqual(said, { intent: "cart-42", line, entries });
  assert.equal(line, "cart-42: 3 sends, 1 execution, replayed");
  assert.equal(entries[0].type, "send");
  assert.doesNotMatch(JSON.stringify(storage.entries()), /4242/);
  assert.equal(client.log("cart-43").line, "cart-43: 0 sends, 0 executions, open");
});

test("nobody waits for the log: it is written when there is time, and what a crash takes of it is in the record all the same", async () => {
  const storage = memoryStorage();
  const stored = [];
  network(() => (stored.push(storage.entries()), gate("executed")()));
  const { client } = await page(storage);
  await client.submit(ORDER);
  const [atTheFirstByte] = stored;
  assert.equal(atTheFirstByte["oncegate:log"], undefined);
  assert.equal(JSON.parse(atTheFirstByte["oncegate:intent:cart-42"]).sends, 1);
  await pause(10);
  assert.deepEqual(JSON.parse(storage.entries()["oncegate:log"]).map(({ type }) => type), ["send", "answer", "settled"]);
});

test("the log is in the order of what happened, whichever tab writes first", async () => {
  const [earlier, later] = [Date.now() - 60_000, Date.now() + 60_000];
  const running = { intent: "cart-42", type: "send", key: "k", at: later };
  const storage = memoryStorage({ "oncegate:log": JSON.stringify([running, { ...running, at: earlier }]) });
  network(gate("executed"));
  const { client } = await page(storage);
  await client.submit(ORDER);
  const { line, entries } = client.log("cart-42");
  assert.equal(line, "cart-42: 3 sends, 1 execution, open");
  assert.deepEqual(entries.map(({ type }) => type), ["send", "send", "answer", "settled", "send"]);
});

test("the log keeps what comes, though the clock was ahead before, and though an entry is no entry", async () => {
  const entry = (at) => ({ intent: "cart-42", type: "wait", key: "k", at });
  const written = [null, ...Array.from({ length: 119 }, (_, number) => entry(number === 60 ? "soon" : Date.now() + 60_000 + number))];
  const storage = memoryStorage({ "oncegate:log": JSON.stringify(written) });
  network(gate("executed"));
  const { client } = await page(storage);
  await client.submit(ORDER);
  const { line, entries } = client.log("cart-42");
  assert.equal(line, "cart-42: 1 send, 1 execution, open");
  assert.deepEqual(entries.slice(0, 4).map(({ type }) => type), ["wait", "send", "answer", "settled"]);
  const later = entries.slice(4).map(({ at }) => at);
  assert.deepEqual(later, later.toSorted((one, other) => one - other));
});

test("where there is no page, a client that was used can be forgotten", async () => {
  setFlagsFromString("--expose_gc");
  const collect = runInNewContext("gc");
  network(gate("executed"));
  const use = async () => {
    const storage = memoryStorage();
    await (await page(storage)).client.submit(ORDER);
    return new WeakRef(storage);
  };
  const used = await use();
  for (let turn = 0; turn < 20 && used.deref(); turn += 1) {
    await pause(20);
    collect();
  }
  assert.equal(used.deref(), undefined);
});

test("the log stays small", async () => {
  const storage = memoryStorage();
  network(gate("executed"));
  const { client } = await page(storage);
  for (let number = 0; number < 50; number += 1) await client.submit({ ...ORDER, intent: `cart-${number}` });
  assert.equal(client.log("cart-49").line, "cart-49: 1 send, 1 execution, answered");
  assert.equal(JSON.parse(storage.entries()["oncegate:log"]).length, 120);
});

test("a receipt names the operation", async () => {
  network(gate("executed", { headers: { "oncegate-operation": "op_7" } }));
  const { client } = await page(memoryStorage());
  const { receipt, key } = await client.submit(ORDER);
  assert.deepEqual([receipt.key, receipt.operation, receipt.replayed], [key, "op_7", false]);
});
