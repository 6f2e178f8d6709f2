// What a shard does by itself: it settles what is unknown, even if no client returns (rule A6).
//
// The tests ring the alarm themselves, and make due what would be due in some seconds.

import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, inject, onTestFinished, test } from "vitest";

import { cancel, effects, look, newKey, numberOf, openShard, query, release, send, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

/** Its lease outlasts these tests, so that no alarm rings but by them. */
const FINISHED = { path: "/finished" };
/** Its lease is over soon. */
const REVIVED = { path: "/revived" };
/** An answer that proves nothing. */
const LOST = { status: 500, outcome: null };

const alarmOf = (shard) => runInDurableObject(shard, (_, { storage }) => storage.getAlarm());

async function ring(shard) {
  await query(shard, "UPDATE attention SET due_ms = 0, settle_ms = 0");
  return runDurableObjectAlarm(shard);
}

test("a6 what is lost is sent again by alarm, and its request is forgotten when it is settled", async () => {
  const key = newKey();
  const shard = await openShard(key, "/revived");
  // The origin does what the body says: the effect, and then an answer that does not arrive as proof.
  const met = await send(key, { hold: true }, REVIVED);
  expect(met.body.code).toBe("in_progress");
  await until(() => look(key, "?route=revived"), (seen) => seen.state === "unknown");
  const [{ request }] = await query(shard, "SELECT request FROM operations");
  expect(request).toContain("/revived");
  await until(() => query(shard, "SELECT id FROM attention"), (rows) => rows.length === 1);
  await ring(shard);
  await until(() => effects(key), (count) => count > 1);
  await release(key);
  const seen = await until(() => look(key, "?route=revived"), ({ state }) => state === "executed");
  expect([seen.attempts > 1, seen.unsettled]).toEqual([true, 0]);
  expect(await query(shard, "SELECT request, request_body FROM operations")).toEqual([{ request: null, request_body: null }]);
  expect((await send(key, { hold: true }, REVIVED)).says).toBe("replayed");
  await until(() => ring(shard).then(() => query(shard, "SELECT id FROM attention")), (rows) => rows.length === 0);
});

test("a6 an object that died under an attempt finds it again, and the gate finishes it", async () => {
  const key = newKey();
  const shard = await openShard(key, "/revived");
  const cut = send(key, { hold: true }, REVIVED);
  await until(() => effects(key), (count) => count === 1);
  await abortAllDurableObjects();
  await cut;
  expect(await alarmOf(shard)).not.toBe(null);
  await until(() => look(key, "?route=revived"), (seen) => seen.state === "unknown");
  await runDurableObjectAlarm(shard);
  await until(() => effects(key), (count) => count > 1);
  await release(key);
  await until(() => look(key, "?route=revived"), ({ state }) => state === "executed");
});

test("a6 a run sees to 40 operations, sets the next one first, and never fails", async () => {
  const key = newKey();
  const shard = await openShard(key, "/finished");
  await send(key, LOST, FINISHED);
  await many(shard, 60);
  expect(await ring(shard)).toBe(true);
  expect(await sentAgain(shard)).toBe(40);
  expect(await alarmOf(shard)).not.toBe(null);
});

test("a6 a run whose store fails sets the next one, and sends nothing", async () => {
  const key = newKey();
  const shard = await openShard(key, "/finished");
  await send(key, LOST, FINISHED);
  const store = await watchStore(shard, (sql) => /attention/.test(sql) && /^SELECT/.test(sql) && new Error("internal error in Durable Object storage read"));
  await until(() => runDurableObjectAlarm(shard).then(() => store.failures), (failures) => failures > 0);
  store.restore();
  expect(await alarmOf(shard)).not.toBe(null);
  expect((await look(key, "?route=finished")).attempts).toBe(1);
});

test("a record that cannot be read is put off for an hour, and keeps none of the others", async () => {
  const key = newKey();
  const shard = await openShard(key, "/finished");
  await send(key, LOST, FINISHED);
  await query(shard, "INSERT INTO operations (id, record, keep_until_ms) VALUES (zeroblob(32), 'garbage', 9007199254740991)");
  await query(shard, "INSERT INTO attention (id, due_ms, settle_ms, tries, told) VALUES (zeroblob(32), 0, 0, 0, 0)");
  const before = Date.now();
  expect(await ring(shard)).toBe(true);
  await until(() => look(key, "?route=finished"), ({ attempts }) => attempts === 2);
  const [unreadable] = await query(shard, "SELECT due_ms, tries FROM attention WHERE id = zeroblob(32)");
  expect([unreadable.tries, unreadable.due_ms >= before + 60 * 60 * 1_000]).toEqual([0, true]);
});

test("a record that cannot be read keeps none of the others from being found after a crash", async () => {
  const key = newKey();
  const cut = send(key, { hold: true }, REVIVED);
  await until(() => effects(key), (count) => count === 1);
  const died = await openShard(key, "/revived");
  await query(died, "INSERT INTO operations (id, record, keep_until_ms) VALUES (randomblob(32), 'garbage', 9007199254740991)");
  await abortAllDurableObjects();
  await cut;
  await until(() => look(key, "?route=revived"), (seen) => seen.state === "unknown");
  const shard = await openShard(key, "/revived");
  onTestFinished(() => rest(shard));
  await runDurableObjectAlarm(shard);
  await until(() => effects(key), (count) => count > 1);
  await release(key);
  await until(() => look(key, "?route=revived"), ({ state }) => state === "executed");
});

test("a search for what was left open reads so many rows in a run, and comes to its end", async () => {
  const key = newKey();
  const died = await openShard(key, "/revived");
  const store = await watchStore(died);
  store.alarmsLaterMs = 60 * 60 * 1_000;
  const cut = send(key, { hold: true }, REVIVED);
  await until(() => effects(key), (count) => count === 1);
  // More rows than one run looks at, all of them before the last one, which is open as the first one is.
  await query(died, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
    INSERT INTO operations (id, record, keep_until_ms) SELECT CAST(printf('%032d', i) AS BLOB), record, 1 FROM n, (SELECT record FROM operations)`);
  await query(died, "INSERT INTO operations (id, record, keep_until_ms) SELECT unhex(printf('%.64c', 'f')), record, keep_until_ms FROM operations ORDER BY keep_until_ms DESC LIMIT 1");
  await abortAllDurableObjects();
  await cut;
  const shard = await openShard(key, "/revived");
  onTestFinished(() => rest(shard));
  store.clear();
  const last = () => query(shard, "SELECT 1 FROM attention WHERE id = unhex(printf('%.64c', 'f'))");
  await runDurableObjectAlarm(shard);
  expect(await last()).toEqual([]);
  expect(store.rowsRead).toBeGreaterThan(10_000);
  expect(store.rowsRead).toBeLessThan(45_000);
  await runDurableObjectAlarm(shard);
  expect(await last()).toHaveLength(1);
  store.restore();
  await ring(shard);
  await release(key);
  await until(() => look(key, "?route=revived"), ({ state }) => state === "executed");
});

test("a6 what a ledger was sent goes nowhere when its route keeps none any more: not by alarm, not for its client, not to be cancelled", async () => {
  const key = newKey();
  const shard = await openShard(key, "/finished");
  onTestFinished(() => rest(shard));
  await send(key, LOST, FINISHED);
  // As if the route of its claim had been given an origin without a ledger since.
  await query(shard, `UPDATE operations SET record = replace(record, '"route":"finished"', '"route":"held"')`);
  await fetch(`${inject("origin")}/told?key=${key}`, { method: "POST", body: '{"status":201,"outcome":"executed"}' });
  expect(await ring(shard)).toBe(true);
  const again = await send(key, LOST, FINISHED);
  const cancelled = await cancel(key, "?route=finished");
  expect([again.status, again.body.code, cancelled.code]).toEqual([409, "outcome_unknown", "outcome_unknown"]);
  expect([again.body.retryable, again.headers.get("retry-after")]).toEqual([false, null]);
  expect([await effects(key), (await look(key, "?route=finished")).attempts]).toEqual([0, 1]);
});

test("what cannot be settled is told all the same", async () => {
  const key = newKey();
  const shard = await openShard(key, "/finished");
  onTestFinished(() => rest(shard));
  await send(key, LOST, FINISHED);
  await query(shard, "UPDATE operations SET request = 'garbage'");
  expect(await ring(shard)).toBe(true);
  expect(await query(shard, "SELECT told, tries FROM attention")).toEqual([{ told: 1, tries: 1 }]);
});

test("what the Desk has not heard of is told again, until it has", async () => {
  const key = newKey();
  const shard = await openShard(key);
  const { operation } = await send(key, { hold: true });
  const desk = env.DESK.getByName("desk");
  const list = async () => {
    const told = await desk.fetch("https://desk/", { method: "POST", body: JSON.stringify({ to: "list" }) });
    return (await told.json()).operations.filter((entry) => entry.operation === operation).length;
  };
  const told = () => query(shard, "SELECT told, due_ms < settle_ms AS again FROM attention");
  expect(await list()).toBe(0);
  await until(told, (rows) => rows.length === 1);
  await query(desk, "ALTER TABLE trouble RENAME TO elsewhere");
  expect(await ring(shard)).toBe(true);
  expect(await told()).toEqual([{ told: 0, again: 1 }]);
  await query(desk, "ALTER TABLE elsewhere RENAME TO trouble");
  expect(await ring(shard)).toBe(true);
  expect(await told()).toEqual([{ told: 1, again: 0 }]);
  expect(await list()).toBe(1);
  await release(key);
  await until(() => look(key), ({ state }) => state === "executed");
  await ring(shard);
  expect(await told()).toEqual([]);
  expect(await list()).toBe(0);
});

/** Who asks for an operation that nobody finishes, and how each hears that nothing is known of it. */
const ASKERS = {
  "a look-up": async (key) => (await look(key, "?route=held")).state === "unknown",
  "a cancellation": async (key) => (await cancel(key, "?route=held")).code === "outcome_unknown",
  "a duplicate, also one that has waited until the lease was over,": async (key) => (await send(key, { hold: true }, { path: "/held" })).body.code === "outcome_unknown",
};

for (const [asker, hears] of Object.entries(ASKERS)) {
  test(`an attempt that its object has forgotten is put on the list by ${asker} once`, async () => {
    const key = newKey();
    const cut = send(key, { hold: true }, { path: "/held" });
    await until(() => effects(key), (count) => count === 1);
    await abortAllDurableObjects();
    await cut;
    const shard = await openShard(key, "/held");
    onTestFinished(() => rest(shard));
    const listed = () => query(shard, "SELECT told FROM attention");
    expect([await listed(), await alarmOf(shard)]).toEqual([[], null]);
    await until(() => hears(key), Boolean);
    expect([await listed(), await alarmOf(shard)]).toEqual([[{ told: 0 }], expect.any(Number)]);
    const store = await watchStore(shard);
    expect(await hears(key)).toBe(true);
    expect(store.rowsWritten).toBe(0);
    store.restore();
    await ring(shard);
    expect(await listed()).toEqual([{ told: 1 }]);
    await release(key);
  });
}

test("a look-up whose note cannot be written says what it found", async () => {
  const key = newKey();
  const cut = send(key, { hold: true });
  await until(() => effects(key), (count) => count === 1);
  await abortAllDurableObjects();
  await cut;
  const shard = await openShard(key);
  onTestFinished(() => rest(shard));
  const store = await watchStore(shard, (sql) => /attention/.test(sql) && new Error("database or disk is full: SQLITE_FULL"));
  await until(() => look(key), (seen) => seen.state === "unknown");
  expect(store.failures).toBeGreaterThan(0);
  store.restore();
  expect((await look(key)).state).toBe("unknown");
  expect(await query(shard, "SELECT told FROM attention")).toEqual([{ told: 0 }]);
  await release(key);
});

test("what the Desk takes for old news, because the clock of an earlier instance was ahead, is told again", async () => {
  const key = newKey();
  const shard = await openShard(key, "/finished");
  onTestFinished(() => rest(shard));
  const { operation } = await send(key, LOST, FINISHED);
  const desk = env.DESK.getByName("desk");
  const report = { shard: numberOf(operation), at_ms: Date.now() + 3_600_000, added: [], removed: [] };
  await desk.fetch("https://desk/", { method: "POST", body: JSON.stringify({ to: "trouble", ...report }) });
  const told = () => query(shard, "SELECT told FROM attention");
  await ring(shard);
  expect(await told()).toEqual([{ told: 0 }]);
  await ring(shard);
  expect(await told()).toEqual([{ told: 1 }]);
});

test("a run that needs more connections than there are waits for them", async () => {
  const key = newKey();
  const shard = await openShard(key, "/finished");
  await send(key, LOST, FINISHED);
  await many(shard, 20);
  const couriers = limitCouriers(6);
  expect(await ring(shard)).toBe(true);
  expect(await sentAgain(shard)).toBe(20);
  await until(() => couriers.carried, (carried) => carried === 20);
  expect(couriers.most).toBe(6);
});

test("what goes well costs two rows also where the gate would finish it, and one for the alarm", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key, "/finished"));
  expect((await send(key, {}, FINISHED)).says).toBe("executed");
  expect(store.rowsWritten).toBe(3);
  store.clear();
  expect((await send(key, {}, FINISHED)).says).toBe("replayed");
  expect(store.rowsWritten).toBe(0);
});

/** As many copies of a shard's one operation, all on its list. The first bytes of an identity name its shard. */
async function many(shard, count) {
  const columns = "record, keep_until_ms, status, headers, body, request, request_body";
  const [{ id }] = await query(shard, "SELECT id FROM operations");
  for (let copy = 1; copy < count; copy++) {
    const other = new Uint8Array([...new Uint8Array(id, 0, 2), ...crypto.getRandomValues(new Uint8Array(30))]);
    await query(shard, `INSERT INTO operations (id, ${columns}) SELECT ?, ${columns} FROM operations LIMIT 1`, other);
  }
  await query(shard, "DELETE FROM attention");
  await query(shard, "INSERT INTO attention (id, due_ms, settle_ms, tries, told) SELECT id, 0, 0, 0, 0 FROM operations");
  onTestFinished(() => rest(shard));
}

/** What is left to do is no other test's. */
function rest(shard) {
  return runInDurableObject(shard, (_, { storage }) => {
    storage.sql.exec("DELETE FROM attention");
    return storage.deleteAlarm();
  });
}

/** How many of a shard's operations have had their second attempt. */
async function sentAgain(shard) {
  const [{ count }] = await query(shard, "SELECT count(*) AS count FROM operations WHERE json_extract(record, '$.attempt') = 2");
  return count;
}

/** The platform's limit: an invocation has so many connections at once, and the next call waits for one. */
function limitCouriers(limit) {
  let prototype = env.COURIER;
  while (!Object.hasOwn(prototype, "fetch")) prototype = Object.getPrototypeOf(prototype);
  const original = prototype.fetch;
  const state = { most: 0, carried: 0 };
  let open = 0;
  prototype.fetch = async function (...call) {
    const url = call[0]?.url ?? String(call[0]);
    if (!url.startsWith("https://courier/")) return original.apply(this, call);
    // A promise that another object's call resolves would be of no use in this one.
    while (open >= limit) await scheduler.wait(5);
    open++;
    state.most = Math.max(state.most, open);
    try {
      return await original.apply(this, call);
    } finally {
      open--;
      state.carried++;
    }
  };
  onTestFinished(() => {
    prototype.fetch = original;
  });
  return state;
}
