// Locks over HTTP, on the gate as it is deployed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { json, startStack, until } from "../support/stack.mjs";

const SECRET = "a secret for locks only";
const ADMIN = "a secret for people only";
const METRICS = "a secret for numbers only";
let origin;
let stack;
let name;

before(async () => {
  origin = await startOrigin();
  const settings = {
    LOCKS_SECRETS: `jobs=${SECRET}`,
    ADMIN_SECRETS: `anna=${ADMIN}`,
    METRICS_SECRETS: `prom=${METRICS}`,
    CORS_ORIGINS: JSON.stringify(["https://ops.example"]),
  };
  stack = await startStack(settings, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => (name = `lock-${randomUUID()}`));

const bearer = (secret) => ({ authorization: `Bearer ${secret}` });

async function call(method, { path = `locks/${name}`, secret = SECRET, headers = {}, body, signal } = {}) {
  const response = await fetch(`${stack.gate}/.oncegate/v1/${path}`, {
    method,
    headers: { ...bearer(secret), ...(body && json), ...headers },
    body: body && JSON.stringify(body),
    signal,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, place: response.headers.get("oncegate-place"), body: text && JSON.parse(text) };
}

const acquire = (body = {}, key = randomUUID(), place = undefined, signal = undefined) =>
  call("POST", { body, headers: { "idempotency-key": key, ...(place && { "oncegate-place": place }) }, signal });
const renew = (owner, body) => call("PUT", { headers: { "oncegate-owner": owner }, body });
const release = (owner) => call("DELETE", { headers: { "oncegate-owner": owner } });
const list = async () => (await call("GET", { path: "admin/locks", secret: ADMIN })).body.locks;
const listed = async () => (await list()).find((lock) => lock.name === name);
const waiting = (count) => until(listed, (lock) => lock?.waiting === count);

/** Takes the lock, which is free. */
async function take(body) {
  const taken = await acquire(body);
  assert.equal(taken.status, 200, JSON.stringify(taken.body));
  return taken.body;
}

test("a lock is taken, renewed and released, and its fence grows", async () => {
  const first = await take({ ttl_ms: 20_000 });
  assert.match(first.owner, /^[0-9a-f]{32}$/);
  assert.ok(first.fence > Date.now() * 1_000 && Number.isSafeInteger(first.fence));
  assert.ok(first.expires_in_ms <= 20_000 && first.expires_in_ms > 10_000);
  const renewed = await renew(first.owner, { ttl_ms: 40_000 });
  assert.deepEqual([renewed.status, renewed.body.fence, renewed.body.ttl_ms], [200, first.fence, 40_000]);
  assert.equal((await release(first.owner)).status, 204);
  const second = await take();
  assert.ok(second.fence > first.fence);
  assert.equal(await listed().then((lock) => lock.fence), second.fence);
  await release(second.owner);
  assert.equal(await listed(), undefined, "a free lock leaves nothing");
});

test("of a hundred at once one has it, and the others hear that it is busy", async () => {
  const answers = await Promise.all(Array.from({ length: 100 }, () => acquire()));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(answers.filter(({ body }) => body.code === "lock_busy").length, 99);
});

test("only its owner renews and releases it", async () => {
  const held = await take();
  for (const wrong of [randomUUID().replaceAll("-", ""), "0".repeat(32)]) {
    assert.deepEqual([(await renew(wrong)).body.code, (await release(wrong)).body.code], ["lock_lost", "lock_lost"]);
  }
  assert.equal((await release("not an owner")).body.code, "request_invalid");
  assert.equal((await renew(held.owner)).status, 200);
});

test("who asks again, because the answer was lost, has the same lock", async () => {
  const key = randomUUID();
  const [first, again] = [await acquire({}, key), await acquire({}, key)];
  assert.deepEqual([again.status, again.body.owner, again.body.fence], [200, first.body.owner, first.body.fence]);
  assert.equal((await release(first.body.owner)).status, 204);
  assert.equal((await release(first.body.owner)).status, 204, "saying so again is no error");
  assert.deepEqual([(await acquire({}, key)).body.code, (await acquire({}, key)).status], ["lock_done", 410]);
});

test("who has heard nothing calls its request off, and the next one has the lock", async () => {
  const key = randomUUID();
  await acquire({ ttl_ms: 60_000 }, key);
  const next = acquire({ wait_ms: 20_000 });
  await waiting(1);
  assert.equal((await call("DELETE", { headers: { "idempotency-key": key } })).status, 204);
  assert.equal((await next).status, 200);
});

test("those who wait are served in the order in which they came, each as soon as the lock is free", async () => {
  let { owner, fence } = await take({ ttl_ms: 60_000 });
  const order = [];
  const all = [];
  for (const number of [1, 2, 3]) {
    all.push(acquire({ wait_ms: 25_000, ttl_ms: 60_000 }).then((taken) => (order.push(number), taken)));
    await waiting(number);
  }
  for (const next of all) {
    assert.equal((await release(owner)).status, 204);
    const taken = await next;
    assert.equal(taken.status, 200);
    assert.ok(taken.body.fence > fence);
    assert.ok(taken.body.expires_in_ms <= 5_000, "what was waited for is short until it is renewed");
    ({ owner, fence } = taken.body);
    assert.ok((await renew(owner)).body.expires_in_ms > 50_000);
  }
  assert.deepEqual(order, [1, 2, 3]);
});

test("a waiter that is gone has the lock for a moment, not for its ttl", async () => {
  const { owner } = await take({ ttl_ms: 60_000 });
  const leaving = new AbortController();
  const gone = acquire({ wait_ms: 25_000, ttl_ms: 3_600_000 }, randomUUID(), undefined, leaving.signal).catch(() => "gone");
  await waiting(1);
  leaving.abort();
  assert.equal(await gone, "gone");
  const next = acquire({ wait_ms: 25_000 });
  await until(listed, ({ waiting }) => waiting === 2 || waiting === 1);
  await release(owner);
  assert.equal((await next).status, 200);
});

test("who has waited in vain keeps its place", async () => {
  const { owner } = await take({ ttl_ms: 60_000 });
  const key = randomUUID();
  const busy = await acquire({ wait_ms: 1 }, key);
  assert.deepEqual([busy.status, busy.body.code, busy.body.retryable], [409, "lock_busy", true]);
  assert.match(busy.place, /^p1\./);
  const later = acquire({ wait_ms: 25_000 });
  await waiting(2);
  await release(owner);
  const first = await acquire({ wait_ms: 25_000 }, key, busy.place);
  assert.equal(first.status, 200);
  await release(first.body.owner);
  assert.equal((await later).status, 200);
});

test("the lock of a client that is lost ends when it was said to, and its late call is refused", async () => {
  const lost = await take({ ttl_ms: 1_000 });
  const next = await acquire({ wait_ms: 25_000 });
  assert.equal(next.status, 200);
  assert.ok(next.body.fence > lost.fence);
  assert.equal((await renew(lost.owner)).body.code, "lock_lost");
});

test("locks and their fences outlive a gate that is killed, and who waits is served by the next one", async () => {
  const held = await take({ ttl_ms: 60_000 });
  const cut = acquire({ wait_ms: 25_000 }).then(({ status }) => status, () => "cut");
  await waiting(1);
  await stack.tell("kill-gate");
  await stack.tell("start-gate");
  assert.equal(await cut, "cut");
  assert.equal((await acquire()).body.code, "lock_busy");
  const next = acquire({ wait_ms: 25_000 });
  await waiting(1);
  assert.equal((await release(held.owner)).status, 204);
  const { status, body } = await next;
  assert.equal(status, 200);
  assert.ok(body.fence > held.fence);
});

test("a person sees who has been holding what, and takes away what they have seen", async () => {
  const held = await take({ ttl_ms: 3_600_000 });
  const take_away = (fence, word = { actor: "anna", reason: "drill" }) =>
    call("DELETE", { path: `admin/locks/${name}`, secret: ADMIN, body: { fence, ...word } });
  const lock = await listed();
  assert.deepEqual([lock.fence, lock.waiting, lock.owner], [held.fence, 0, undefined]);
  assert.equal((await take_away(held.fence, {})).body.code, "request_invalid");
  assert.equal((await take_away(held.fence - 1)).body.code, "resolution_refused");
  assert.equal((await take_away(held.fence)).status, 204);
  assert.equal((await renew(held.owner)).body.code, "lock_lost");
  assert.ok((await take()).fence > held.fence);
});

test("what is not said as it must be is refused with the reason, and nobody without the secret has a lock", async () => {
  const reason = async (answer) => [(await answer).status, (await answer).body.code, (await answer).body.detail];
  const refused = async (answer, code, words) => {
    const [, said, detail] = await reason(answer);
    assert.deepEqual([said, words.test(detail)], [code, true], detail);
  };
  await refused(acquire({ ttl_ms: 999 }), "request_invalid", /from 1000 to 3600000/);
  await refused(acquire({ wait_ms: 25_001 }), "request_invalid", /at most 25000/);
  await refused(acquire({ ttl: 5 }), "request_invalid", /unknown field `ttl`/);
  await refused(call("POST", { body: {} }), "key_missing", /asking again gives the same lock/);
  await refused(call("POST", { path: "locks/a%20b" }), "request_invalid", /character 2/);
  await refused(call("POST", { path: "locks/a/b" }), "request_invalid", /character 2/);
  await refused(call("POST", { path: "locks/" }), "request_invalid", /needs a name/);
  await refused(call("GET"), "endpoint_unknown", /./);
  for (const secret of ["wrong", ADMIN]) {
    assert.equal((await call("POST", { secret, headers: { "idempotency-key": "k" } })).status, 401);
  }
  assert.equal((await call("GET", { path: "admin/locks" })).status, 401, "the secret for locks is not for people");
});

test("a page may use locks from an origin that is configured, and read its place", async () => {
  const { headers } = await call("POST", { headers: { "idempotency-key": randomUUID(), origin: "https://ops.example" } });
  assert.equal(headers.get("access-control-allow-origin"), "https://ops.example");
  assert.ok(headers.get("access-control-expose-headers").includes("oncegate-place"));
});

test("what became of locks is counted and shown, without their owners", async () => {
  const { owner } = await take();
  await acquire();
  await release(owner);
  const read = async (path) => (await fetch(`${stack.gate}/.oncegate/v1/${path}`, { headers: bearer(METRICS) })).text();
  const metrics = await until(() => read("metrics"), (text) => /route="\/locks",mode="enforce",decision="released"/.test(text));
  assert.match(metrics, /route="\/locks",mode="enforce",decision="lock_busy"/);
  assert.ok(!(await read("events")).includes(owner));
});
