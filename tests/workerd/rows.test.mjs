// What an operation costs the store over its whole life.

import { expect, test } from "vitest";

import { effects, newKey, query, send, shardOf } from "./support/gate.mjs";

test("a first execution is stored in its shard, and a replay answers from there", async () => {
  const key = newKey();
  const first = await send(key);
  expect([first.status, first.says]).toEqual([201, "executed"]);
  const again = await send(key);
  expect([again.status, again.says, again.body]).toEqual([201, "replayed", first.body]);
  const rows = await query(shardOf(first.operation), "SELECT status, body FROM operations");
  expect(rows.map(({ status }) => status)).toEqual([201]);
  expect(await effects(key)).toBe(1);
});
