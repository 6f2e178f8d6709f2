// Rows that this version cannot read: 503, never absent (rule I5).

import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";

import { effects, look, newKey, query, send, shardOf } from "./support/gate.mjs";

/** A settled operation whose record is changed behind the gate's back; memory must not hide it. */
async function damaged(change) {
  const key = newKey();
  const { operation } = await send(key);
  const shard = shardOf(operation);
  await change(shard);
  await evictDurableObject(shard);
  return key;
}

async function isUnavailable(key) {
  const refused = await send(key);
  expect([refused.status, refused.body.code, refused.body.executed, refused.body.safe_new_key]).toEqual([503, "gate_unavailable", null, false]);
  expect((await look(key)).status).toBe(503);
  expect(await effects(key)).toBe(1);
}

test("i5 a record of a later version is 503, never absent", async () => {
  await isUnavailable(await damaged((shard) => query(shard, `UPDATE operations SET record = json_set(record, '$.v', '99')`)));
});

test("i5 a record with a field that this version does not know is 503", async () => {
  await isUnavailable(await damaged((shard) => query(shard, `UPDATE operations SET record = json_set(record, '$.later', 1)`)));
});

test("i5 a record that is no record is 503", async () => {
  await isUnavailable(await damaged((shard) => query(shard, "UPDATE operations SET record = 'garbage'")));
});

test("i5 a record without the answer that it speaks of is 503", async () => {
  const key = await damaged((shard) => query(shard, "UPDATE operations SET body = NULL, status = NULL, headers = NULL"));
  expect([(await send(key)).status, await effects(key)]).toEqual([503, 1]);
});

test("i5 a shard whose tables a later version made is 503, and is left as it is", async () => {
  const key = await damaged((shard) => query(shard, "UPDATE meta SET value = 99 WHERE name = 'version'"));
  await isUnavailable(key);
});
