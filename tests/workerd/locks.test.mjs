// The objects that hold locks, and their rows.

import { env } from "cloudflare:workers";
import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, expect, test } from "vitest";

import { newKey, query, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

let object;
let key;
beforeEach(() => {
  key = newKey();
  object = env.LOCKS.getByName(key);
});

/** A stub is of no use after its object was aborted. */
async function replaced(replace) {
  await replace();
  object = env.LOCKS.getByName(key);
}

async function tell(message) {
  const answer = await object.fetch("https://locks/", { method: "POST", body: `1 ${JSON.stringify(message)}` });
  const { said } = JSON.parse(await answer.text());
  return said;
}

const asker = () => [...crypto.getRandomValues(new Uint8Array(32))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const ask = (wait_ms = 0, more = {}) => tell({ to: "acquire", name: "a", asker: asker(), ttl_ms: 60_000, wait_ms, place: null, since_ms: null, ...more });
const take = async () => (await ask()).granted;
const release = (owner) => tell({ to: "release", name: "a", owner });
const renew = (owner) => tell({ to: "renew", name: "a", owner, ttl_ms: null });
const waiting = async (count) => until(() => tell({ to: "list" }), ({ held }) => held[0]?.waiting === count);

test("taking and releasing writes two rows, renewing one, and asking in vain none", async () => {
  // The first grant of an object stores the bound of its fences and sets its alarm as well.
  await release((await take()).owner);
  const store = await watchStore(object);
  const { owner } = await take();
  expect(store.rowsWritten).toBe(1);
  await renew(owner);
  expect(store.rowsWritten).toBe(2);
  expect(await ask()).toEqual({ busy: null });
  await tell({ to: "list" });
  expect(store.rowsWritten).toBe(2);
  await release(owner);
  expect(store.rowsWritten).toBe(3);
  expect(await query(object, "SELECT * FROM locks")).toEqual([]);
});

test("handing it over is one row, and who waits costs none", async () => {
  const { owner } = await take();
  const store = await watchStore(object);
  const next = ask(20_000);
  await waiting(1);
  expect(store.rowsWritten).toBe(0);
  await release(owner);
  const { granted } = await next;
  expect(store.rowsWritten).toBe(1);
  expect(granted.expires_in_ms).toBeLessThanOrEqual(5_000);
});

test("a lock outlives its object, and its fences go on growing", async () => {
  const first = await take();
  for (const replace of [() => evictDurableObject(object), abortAllDurableObjects]) {
    await replaced(replace);
    expect(await ask()).toEqual({ busy: null });
    expect((await renew(first.owner)).granted.fence).toBe(first.fence);
  }
  await release(first.owner);
  let last = first.fence;
  for (let turn = 0; turn < 3; turn++) {
    await replaced(abortAllDurableObjects);
    const { owner, fence } = await take();
    expect(fence).toBeGreaterThan(last);
    last = fence;
    await release(owner);
  }
});

test("rows of locks that have ended are removed by the alarm", async () => {
  await ask(0, { ttl_ms: 1_000 });
  await until(() => tell({ to: "list" }), ({ held }) => held.length === 0);
  await runDurableObjectAlarm(object);
  expect(await query(object, "SELECT * FROM locks")).toEqual([]);
});

test("rows of another version are an error, never a free lock", async () => {
  await take();
  await query(object, "UPDATE notes SET number = 99 WHERE name = 'version'");
  await evictDurableObject(object);
  await expect(take()).rejects.toThrow("version 99");
});

test("a write that fails is told as a fault, and memory is not ahead of the rows", async () => {
  const { owner } = await take();
  const store = await watchStore(object, (sql) => (/^DELETE FROM locks/.test(sql) ? new Error("the disk is full") : undefined));
  await expect(release(owner)).rejects.toThrow();
  store.restore();
  expect(await ask()).toEqual({ busy: null });
  expect(await release(owner)).toBe("did");
});
