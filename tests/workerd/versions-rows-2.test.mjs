// Records of version 2, with everything that they can say, and the rows of the Desk and of the locks.

import { runDurableObjectAlarm } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, inject, test } from "vitest";

import database from "./fixtures/rows-2/database.json";
import cases from "./fixtures/rows-2/expected.json";
import { came, effects, GATE, look, query, shardOf, until } from "./support/gate.mjs";
import { readsAsBefore, replay, told, user } from "./support/stored.mjs";

readsAsBefore({ version: "rows of version 2", databases: database.databases }, cases);

const secret = (name) => ({ authorization: `Bearer ${name}` });

test("k4 a principal that is on record is the only one who hears of it", async () => {
  const mismatch = { status: 403, code: "principal_mismatch", executed: null };
  expect(told(await replay("bound", "bound", "", user("bound", "eve")))).toMatchObject(mismatch);
  expect(await look('"bound"', "?route=bound", user("bound", "eve"))).toMatchObject(mismatch);
});

test("a6 a request that is on record is sent again by alarm", async () => {
  const key = "kept and in flight";
  const { operation } = await look(`"${key}"`, "?route=kept");
  const shard = shardOf(operation);
  await query(shard, "UPDATE attention SET due_ms = 0, settle_ms = 0");
  expect(await runDurableObjectAlarm(shard)).toBe(true);
  await until(() => look(`"${key}"`, "?route=kept"), ({ state }) => state === "executed");
  expect([await effects(`"${key}"`), await came(`"${key}"`)]).toEqual([1, `application/json ${JSON.stringify({ no: key, note: "" })}`]);
});

test("i5 what the Desk has listed stays listed", async () => {
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/admin/operations?state=trouble`, { headers: secret(inject("admin")) });
  const { operations } = await response.json();
  expect(operations).toEqual(expect.arrayContaining(database.listed));
});

test("i5 the fences of an object go on from where they were", async () => {
  const headers = { "idempotency-key": crypto.randomUUID(), ...secret("0123456789abcdef") };
  const taken = await exports.default.fetch(`${GATE}/.oncegate/v1/locks/shelf`, { method: "POST", headers });
  expect(taken.status).toBe(200);
  expect((await taken.json()).fence).toBeGreaterThan(database.fence);
});
