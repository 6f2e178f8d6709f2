// Days that go by: what an operation says when its times are over.

import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, test } from "vitest";

import { later } from "./support/clock.mjs";
import { cancel, effects, look, newKey, openShard, query, send } from "./support/gate.mjs";

const DAY_MS = 86_400_000;
const DAYS = { path: "/days" };
const seen = (key) => look(key, "?route=days");

test("i6 when its result ttl is over an answer is expired, and when its key ttl is, the key is free", async () => {
  const key = newKey();
  later(0);
  expect((await send(key, {}, DAYS)).says).toBe("executed");
  later(DAY_MS - 1_000);
  expect((await send(key, {}, DAYS)).says).toBe("replayed");
  // What the gate may give again for two seconds ends with the record's own time.
  later(1_000);
  for (const days of [0, 3, 2]) {
    later(days * DAY_MS);
    const late = await send(key, {}, DAYS);
    expect([late.status, late.body.code, late.body.executed, late.body.safe_new_key]).toEqual([410, "result_expired", true, false]);
    expect((await seen(key)).state).toBe("executed");
  }
  expect(await effects(key)).toBe(1);
  later(DAY_MS);
  expect((await seen(key)).state).toBe("absent");
  expect([(await send(key, {}, DAYS)).says, await effects(key)]).toEqual(["executed", 2]);
});

test("a7 when the ledger may have forgotten, an unknown operation is neither sent, nor asked about, nor cancelled, and is held", async () => {
  const key = newKey();
  const shard = await openShard(key, "/days");
  const lost = { status: 500, outcome: null };
  expect((await send(key, lost, DAYS)).says).toBe("unknown");
  later(30 * DAY_MS);
  const again = await send(key, lost, DAYS);
  expect([again.status, again.body.code, again.body.retryable]).toEqual([409, "outcome_unknown", false]);
  expect((await cancel(key, "?route=days")).code).toBe("outcome_unknown");
  await query(shard, "UPDATE attention SET due_ms = 0, settle_ms = 0");
  await runDurableObjectAlarm(shard);
  expect(await seen(key)).toMatchObject({ state: "unknown", attempts: 1, unsettled: 1, held: true });
  expect(await query(shard, "SELECT told FROM attention")).toEqual([{ told: 2 }]);
});
