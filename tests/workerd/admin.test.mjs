// What a person does about an operation that nothing else settles. The tests share an isolate with the gate, and set its clock.

import { runDurableObjectAlarm } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { afterEach, expect, inject, test, vi } from "vitest";

import { GATE, look, newKey, openShard, query, release, send, until } from "./support/gate.mjs";

const MINUTE_MS = 60 * 1_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const HELD = { path: "/held" };
const DOUBTED = { path: "/doubted" };
/** An answer that proves nothing. */
const LOST = { status: 500, outcome: null };

afterEach(() => vi.useRealTimers());

/** From now on, the gate's clock is so far ahead. */
function later(ms) {
  vi.useRealTimers();
  vi.setSystemTime(Date.now() + ms);
}

async function admin(path, body = undefined) {
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/admin/operations${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${inject("admin")}` },
    body: body && JSON.stringify({ actor: "anna", reason: "ticket 4711", ...body }),
  });
  return { status: response.status, body: await response.json() };
}

const seen = async (operation) => (await admin(`/${operation}`)).body;
const resolve = (operation, revision, outcome) => admin(`/${operation}/resolve`, { revision, outcome });

/** As what the operation is listed, after the shard's alarm has rung. */
async function listed(shard, operation) {
  await query(shard, "UPDATE attention SET due_ms = 0, settle_ms = 0");
  await runDurableObjectAlarm(shard);
  const { operations } = (await admin("?state=trouble")).body;
  return operations.find((entry) => entry.operation === operation)?.state;
}

const ENDS = [
  // What the person found out, the state afterwards, what the next request hears: status, code, state.
  ["executed", "executed", 409, "result_unavailable", "executed"],
  ["not_executed", "released", 500, undefined, "unknown"],
  ["cancelled", "cancelled", 410, "operation_cancelled", "cancelled"],
  ["refused", "refused", 409, "operation_refused", "refused"],
];

for (const [outcome, state, status, code, says] of ENDS) {
  test(`an unknown operation is held after a quarter of an hour, and settled as ${outcome} by a person`, async () => {
    const key = newKey();
    const shard = await openShard(key, HELD.path);
    const { operation } = await send(key, LOST, HELD);
    const { revision, held } = await seen(operation);
    expect([held, await listed(shard, operation)]).toEqual([false, "unknown"]);
    const early = await resolve(operation, revision, outcome);
    expect([early.status, early.body.code]).toEqual([409, "resolution_refused"]);
    expect(early.body.detail).toMatch(/an attempt may still be under way/);

    later(14 * MINUTE_MS);
    expect([(await resolve(operation, revision, outcome)).status, await listed(shard, operation)]).toEqual([409, "unknown"]);
    later(15 * MINUTE_MS + 1_000);
    expect(await seen(operation)).toMatchObject({ state: "unknown", held: true, executed: null, safe_new_key: false, unsettled: 1, revision });
    expect(await listed(shard, operation)).toBe("held");
    const other = await resolve(operation, revision - 1, outcome);
    expect([other.status, other.body.code]).toEqual([409, "resolution_refused"]);
    expect(other.body.detail).toMatch(new RegExp(`its revision is ${revision}`));
    expect((await seen(operation)).state).toBe("unknown");

    const settled = await resolve(operation, revision, outcome);
    expect([settled.status, settled.body.state, settled.body.held, settled.body.unsettled]).toEqual([200, state, false, 0]);
    expect(await listed(shard, operation)).toBe(undefined);
    const next = await send(key, LOST, HELD);
    expect([next.status, next.body.code, next.says]).toEqual([status, code, says]);
    expect((await look(key, "?route=held")).attempts).toBe(outcome === "not_executed" ? 2 : 1);
  });
}

test("i3 a dispute outlives the key ttl on the list and in the tables, and its record lives one key ttl from its end", async () => {
  const key = newKey();
  const shard = await openShard(key, DOUBTED.path);
  const { operation } = await send(key, { hold: true }, DOUBTED);
  later(16 * MINUTE_MS);
  const { revision } = await seen(operation);
  expect((await resolve(operation, revision, "cancelled")).body).toMatchObject({ state: "cancelled", safe_new_key: true });
  vi.useRealTimers();
  await release(key);
  await until(() => look(key, "?route=doubted"), ({ disputed }) => disputed);

  later(100 * DAY_MS);
  expect(await look(key, "?route=doubted")).toMatchObject({ state: "executed", executed: true, disputed: true, safe_new_key: false });
  expect(await listed(shard, operation)).toBe("disputed");
  const again = await send(key, { hold: true }, DOUBTED);
  expect([again.status, again.body.code, again.body.executed]).toEqual([409, "result_unavailable", true]);
  const { body } = await resolve(operation, (await seen(operation)).revision, "executed");
  expect([body.disputed, body.expired]).toEqual([false, false]);
  expect(await listed(shard, operation)).toBe(undefined);
  later(100 * DAY_MS + 2 * MINUTE_MS);
  expect((await look(key, "?route=doubted")).state).toBe("absent");
});
