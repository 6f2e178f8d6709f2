// Claims inside workerd: what they cost the store, and what is left of them when objects end and stores fail.

import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";

import { GATE, newKey, query, shardOf, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

const SECRET = "0123456789abcdef";

async function post(path, body) {
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/claims${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${SECRET}` },
    body: JSON.stringify(body),
  });
  return response.json();
}

const claim = async (key, { nonce = crypto.randomUUID(), lease_ms = 60_000, ...item } = {}) =>
  (await post("", { scope: "mail", nonce, lease_ms, items: [{ key, ...item }] })).items[0];
const say = async (verb, key, owner, item = {}) => (await post(`/${verb}`, { scope: "mail", items: [{ key, owner, ...item }] })).items[0];

/** The object of a key whose tables are made: the first call of a shard's life pays for those. */
async function openShard(key) {
  const { operation } = await claim(key, { sent_at: 1 });
  return shardOf(operation);
}

test("a message that is claimed and done writes two rows; who comes too late or too early writes none", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key));
  const mine = await claim(key);
  expect([mine.answer, store.rowsWritten]).toEqual(["acquired", 1]);
  expect([(await claim(key)).answer, (await say("complete", key, "0".repeat(32))).answer]).toEqual(["busy", "lost"]);
  expect(store.rowsWritten).toBe(1);
  expect((await say("complete", key, mine.owner, { result: "done" })).answer).toBe("done");
  expect(store.rowsWritten).toBe(2);
  expect([(await claim(key)).result, (await say("complete", key, mine.owner)).answer]).toEqual(["done", "done"]);
  expect(store.rowsWritten).toBe(2);
});

test("a heartbeat, a release and a takeover write one row each", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key));
  const first = await claim(key, { lease_ms: 1_000 });
  store.clear();
  expect((await say("heartbeat", key, first.owner)).answer).toBe("held");
  expect(store.rowsWritten).toBe(1);
  expect((await say("release", key, first.owner)).answer).toBe("released");
  expect(store.rowsWritten).toBe(2);
  const second = await claim(key, { lease_ms: 1_000 });
  expect([second.answer, store.rowsWritten]).toEqual(["acquired", 3]);
  const third = await until(() => claim(key), ({ answer }) => answer === "acquired");
  expect([third.fence > second.fence, store.rowsWritten]).toEqual([true, 4]);
});

test("what is claimed and done outlives evictions and aborted objects", async () => {
  const [key, nonce] = [newKey(), crypto.randomUUID()];
  const shard = await openShard(key);
  const mine = await claim(key, { nonce });
  await evictDurableObject(shard);
  expect([(await claim(key)).answer, (await claim(key, { nonce })).owner]).toEqual(["busy", mine.owner]);
  await abortAllDurableObjects();
  expect((await say("heartbeat", key, mine.owner)).answer).toBe("held");
  await abortAllDurableObjects();
  expect((await say("complete", key, mine.owner, { result: "kept" })).answer).toBe("done");
  await abortAllDurableObjects();
  const late = await claim(key);
  expect([late.answer, late.result]).toEqual(["done", "kept"]);
});

test("objects that are aborted under a storm of claims: one acquires, one completes, and nothing is lost", async () => {
  const key = newKey();
  const shard = await openShard(key);
  let storm = true;
  const trouble = (async () => {
    while (storm) {
      await abortAllDurableObjects();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  /** A consumer as it should be: the same call again until it is answered. */
  const insist = (call) => until(call, ({ answer, code }) => answer !== undefined && code !== "gate_unavailable");
  const consumer = async () => {
    const nonce = crypto.randomUUID();
    const claimed = await insist(() => claim(key, { nonce }));
    return claimed.answer === "acquired" ? insist(() => say("complete", key, claimed.owner, { result: claimed.owner })) : claimed;
  };
  const answers = await Promise.all(Array.from({ length: 12 }, consumer));
  storm = false;
  await trouble;
  expect(answers.filter(({ answer }) => answer === "done").length).toBeGreaterThan(0);
  const late = await claim(key);
  expect([late.answer, late.result.length]).toEqual(["done", 32]);
});

test("a store that fails is said to be so, and the same call is heard later", async () => {
  const [key, nonce] = [newKey(), crypto.randomUUID()];
  const shard = await openShard(key);
  const store = await watchStore(shard, (sql) => /INSERT/.test(sql) && new Error("internal error in Durable Object storage write"));
  const refused = await claim(key, { nonce });
  expect([refused.answer, refused.code, refused.retry_after_ms]).toEqual(["refused", "gate_unavailable", 1_000]);
  store.restore();
  expect((await claim(key, { nonce })).answer).toBe("acquired");
});

test("a claim that nobody goes on with is nobody's trouble, and its row goes", async () => {
  const key = newKey();
  const shard = await openShard(key);
  await claim(key, { lease_ms: 1_000 });
  await runDurableObjectAlarm(shard);
  expect(await query(shard, "SELECT id FROM attention")).toEqual([]);
  const [{ keep_until_ms: until_ms }] = await query(shard, "SELECT keep_until_ms FROM operations");
  expect(until_ms).toBeLessThan(Date.now() + 10 * 24 * 3_600_000);
});
