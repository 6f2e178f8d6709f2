// When the SDK waits, sends again and stops.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bare, dead, drips, gate, hangs, lost, memoryStorage, network, ORDER, page, pause, problem } from "./support.mjs";

const waits = (events) => events.filter(({ type }) => type === "wait").map(({ waitMs }) => waitMs);

async function submit(answers, options, request = {}) {
  const sent = network(...answers);
  const { client, events } = await page(memoryStorage(), options);
  const begun = performance.now();
  const result = await client.submit({ ...ORDER, ...request });
  return { sent, events, result, client, took: performance.now() - begun };
}

test("Retry-After is honoured, in seconds and as a date of the server's clock", async () => {
  const dated = { date: "Sun, 06 Nov 1994 08:49:37 GMT", "retry-after": "Sun, 06 Nov 1994 08:49:38 GMT" };
  for (const headers of [{ "retry-after": "1" }, dated]) {
    const { sent, events } = await submit([bare(503, headers), gate("executed")]);
    assert.ok(sent[1].at - sent[0].at >= 990);
    const [wait, ...more] = waits(events);
    assert.ok(wait > 950 && wait <= 1_000, `${wait}`);
    assert.deepEqual(more, []);
  }
});

test("the gate's milliseconds are more exact than its seconds", async () => {
  const busy = problem(409, "in_progress", { code: "in_progress", retryable: true, retry_after_ms: 60 }, { "retry-after": "1" });
  const { events, result } = await submit([busy, gate("replayed")]);
  const [wait] = waits(events);
  assert.ok(wait > 30 && wait <= 60, `${wait}`);
  assert.equal(result.outcome, "done");
});

test("a wait that would pass the deadline ends as unknown at once", async () => {
  const { result, took, sent } = await submit([bare(503, { "retry-after": "120" })], { deadlineMs: 60_000 });
  assert.deepEqual([result.outcome, result.reason, result.sends], ["unknown", "deadline", 1]);
  assert.ok(took < 1_000);
  assert.equal(sent.length, 1);
});

test("the deadline holds against a server that never answers", async () => {
  const { result, took, sent } = await submit([dead], { attemptTimeoutMs: 50, deadlineMs: 200 });
  assert.deepEqual([result.outcome, result.reason], ["unknown", "deadline"]);
  assert.ok(took < 400, `${took}`);
  assert.ok(sent.length >= 3);
  assert.equal(sent.keys().length, 1);
});

test("maxAttempts holds", async () => {
  const { result, sent } = await submit([lost], { maxAttempts: 3, retryUnproven: true });
  assert.deepEqual([result.outcome, result.reason, result.sends, sent.length], ["unknown", "sends_used_up", 3, 3]);
  assert.equal(result.error.message, "Failed to fetch");
});

test("the timeout of a send covers the body", async () => {
  const { result, events } = await submit([drips, gate("replayed")], { attemptTimeoutMs: 40 });
  assert.equal(result.outcome, "done");
  const [error] = events.filter(({ type }) => type === "network-error");
  assert.equal(error.reason, "timeout");
});

test("a send that timed out is aborted before the next one", async () => {
  let aborted = false;
  const watched = ({ signal }) => {
    signal.addEventListener("abort", () => (aborted = true));
    return hangs({ signal });
  };
  const { result } = await submit(
    [watched, () => (assert.ok(aborted), gate("executed")())],
    { attemptTimeoutMs: 20 },
  );
  assert.equal(result.outcome, "done");
});

test("an abort during a send ends it as unknown, and the key stays", async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 20);
  const { result, client, sent } = await submit([dead, gate("executed")], {}, { signal: controller.signal });
  assert.deepEqual([result.outcome, result.reason, result.sends], ["unknown", "aborted", 1]);
  assert.equal(client.pending().length, 1);
  assert.equal((await client.submit(ORDER)).outcome, "done");
  assert.equal(sent.keys().length, 1);
});

test("an abort during a wait ends it at once", async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 20);
  const { result, took, sent } = await submit([bare(503, { "retry-after": "30" })], {}, { signal: controller.signal });
  assert.deepEqual([result.outcome, result.reason, sent.length], ["unknown", "aborted", 1]);
  assert.ok(took < 1_000);
});

test("an abort from a listener that hears of a wait ends it", async () => {
  const controller = new AbortController();
  const onEvent = ({ type }) => type === "wait" && controller.abort();
  network(bare(503, { "retry-after": "30" }));
  const { client } = await page(memoryStorage(), { onEvent, retryUnproven: true });
  const result = await client.submit({ ...ORDER, signal: controller.signal });
  assert.deepEqual([result.outcome, result.reason, result.sends], ["unknown", "aborted", 1]);
});

test("an abort before the first byte sends and stores nothing", async () => {
  const { result, client, sent } = await submit([gate("executed")], {}, { signal: AbortSignal.abort() });
  assert.deepEqual([result.outcome, result.reason, result.sends, sent.length], ["unknown", "aborted", 0, 0]);
  assert.equal(client.state("cart-42").phase, "none");
});

test("t4 an answer without Idempotency-Status is never failed", async () => {
  for (const status of [400, 401, 402, 403, 404, 409, 410, 412, 422]) {
    const { result, sent } = await submit([bare(status)]);
    assert.deepEqual([result.outcome, result.reason, sent.length], ["unknown", "not_understood", 1], `${status}`);
  }
  for (const status of [408, 425, 429, 500, 502, 503, 504, 599]) {
    const { result } = await submit([bare(status), gate("replayed")]);
    assert.deepEqual([result.outcome, result.sends], ["done", 2], `${status}`);
  }
  for (const status of [200, 201, 204]) {
    const { result } = await submit([bare(status)]);
    assert.deepEqual([result.outcome, result.replayed, result.response.status], ["done", false, status]);
  }
});

test("t4 a redirect to a login page is not done", async () => {
  const login = () => Object.defineProperty(new Response("<h1>Log in"), "redirected", { value: true });
  const { result } = await submit([login]);
  assert.deepEqual([result.outcome, result.reason], ["unknown", "not_understood"]);
});

test("a word of a newer gate is no proof", async () => {
  const { result, sent } = await submit([gate("half_executed"), gate("replayed")]);
  assert.deepEqual([result.outcome, sent.length], ["done", 2]);
});

test("a problem that cannot change is not asked again", async () => {
  const { result, sent } = await submit([problem(403, "unknown", { code: "principal_mismatch", retryable: false })]);
  assert.deepEqual([result.outcome, result.reason, sent.length], ["unknown", "not_retryable", 1]);
  assert.equal(result.problem.code, "principal_mismatch");
});

test("a problem about an executed operation is done without an answer", async () => {
  for (const [status, code] of [[410, "result_expired"], [409, "result_unavailable"]]) {
    const { result } = await submit([problem(status, "executed", { code })]);
    assert.deepEqual([result.outcome, result.response, result.problem.code], ["done", null, code]);
  }
});

test("what was heard before the last answer is not in the result", async () => {
  const { result } = await submit([problem(503, "unknown", { code: "gate_unavailable", retryable: true }), gate("executed")]);
  assert.equal(result.problem, undefined);
});

test("the budget of repetitions is an origin's own: one that is ill holds no other one back", async () => {
  const sent = network(lost);
  const { client, events } = await page(memoryStorage(), { retryUnproven: true, maxAttempts: 2 });
  const order = (intent, url, signal) => client.submit({ ...ORDER, intent, url, signal });
  const controller = new AbortController();
  const ill = Array.from({ length: 21 }, (_, number) => order(`ill-${number}`, ORDER.url, controller.signal));
  while (!events.some(({ type, waitMs }) => type === "wait" && waitMs > 2_000)) await pause(1);
  const { reason } = await order("other", "https://other.example/orders");
  assert.deepEqual([reason, sent.filter(({ url }) => url.startsWith("https://other")).length], ["sends_used_up", 2]);
  assert.ok(events.filter(({ type, intent }) => type === "wait" && intent === "other").every(({ waitMs }) => waitMs < 100));
  controller.abort();
  await Promise.all(ill);
});

test("a page that is hidden keeps sending", async () => {
  globalThis.document = { visibilityState: "hidden", hidden: true, addEventListener() {}, baseURI: ORDER.url };
  globalThis.addEventListener = () => {};
  try {
    const { result } = await submit([lost, gate("executed")]);
    assert.equal(result.outcome, "done");
  } finally {
    delete globalThis.document;
    delete globalThis.addEventListener;
  }
});

test("a rehearsal that fails is nobody's trouble", async () => {
  const { getRandomValues } = crypto;
  let drawn = 0;
  const unhandled = [];
  const hear = (reason) => unhandled.push(reason);
  globalThis.document = { addEventListener() {}, baseURI: ORDER.url };
  globalThis.addEventListener = () => {};
  crypto.getRandomValues = () => {
    drawn += 1;
    throw new Error("no source of chance");
  };
  process.on("unhandledRejection", hear);
  try {
    await page(memoryStorage({ "oncegate:secret": "ab".repeat(32) }));
    for (let turn = 0; turn < 50 && drawn === 0; turn += 1) await pause(10);
    await pause(10);
    assert.deepEqual([drawn, unhandled], [1, []]);
  } finally {
    process.off("unhandledRejection", hear);
    crypto.getRandomValues = getRandomValues;
    delete globalThis.document;
    delete globalThis.addEventListener;
  }
});

test("time in which the page was frozen does not count", async () => {
  const listeners = new Map();
  globalThis.document = { addEventListener: (type, listener) => listeners.set(type, listener), baseURI: ORDER.url };
  globalThis.addEventListener = (type, listener) => listeners.set(type, listener);
  try {
    const sent = network(() => pause(150).then(lost), gate("replayed"));
    // With a secret of an earlier visit, nothing is waited for before the first send.
    const storage = memoryStorage({ "oncegate:secret": "ab".repeat(32) });
    const { client } = await page(storage, { deadlineMs: 120 });
    const running = client.submit(ORDER);
    await pause(5);
    listeners.get("pagehide")({ persisted: true });
    await pause(110);
    listeners.get("pageshow")({ persisted: true });
    const result = await running;
    assert.deepEqual([result.outcome, sent.length], ["done", 2]);
  } finally {
    delete globalThis.document;
    delete globalThis.addEventListener;
  }
});
