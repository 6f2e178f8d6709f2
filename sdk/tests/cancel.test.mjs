// Another payload under an open key: nobody can send the first one again, so the gate is asked to cancel it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bare, closedPage, dead, gate, lost, memoryStorage, network, ORDER, page, problem } from "./support.mjs";

const KEY = "0190163d-8694-8000-8000-0000000000aa";

const DAY = 24 * 60 * 60 * 1000;
const CANCEL = "https://shop.example/.oncegate/v1/operations/cancel";
const OTHER = { ...ORDER, body: '{"card":"other"}' };

const about = (operation) => ({ "oncegate-operation": operation });
const reused = (state, headers = about("op_1")) =>
  problem(422, "unknown", { code: "key_reused", state, executed: null, safe_new_key: false, retryable: false }, headers);
const open = (headers) => problem(409, "unknown", { code: "outcome_unknown", retryable: true, ...headers }, about("op_1"));
const closed = (state, safe_new_key, operation = "op_1") => () =>
  Response.json({ operation, state, executed: state === "executed", safe_new_key }, { headers: about(operation) });

/** A page on which an earlier page load has left the order open. Answers follow the lost one. */
async function reloaded(...answers) {
  const storage = memoryStorage();
  const sent = network(dead, ...answers);
  await closedPage(storage);
  return { storage, sent, ...(await page(storage)) };
}

const urls = (sent) => sent.slice(1).map(({ url }) => (url.startsWith(CANCEL) ? "cancel" : "send"));

test("t4 an open earlier payload is cancelled, and the new one goes out under the next key", async () => {
  for (const state of ["dispatched", "unknown", "released"]) {
    for (const ended of ["cancelled", "refused"]) {
      const { client, events, sent, storage } = await reloaded(reused(state), closed(ended, true), () => {
        assert.equal(storage.record("cart-42").epoch, 1);
        return gate("executed", { status: 201, body: "paid" })();
      });
      const result = await client.submit(OTHER);
      assert.deepEqual([result.outcome, result.changed, result.replayed], ["done", false, false]);
      assert.equal(await result.response.text(), "paid");
      assert.deepEqual(urls(sent), ["send", "cancel", "send"]);
      assert.deepEqual([sent[2].method, sent[2].body, sent[2].key], ["POST", undefined, sent[0].key]);
      assert.notEqual(sent[3].key, sent[0].key);
      assert.equal(sent[3].body, OTHER.body);
      assert.deepEqual(client.state("cart-42"), { epoch: 1, key: sent[3].key, phase: "executed" });
      assert.deepEqual(events.types(), ["resumed", "send", "answer", "cancel", "answer", "send", "answer", "settled"]);
      const { intent, key } = events.find(({ type }) => type === "cancel");
      assert.deepEqual([intent, key], ["cart-42", sent[0].key]);
    }
  }
});

test("t4 a cancellation that comes too late is done and changed, and the new payload is not sent", async () => {
  const { client, sent } = await reloaded(reused("unknown"), closed("executed", false));
  const result = await client.submit(OTHER);
  assert.deepEqual([result.outcome, result.changed, result.response], ["done", true, null]);
  assert.deepEqual(urls(sent), ["send", "cancel"]);
  assert.equal(client.state("cart-42").phase, "executed");
  const again = await client.submit(OTHER);
  assert.deepEqual([again.outcome, again.key], ["done", result.key]);
});

test("t4 an operation that stays open is cancelled again, under the same key", async () => {
  const { client, events, sent } = await reloaded(reused("dispatched"), open(), bare(503), lost, open({ retry_after_ms: 40 }), closed("cancelled", true), gate("executed"));
  const result = await client.submit(OTHER);
  assert.equal(result.outcome, "done");
  assert.deepEqual(urls(sent), ["send", "cancel", "cancel", "cancel", "cancel", "cancel", "send"]);
  assert.equal(sent.keys().length, 2);
  assert.equal(events.types().filter((type) => type === "wait").length, 4);
  assert.ok(sent[6].at - sent[5].at >= 35, "the gate's wait is honoured");
});

test("t4 as long as nobody knows, the result is unknown and the key stays", async () => {
  const storage = memoryStorage();
  const sent = network(dead, reused("unknown"), open());
  await closedPage(storage);
  const { client } = await page(storage, { maxAttempts: 4 });
  const result = await client.submit(OTHER);
  assert.deepEqual([result.outcome, result.reason, sent.length], ["unknown", "sends_used_up", 5]);
  assert.equal(sent.keys().length, 1);
  assert.deepEqual(client.state("cart-42"), { epoch: 0, key: sent[0].key, phase: "open" });
});

test("t4 a crash between the cancellation and the next send takes the next key", async () => {
  const { client, sent, storage } = await reloaded(reused("unknown"), closed("cancelled", true), dead);
  client.submit(OTHER);
  while (sent.length < 4) await new Promise((resolve) => setTimeout(resolve, 2));
  network(gate("executed"));
  const after = await page(storage);
  const result = await after.client.submit(OTHER);
  assert.deepEqual([result.outcome, result.key], ["done", sent[3].key]);
});

test("t4 who waits for the payload that was sent never cancels it", async () => {
  const { client, sent } = await reloaded(open(), problem(409, "in_progress", { code: "in_progress", retryable: true }), bare(503), lost, gate("replayed"));
  const result = await client.submit(ORDER);
  assert.equal(result.outcome, "done");
  assert.deepEqual(urls(sent), ["send", "send", "send", "send", "send"]);
});

test("t4 an executed intent is never cancelled", async () => {
  const record = { epoch: 0, key: KEY, phase: "executed", digest: "", sends: 1, firstSent: Date.now(), lifetime: 7 * DAY };
  const sent = network(reused("unknown"));
  const { client } = await page(memoryStorage({ "oncegate:intent:cart-42": JSON.stringify(record) }));
  const result = await client.submit(OTHER);
  assert.deepEqual([result.outcome, result.response, sent.length], ["done", null, 1]);
});

test("t4 what is said of another operation, or by somebody else, proves nothing", async () => {
  for (const answer of [closed("cancelled", true, "op_2"), bare(200), bare(404), problem(400, "unknown", { code: "route_unknown" })]) {
    const { client, sent } = await reloaded(reused("unknown"), answer, reused("executed"));
    const result = await client.submit(OTHER);
    assert.deepEqual([result.outcome, result.changed], ["done", true]);
    assert.deepEqual(urls(sent), ["send", "cancel", "send"]);
    assert.equal(sent.keys().length, 1);
  }
});

test("t3 a key near the end of its lifetime is not cancelled", async () => {
  const record = { epoch: 3, key: KEY, phase: "open", digest: "", sends: 2, firstSent: Date.now() - 6 * DAY, lifetime: 7 * DAY };
  const storage = memoryStorage({ "oncegate:intent:cart-42": JSON.stringify(record) });
  const short = { ...about("op_1"), "idempotency-key-lifetime": String((6 * DAY) / 1000) };
  const sent = network(reused("unknown", short));
  const { client } = await page(storage);
  const result = await client.submit(OTHER);
  assert.deepEqual([result.outcome, result.reason, sent.length], ["unknown", "key_too_old", 1]);
  assert.deepEqual(client.state("cart-42"), { epoch: 3, key: KEY, phase: "open" });
});

test("the headers that let the order pass go along with the cancellation", async () => {
  let seen;
  const { client } = await reloaded(reused("unknown"), ({ init }) => {
    seen = init.headers.get("authorization");
    return closed("executed", false)();
  });
  await client.submit({ ...OTHER, headers: { authorization: "Bearer x" } });
  assert.equal(seen, "Bearer x");
});

test("t4 what a gate says instead of cancelling is done, and an earlier answer is not passed off as the operation's", async () => {
  const failed = gate("not_executed", { status: 503, body: "later", headers: about("op_1") });
  const sent = network(failed, closed("executed", false));
  const { client } = await page(memoryStorage(), { maxAttempts: 1 });
  const result = await client.submit(ORDER);
  assert.deepEqual(urls(sent), ["cancel"]);
  assert.deepEqual([result.outcome, result.replayed, result.response], ["done", true, null]);
});
