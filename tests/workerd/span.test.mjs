// The turn of a span of seven days, brought about by setting back the number of the span that a shard's tables are in.

import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";

import { effects, look, newKey, openShard, query, send, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

/** From the next call on, `spans` spans have gone by since the last one. */
async function pass(shard, spans) {
  await query(shard, "UPDATE meta SET value = value - ? WHERE name = 'span'", spans);
  await evictDurableObject(shard);
}

/** How many rows the shard's two tables have, the newer one first. */
async function rows(shard) {
  const count = async (table) => (await query(shard, `SELECT count(*) AS n FROM ${table}`))[0].n;
  return [await count("operations"), await count("operations_earlier")];
}

test("an answer is replayed from the earlier table, and from the newer one after it has moved on", async () => {
  const key = newKey();
  const shard = await openShard(key);
  const first = await send(key);
  for (const tables of [[0, 1], [0, 1], [0, 1]]) {
    await pass(shard, 1);
    const again = await send(key);
    expect([again.status, again.says, again.body]).toEqual([201, "replayed", first.body]);
    expect(await rows(shard)).toEqual(tables);
  }
  expect(await effects(key)).toBe(1);
});

test("after years a settled operation whose time is over is dropped, and costs nothing", async () => {
  const key = newKey();
  const shard = await openShard(key, "/brief");
  await send(key, {}, { path: "/brief" });
  await until(() => look(key, "?route=brief"), (seen) => seen.state === "absent");
  expect(await rows(shard)).toEqual([1, 0]);
  await pass(shard, 1);
  await look(key, "?route=brief");
  expect(await rows(shard)).toEqual([0, 1]);
  await pass(shard, 200);
  const store = await watchStore(shard);
  await look(key, "?route=brief");
  expect(await rows(shard)).toEqual([0, 0]);
  // The number of the span, and the schema's own rows: nothing for the operations.
  expect(store.statements.filter((sql) => sql.startsWith("DELETE"))).toEqual([]);
});

test("i5 an operation that is not settled is never dropped", async () => {
  const key = newKey();
  const shard = await openShard(key, "/held");
  await send(key, { status: 500, outcome: null }, { path: "/held" });
  for (const spans of [1, 1, 200, 1]) {
    await pass(shard, spans);
    expect(await look(key, "?route=held")).toMatchObject({ state: "unknown", attempts: 1, unsettled: 1 });
    const again = await send(key, { status: 500, outcome: null }, { path: "/held" });
    expect([again.status, again.body.code]).toEqual([409, "outcome_unknown"]);
  }
});

test("numbers go on where an expired record ends, as long as there is its row", async () => {
  const key = newKey();
  const shard = await openShard(key, "/brief");
  const once = () => send(key, {}, { path: "/brief" });
  await once();
  await until(() => look(key, "?route=brief"), (seen) => seen.state === "absent");
  await pass(shard, 1);
  expect((await once()).says).toBe("executed");
  expect((await look(key, "?route=brief")).attempts).toBe(2);
  expect(await rows(shard)).toEqual([1, 1]);
});

test("a row that is written again after a turn is in one table for its reader, and its answer with it", async () => {
  const key = newKey();
  const shard = await openShard(key);
  await send(key, { status: 500, outcome: null });
  await pass(shard, 1);
  await until(() => look(key), (seen) => seen.state === "unknown");
  const second = await send(key, { status: 500, outcome: null });
  expect(await look(key)).toMatchObject({ attempts: 2 });
  expect(second.body.operation).not.toBe(null);
  await pass(shard, 1);
  expect(await look(key)).toMatchObject({ attempts: 2, state: "unknown" });
});

test("t2 a clock that steps back turns nothing", async () => {
  const key = newKey();
  const shard = await openShard(key);
  const first = await send(key);
  await pass(shard, -5);
  const store = await watchStore(shard);
  const again = await send(key);
  expect([again.says, again.body]).toEqual(["replayed", first.body]);
  expect(store.rowsWritten).toBe(0);
  expect(await rows(shard)).toEqual([1, 0]);
});
