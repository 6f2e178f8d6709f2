// One-time tokens (`oncegate/tokens`): what stands for an intent's key at the gate, chosen once.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { messages } from "../dist/index.js";
import { absent, gate, hangs, load, lost, memoryStorage, ORDER, page, pause, problem } from "./support.mjs";

const MINUTE = 60_000;
const executed = gate("executed", { status: 201, body: "paid" });
const unavailable = () => Response.json({ title: "not now" }, { status: 503 });
const expired = problem(410, "cancelled", { code: "token_expired", state: "cancelled", executed: false, safe_new_key: true, retryable: false });
/** A problem that says nothing about the operation. */
const silent = (status, code) => () =>
  new Response(JSON.stringify({ code, executed: null, safe_new_key: false, retryable: false }), { status, headers: { "content-type": "application/problem+json" } });

let loads = 0;
let storage;
let issued;
let asked;
let sent;

beforeEach(() => (storage = memoryStorage()));

/** A gate that issues tokens T1, T2 …; `issue` answers for it now and then, and `answers` are those to orders. */
function shop(answers, issue = []) {
  [issued, asked, sent] = [0, [], []];
  globalThis.fetch = async (url, { method, headers, signal }) => {
    const { pathname, search } = new URL(url);
    const given = { path: pathname + search, key: headers.get("idempotency-key"), authorization: headers.get("authorization"), signal };
    if (pathname === "/.oncegate/v1/tokens") {
      asked.push(given);
      const answer = issue.shift() ?? (() => Response.json({ token: `T${++issued}`, expires_in_ms: 5 * MINUTE }));
      return answer(given);
    }
    // What is sent can be found again by a page that is loaded later.
    if (method === "POST") sent.push({ ...given, stored: JSON.parse(storage.entries()["oncegate:token:cart-42"] ?? "{}").token });
    const answer = method === "GET" ? absent : answers.length > 1 ? answers.shift() : answers[0];
    return answer(given);
  };
}

/** A freshly loaded page. */
async function opened(options) {
  const { client, events } = await page(storage, options);
  const { tokens } = await import(`../dist/tokens.js?load=${++loads}`);
  const token = tokens(client, { storage });
  return { client, events, order: { ...ORDER, token } };
}

/** Lets a stored token grow older. */
function age(ms) {
  const entry = JSON.parse(storage.getItem("oncegate:token:cart-42"));
  storage.setItem("oncegate:token:cart-42", JSON.stringify({ ...entry, at: entry.at - ms }));
}

const keys = () => sent.map(({ key }) => key);

test("what is sent is the token, which is stored before the first byte", async () => {
  shop([executed]);
  const { client, order } = await opened();
  const result = await client.submit({ ...order, route: "orders", headers: { ...order.headers, authorization: "Bearer ada" } });
  assert.deepEqual([result.outcome, result.sends, keys(), sent[0].stored], ["done", 1, ["T1"], "T1"]);
  assert.deepEqual([asked.length, asked[0].path, asked[0].authorization], [1, "/.oncegate/v1/tokens?route=orders", "Bearer ada"]);
  assert.match(result.key, /^[0-9a-f-]{36}$/);
  assert.equal(storage.record("cart-42").phase, "executed");
});

test("a reload, and a retry, use the token that was sent, however old", async () => {
  shop([lost, hangs, executed]);
  const first = await opened();
  const controller = new AbortController();
  const running = first.client.submit({ ...first.order, signal: controller.signal });
  await pause(40);
  controller.abort();
  await running;
  age(999 * MINUTE);
  const { client, order } = await opened();
  assert.equal((await client.submit(order)).outcome, "done");
  assert.deepEqual([new Set(keys()), asked.length], [new Set(["T1"]), 1]);
});

test("a token that grew old before it was sent is exchanged, by the wall clock", async () => {
  shop([executed]);
  const { client, order } = await opened();
  await client.ready;
  storage.setItem("oncegate:token:cart-42", JSON.stringify({ key: client.state("cart-42").key, token: "OLD", at: Date.now() - 5 * MINUTE, ms: 5 * MINUTE }));
  assert.equal((await client.submit(order)).outcome, "done");
  assert.deepEqual(keys(), ["T1"]);
});

test("one that was fetched ahead, here or in another tab, is used without a call", async () => {
  shop([executed]);
  const { client, order } = await opened();
  await client.ready;
  storage.setItem("oncegate:token:cart-42", JSON.stringify({ key: client.state("cart-42").key, token: "AHEAD", at: Date.now(), ms: 5 * MINUTE }));
  await client.submit(order);
  assert.deepEqual([keys(), asked.length], [["AHEAD"], 0]);
});

test("one that is fetched ahead names its method as the gate's routes do, however the page writes it", async (t) => {
  shop([executed]);
  const { client, order } = await opened();
  await client.ready;
  Object.assign(globalThis, { document: { visibilityState: "visible" }, addEventListener() {}, removeEventListener() {} });
  t.after(() => ["document", "addEventListener", "removeEventListener"].forEach((name) => delete globalThis[name]));
  const end = order.token.ahead({ intent: order.intent, url: order.url, method: "put" });
  while (asked.length < 1) await pause(1);
  end();
  assert.equal(asked[0].path, "/.oncegate/v1/tokens?path=%2Forders&method=PUT");
});

test("two tabs that fetch at the same time use the same token", async () => {
  const waiting = [];
  const slow = (token) => () => new Promise((resolve) => waiting.push(() => resolve(Response.json({ token, expires_in_ms: 5 * MINUTE }))));
  shop([executed], [slow("A"), slow("B")]);
  const tabs = [await opened(), await opened()];
  const running = tabs.map(({ client, order }) => client.submit(order));
  while (waiting.length < 2) await pause(1);
  waiting.forEach((answer) => answer());
  assert.deepEqual((await Promise.all(running)).map(({ outcome }) => outcome), ["done", "done"]);
  assert.equal(new Set(keys()).size, 1);
});

test("an old token that another tab sends meanwhile is not exchanged", async () => {
  let answer;
  shop([executed], [() => new Promise((resolve) => (answer = () => resolve(Response.json({ token: "NEW", expires_in_ms: 5 * MINUTE }))))]);
  const { client, order } = await opened();
  await client.ready;
  const { key } = client.state("cart-42");
  storage.setItem("oncegate:token:cart-42", JSON.stringify({ key, token: "OLD", at: Date.now() - 5 * MINUTE, ms: 5 * MINUTE }));
  const running = client.submit(order);
  while (!answer) await pause(1);
  const record = { epoch: 0, key, phase: "open", digest: "00000000", mixed: false, sends: 1, firstSent: Date.now() };
  storage.setItem("oncegate:intent:cart-42", JSON.stringify(record));
  answer();
  await running;
  assert.deepEqual(new Set(keys()), new Set(["OLD"]));
});

test("410 token_expired: the same intent goes on with a new token under its next key", async () => {
  shop([expired, executed]);
  const { client, order } = await opened();
  const result = await client.submit(order);
  assert.deepEqual([result.outcome, keys(), client.state("cart-42").epoch], ["done", ["T1", "T2"], 1]);
  assert.equal(result.changed, false);
});

test("410 token_expired of a token that may have been used is nobody's leave to take another one", async () => {
  shop([silent(410, "token_expired")]);
  const { client, order } = await opened();
  const result = await client.submit(order);
  assert.deepEqual([result.outcome, result.reason, client.state("cart-42").epoch], ["unknown", "not_retryable", 0]);
  assert.deepEqual(new Set(keys()), new Set(["T1"]));
});

test("without a token nothing is sent, and the result says so", async () => {
  for (const [issue, calls, status] of [
    [[lost, lost, lost], 3, undefined],
    [[unavailable, unavailable, unavailable], 3, 503],
    [[() => Response.json({ code: "scope_missing", detail: "who are you?" }, { status: 400 })], 1, 400],
    [[() => new Response("<html>login</html>"), lost, lost], 3, undefined],
  ]) {
    storage = memoryStorage();
    shop([executed], issue);
    const { client, order } = await opened();
    const result = await client.submit(order);
    assert.deepEqual([result.outcome, result.reason, result.sends, result.error.status], ["unknown", "token_missing", 0, status]);
    assert.deepEqual([sent.length, asked.length, client.pending()], [0, calls, []]);
    assert.equal(messages(result).title, messages("unsent").title);
    // What was wrong is over: nothing of it stays.
    assert.equal((await client.submit(order)).outcome, "done");
  }
});

test("where the token that was sent is lost, nothing is sent under another one", async () => {
  shop([lost, hangs, executed]);
  const first = await opened();
  const controller = new AbortController();
  const running = first.client.submit({ ...first.order, signal: controller.signal });
  await pause(40);
  controller.abort();
  await running;
  const before = sent.length;
  storage.setItem("oncegate:token:cart-42", "{}");
  const { client, order } = await opened();
  const result = await client.submit(order);
  assert.deepEqual([result.outcome, result.reason, sent.length - before, asked.length], ["unknown", "token_missing", 0, 1]);
});

test("a page that was closed between the next key and its token goes on with it", async () => {
  shop([expired, executed], [undefined, hangs]);
  const first = await opened();
  const controller = new AbortController();
  const running = first.client.submit({ ...first.order, signal: controller.signal });
  while (asked.length < 2) await pause(1);
  controller.abort();
  await running;
  assert.equal(storage.record("cart-42").epoch, 1);
  const { client, order } = await opened();
  assert.equal((await client.submit(order)).outcome, "done");
  assert.deepEqual(keys(), ["T1", "T2"]);
});

test("a token that the gate does not take, and that nothing was begun with, is exchanged", async () => {
  shop([silent(403, "token_invalid"), executed]);
  const { client, order } = await opened();
  assert.equal((await client.submit(order)).outcome, "unknown");
  assert.equal((await client.submit(order)).outcome, "done");
  assert.equal(keys().at(-1), "T2");
});

test("a customer who gives up while the token is fetched has sent nothing", async () => {
  shop([executed], [hangs]);
  const { client, order } = await opened();
  const controller = new AbortController();
  const running = client.submit({ ...order, signal: controller.signal });
  await pause(5);
  controller.abort();
  const { outcome, reason, sends } = await running;
  assert.deepEqual([outcome, reason, sends, sent.length], ["unknown", "aborted", 0, 0]);
});

test("look-ups and cancellations name the token", async () => {
  shop([lost, executed]);
  const { client, order } = await opened({ maxAttempts: 1 });
  await client.submit(order);
  const looked = [];
  const real = globalThis.fetch;
  globalThis.fetch = (url, init) => (looked.push([new URL(url).pathname, init.headers.get("idempotency-key")]), real(url, init));
  const { intent, url, token } = order;
  await client.lookup({ intent, url, token });
  await client.cancel({ intent, url, token });
  assert.deepEqual(looked, [["/.oncegate/v1/operations", "T1"], ["/.oncegate/v1/operations/cancel", "T1"]]);
});

test("a token that cannot be stored beside a record that can is not sent", async () => {
  shop([executed]);
  const { client, order } = await opened();
  await client.ready;
  const set = storage.setItem;
  storage.setItem = (name, value) => {
    if (name.startsWith("oncegate:token") && value.includes("T1")) throw new DOMException("full", "QuotaExceededError");
    set(name, value);
  };
  const result = await client.submit(order);
  assert.deepEqual([result.outcome, result.reason, sent.length], ["unknown", "token_missing", 0]);
});

test("without storage, and without an intent, a token lives as long as the page", async () => {
  shop([lost, executed]);
  storage.faults.read = storage.faults.write = true;
  const { client, order } = await opened({ retryUnproven: true });
  storage.entries = () => ({});
  assert.equal((await client.submit(order)).outcome, "done");
  assert.deepEqual(new Set(keys()), new Set(["T1"]));
  shop([lost, executed]);
  assert.equal((await client.submit({ ...order, intent: undefined })).outcome, "done");
  assert.deepEqual([keys(), asked.length], [["T1", "T1"], 1]);
});

test("an operation without an intent goes on under its token", async () => {
  shop([lost, executed]);
  const { client, order } = await opened({ maxAttempts: 1 });
  const result = await client.submit({ ...order, intent: undefined });
  assert.equal((await result.resume()).outcome, "done");
  assert.deepEqual([keys(), asked.length], [["T1", "T1"], 1]);
});

test("a client has one source of tokens", async () => {
  const { createOncegate } = await load();
  const { tokens } = await import(`../dist/tokens.js?load=${++loads}`);
  const client = createOncegate({ storage });
  assert.equal(tokens(client), tokens(client));
});
