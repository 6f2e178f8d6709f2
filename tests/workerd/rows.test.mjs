// What an operation costs the store over its whole life: two rows, and nothing for who asks again.

import { expect, test } from "vitest";

import { effects, look, newKey, openShard, release, send, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

test("a first execution writes two rows, and a replay none", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key));
  const first = await send(key);
  expect([first.status, first.says]).toEqual([201, "executed"]);
  expect(store.rowsWritten).toBe(2);
  store.clear();
  const again = await send(key);
  expect([again.status, again.says, again.body]).toEqual([201, "replayed", first.body]);
  expect(store.rowsWritten).toBe(0);
  expect(await effects(key)).toBe(1);
});

test("a hot replay reads the store at most once", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key));
  await send(key);
  await send(key);
  store.clear();
  await send(key);
  expect(store.reads.length).toBeLessThanOrEqual(1);
});

test("a refusal, and its replays, cost what an execution costs", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key));
  const refused = await send(key, { status: 402, outcome: "refused" });
  const again = await send(key, { status: 402, outcome: "refused" });
  expect([refused.says, again.says]).toEqual(["refused", "refused"]);
  expect(store.rowsWritten).toBe(2);
});

test("what is told to others costs nothing: waiters, other requests, look-ups", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key));
  const asks = { hold: true };
  const first = send(key, asks);
  const waiting = [send(key, asks), send(key, asks)];
  await until(() => look(key), (seen) => seen.attempts === 1);
  expect((await send(key, { other: true })).body.code).toBe("key_reused");
  await release(key);
  expect((await Promise.all([first, ...waiting])).map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(store.rowsWritten).toBe(2);
});
