// Objects that are replaced at any moment: the attempt goes on without them, and their successors take its answer.

import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";

import { effects, look, newKey, release, send, shardOf, until } from "./support/gate.mjs";

/** The origin has the request, and holds its answer. */
const begun = (key) => until(() => effects(key), (count) => count === 1);

/** The late answer has come through: whoever asks again gets it, and nothing was done twice. */
async function isReplayed(key) {
  await until(() => look(key), (seen) => seen.state === "executed");
  const again = await send(key, { hold: true });
  expect([again.status, again.says, again.body]).toEqual([201, "replayed", `the answer for ${key}`]);
  expect(await effects(key)).toBe(1);
}

test("an eviction waits for the attempt under way, and its successor has the answer", async () => {
  const key = newKey();
  const first = await send(key, { hold: true });
  expect([first.status, first.body.code]).toEqual([409, "in_progress"]);
  const evicted = evictDurableObject(shardOf(first.operation));
  expect((await look(key)).attempts).toBe(1);
  await release(key);
  await evicted;
  await isReplayed(key);
});

test("i2 all objects are aborted in mid-flight: nothing is executed again, and the successor takes the late answer", async () => {
  const key = newKey();
  const cut = send(key, { hold: true });
  await begun(key);
  await abortAllDurableObjects();
  expect((await cut).body).toMatchObject({ code: "in_progress", executed: null, safe_new_key: false });
  expect((await send(key, { hold: true })).body).toMatchObject({ executed: null, safe_new_key: false });
  expect(await effects(key)).toBe(1);
  await release(key);
  await isReplayed(key);
});

test("who has given up waiting makes room for the next one", async () => {
  const key = newKey();
  const ask = () => send(key, { hold: true }, { path: "/narrow" });
  const first = ask();
  await begun(key);
  expect((await ask()).body.code).toBe("in_progress");
  const next = [ask(), ask()];
  expect((await Promise.race(next)).body.code).toBe("in_progress");
  await release(key);
  const answers = await Promise.all(next);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  expect((await first).says).toBe("executed");
});

test("callers whose object is replaced are attached to the attempt under way, and have its answer", async () => {
  const key = newKey();
  const ask = () => send(key, { hold: true }, { path: "/patient" });
  const callers = [ask(), ask(), ask()];
  await begun(key);
  await abortAllDurableObjects();
  await release(key);
  for (const { status, body } of await Promise.all(callers)) expect([status, body]).toEqual([201, `the answer for ${key}`]);
  expect([(await look(key, "?route=patient")).attempts, await effects(key)]).toEqual([1, 1]);
});

test("what is settled outlives its object", async () => {
  const key = newKey();
  const first = await send(key);
  await abortAllDurableObjects();
  const again = await send(key);
  expect([again.status, again.says, again.body]).toEqual([201, "replayed", first.body]);
  expect(await effects(key)).toBe(1);
});

test("waiters of an object that is replaced are told that the operation is open, and get the answer when they ask again", async () => {
  const key = newKey();
  const first = send(key, { hold: true });
  await begun(key);
  const waiting = [send(key, { hold: true }), send(key, { hold: true })];
  await abortAllDurableObjects();
  for (const { status, body } of await Promise.all([first, ...waiting])) {
    expect([status, body.executed, body.safe_new_key]).toEqual([expect.any(Number), null, false]);
    expect(status).toBeGreaterThanOrEqual(409);
  }
  await release(key);
  await isReplayed(key);
});
