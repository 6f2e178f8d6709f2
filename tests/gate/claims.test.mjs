// Claims through the whole gate: who works on a message, and that it is done once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClaims } from "../../sdk/dist/claims.js";
import { startOrigin } from "../support/origin.mjs";
import { startStack, until } from "../support/stack.mjs";

const SECRET = "0123456789abcdef";
const HOUR_MS = 3_600_000;

let origin;
let stack;
let number = 0;

before(async () => {
  origin = await startOrigin();
  const secrets = { CLAIMS_SECRETS: `worker=${SECRET}`, ADMIN_SECRETS: `anna=${SECRET}`, METRICS_SECRETS: `prometheus=${SECRET}` };
  stack = await startStack({ CLAIMS_WINDOW_HOURS: 2, CLAIMS_PER_SCOPE_PER_MINUTE: 2, ...secrets }, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});

const authorization = `Bearer ${SECRET}`;
const newKey = () => `message-${number++}`;
const draw = () => crypto.randomUUID();

async function post(path, body, headers = { authorization }) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${stack.gate}/.oncegate/v1/claims${path}`, { method: "POST", headers, body: text });
  return { status: response.status, ...(await response.json()) };
}

/** Claims one message, and says what is answered. */
async function claim(key, { nonce = draw(), lease_ms = 60_000, scope = `mail-${key}`, ...item } = {}) {
  const { items } = await post("", { scope, nonce, lease_ms, items: [{ key, ...item }] });
  return items[0];
}

/** What the holder says of one message. */
async function say(verb, key, owner, more = {}) {
  const { lease_ms, ...item } = more;
  const call = { scope: `mail-${key}`, items: [{ key, owner, ...item }] };
  const { items } = await post(`/${verb}`, lease_ms === undefined ? call : { ...call, lease_ms });
  return items[0];
}

test("one holds a message, everybody else hears busy, and when it is done what it came to", async () => {
  const key = newKey();
  const mine = await claim(key);
  assert.equal(mine.answer, "acquired");
  assert.match(mine.owner, /^[0-9a-f]{32}$/);
  assert.ok(Math.abs(mine.fence - Date.now()) < 60_000 && mine.lease_ends_in_ms <= 60_000);
  const theirs = await claim(key);
  assert.deepEqual([theirs.answer, theirs.owner, theirs.fence], ["busy", undefined, undefined]);
  assert.ok(theirs.lease_ends_in_ms > 0);
  assert.equal((await say("complete", key, mine.owner, { result: '{"sent":"✓"}' })).answer, "done");
  assert.deepEqual([(await claim(key)).answer, (await claim(key)).result], ["done", '{"sent":"✓"}']);
  // Said again by whom the answer did not reach; and not by whom it does not concern.
  assert.equal((await say("complete", key, mine.owner, { result: "another" })).answer, "done");
  assert.equal((await say("complete", key, "0".repeat(32))).answer, "lost");
  assert.equal((await claim(key)).result, '{"sent":"✓"}');
});

test("a hundred who claim one message at once: one acquires it", async () => {
  const key = newKey();
  const answers = await Promise.all(Array.from({ length: 100 }, () => claim(key)));
  const count = (word) => answers.filter(({ answer }) => answer === word).length;
  assert.deepEqual([count("acquired"), count("busy")], [1, 99]);
});

test("a call whose answer was lost is made again, and is not locked out by itself", async () => {
  const key = newKey();
  const nonce = draw();
  const first = await claim(key, { nonce });
  const again = await claim(key, { nonce });
  assert.deepEqual([again.answer, again.owner, again.fence], ["acquired", first.owner, first.fence]);
  assert.equal((await claim(key)).answer, "busy");
});

test("when the lease is over somebody takes over, and the late owner is refused by the fence", async () => {
  const key = newKey();
  const first = await claim(key, { lease_ms: 1_000 });
  const second = await until(() => claim(key), ({ answer }) => answer === "acquired");
  assert.ok(second.fence > first.fence && second.owner !== first.owner);
  assert.equal((await say("heartbeat", key, first.owner)).answer, "lost");
  assert.equal((await say("complete", key, first.owner, { result: "late" })).answer, "lost");
  assert.equal((await say("release", key, first.owner)).answer, "lost");
  assert.equal((await say("complete", key, second.owner, { result: "mine" })).answer, "done");
  assert.equal((await claim(key)).result, "mine");
});

test("heartbeats keep a claim for longer than its lease", async () => {
  const key = newKey();
  const mine = await claim(key, { lease_ms: 1_500 });
  let beats = 0;
  await until(
    async () => {
      assert.equal((await say("heartbeat", key, mine.owner, { lease_ms: 1_500 })).answer, "held");
      assert.equal((await claim(key)).answer, "busy");
      return ++beats * 50;
    },
    (beaten) => beaten > 2_000,
  );
  assert.equal((await say("complete", key, mine.owner)).answer, "done");
});

test("what is released is free at once", async () => {
  const key = newKey();
  const first = await claim(key);
  assert.equal((await say("release", key, first.owner)).answer, "released");
  assert.equal((await say("release", key, first.owner)).answer, "released");
  const second = await claim(key);
  assert.deepEqual([second.answer, second.fence > first.fence], ["acquired", true]);
  assert.equal((await say("release", key, first.owner)).answer, "lost");
});

test("a message that is too old is not claimed, unless it is known", async () => {
  const key = newKey();
  const old = { sent_at: Date.now() - 3 * HOUR_MS };
  assert.deepEqual(await claim(key, old), { key, answer: "too_old", operation: (await claim(key, old)).operation });
  const mine = await claim(key, { sent_at: Date.now() - HOUR_MS });
  await say("complete", key, mine.owner);
  assert.equal((await claim(key, old)).answer, "done");
  const ahead = await claim(newKey(), { sent_at: Date.now() + 48 * HOUR_MS });
  assert.deepEqual([ahead.answer, ahead.code], ["refused", "request_invalid"]);
});

test("a batch of a hundred is answered item by item", async () => {
  const scope = `batch-${newKey()}`;
  const keys = Array.from({ length: 97 }, newKey);
  const items = [...keys.map((key) => ({ key })), { key: keys[0] }, { key: "no,key" }, { key: "old", sent_at: 1 }];
  const { items: answers } = await post("", { scope, nonce: draw(), items });
  assert.deepEqual(answers.map(({ key }) => key), items.map(({ key }) => key));
  const [again, wrong, old] = answers.slice(97);
  assert.ok(answers.slice(0, 97).every(({ answer }) => answer === "acquired" || answer === "refused"));
  // The same message twice in one batch: who has claimed it is not told to do it twice.
  assert.deepEqual([again.answer, wrong.answer, wrong.code, old.answer], ["busy", "refused", "request_invalid", "too_old"]);
  const owned = answers.filter(({ owner }) => owner);
  const done = await post("/complete", { scope, items: owned.map(({ key, owner }) => ({ key, owner, result: "r".repeat(16_384) })) });
  assert.ok(done.items.every(({ answer }) => answer === "done"));
  const late = await post("", { scope, nonce: draw(), items: owned.map(({ key }) => ({ key })) });
  assert.ok(late.items.every(({ answer, result }) => answer === "done" && result.length === 16_384));
});

test("a scope that begins too much in one shard is told so, item by item", async () => {
  const scope = `flood-${newKey()}`;
  const all = [];
  await until(
    async () => {
      const items = Array.from({ length: 100 }, () => ({ key: newKey() }));
      all.push(...(await post("", { scope, nonce: draw(), items })).items);
      return all;
    },
    (answers) => answers.some(({ code }) => code === "quota_exceeded"),
  );
  const refused = all.find(({ code }) => code === "quota_exceeded");
  assert.ok(refused.answer === "refused" && refused.retry_after_ms > 0);
  assert.ok(all.some(({ answer }) => answer === "acquired"));
});

test("what is no call is refused whole, with its place, and who has no secret learns nothing", async () => {
  const items = [{ key: "k" }];
  const wrong = await post("", { scope: "mail", items });
  assert.deepEqual([wrong.status, wrong.code], [400, "request_invalid"]);
  assert.match(wrong.detail, /^nonce: is missing/);
  for (const body of ["", "[]", "{}", '{"scope":"a","items":[{"key":1}]}', JSON.stringify({ scope: "a", nonce: draw(), items: Array(101).fill({ key: "k" }) })]) {
    assert.deepEqual([(await post("", body)).status, (await post("/complete", body)).status], [400, 400], body);
  }
  for (const headers of [{}, { authorization: "Bearer wrong" }]) {
    const { status, code } = await post("", { scope: "mail", nonce: draw(), items }, headers);
    assert.deepEqual([status, code], [401, "unauthorized"]);
  }
});

test("an owner is asked for nothing else: no customer's key is a claim, and support finds it", async () => {
  const key = newKey();
  const mine = await claim(key);
  const look = await fetch(`${stack.gate}/.oncegate/v1/operations?route=orders`, { headers: { "idempotency-key": key } });
  assert.equal((await look.json()).state, "absent");
  const query = new URLSearchParams({ claim_scope: `mail-${key}`, key });
  const admin = (path) => fetch(`${stack.gate}/.oncegate/v1/admin/operations${path}`, { headers: { authorization } });
  const seen = await (await admin(`?${query}`)).json();
  assert.deepEqual([seen.operation, seen.state, seen.terms.route], [mine.operation, "dispatched", "@claims"]);
  assert.equal((await (await admin(`/${mine.operation}`)).json()).operation, mine.operation);
});

test("message consumed twice: two consumers of one queue, and each message has one effect", async () => {
  const scope = `mail-${newKey()}`;
  const keys = Array.from({ length: 10 }, newKey);
  const sent = [];
  const consumer = createClaims({ gate: stack.gate, secret: SECRET, scope });
  const deliver = (key) => consumer.run({ key, sentAt: Date.now() }, async () => {
    sent.push(key);
    return `mail ${key}`;
  });
  // Each message is delivered three times, to whoever is there.
  const answers = (await Promise.all([...keys, ...keys, ...keys].map((key) => deliver(key).catch(({ code }) => ({ code }))))).filter(({ code }) => code !== "quota_exceeded");
  assert.equal(new Set(sent).size, sent.length);
  assert.ok(sent.length > 0 && answers.every(({ answer }) => answer === "done" || answer === "busy"));
  assert.deepEqual((await deliver(sent[0])).result, `mail ${sent[0]}`);
});

test("claims are counted, and shown among the decisions", async () => {
  const key = newKey();
  const { operation } = await claim(key);
  const ask = (what) => fetch(`${stack.gate}/.oncegate/v1/${what}`, { headers: { authorization } });
  const events = await until(
    async () => (await (await ask("events")).json()).events.filter((event) => event.operation === operation),
    ({ length }) => length > 0,
  );
  assert.deepEqual([events[0].route, events[0].decision], ["@claims", "acquired"]);
  assert.match(await (await ask("metrics")).text(), /oncegate_decisions_total\{route="@claims",mode="enforce",decision="acquired",state=""\} \d+/);
});

test("what was claimed and done outlives a gate that is killed", async () => {
  const [done, open] = [newKey(), newKey()];
  const first = await claim(done);
  await say("complete", done, first.owner, { result: "kept" });
  const nonce = draw();
  const second = await claim(open, { nonce });
  await stack.tell("kill-gate");
  await stack.tell("start-gate");
  assert.deepEqual([(await claim(done)).answer, (await claim(done)).result], ["done", "kept"]);
  assert.deepEqual([(await claim(open)).answer, (await claim(open, { nonce })).owner], ["busy", second.owner]);
  assert.equal((await say("complete", open, second.owner)).answer, "done");
});
