// What the platform enforces and workerd on one machine does not: a store that fails, is full, takes no row of 2,000,000 bytes, or
// is stopped while it writes; and calls between the gate's parts that fail.

import { abortAllDurableObjects } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, inject, onTestFinished, test } from "vitest";

import { effects, GATE, look, newKey, openShard, send, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

const LARGEST_ROW = 2_000_000;

const writes = (sql) => /^\s*(INSERT|UPDATE)/i.test(sql);
const broken = (sql) => writes(sql) && new Error("internal error in Durable Object storage write");
const full = (sql) => writes(sql) && new Error("database or disk is full: SQLITE_FULL");

function rowTooLarge(sql, values) {
  const bytes = values.reduce((sum, value) => sum + (value?.byteLength ?? value?.length ?? 8), 0);
  return bytes > LARGEST_ROW && new Error("string or blob too big: SQLITE_TOOBIG");
}

test("i2 a claim that cannot be written is 503, and nothing reaches the origin", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key), broken);
  const refused = await send(key);
  expect([refused.status, refused.body.code, refused.body.executed, refused.body.safe_new_key]).toEqual([503, "gate_unavailable", null, false]);
  expect(await effects(key)).toBe(0);
  store.restore();
  expect((await look(key)).state).toBe("absent");
  expect((await send(key)).says).toBe("executed");
  expect(await effects(key)).toBe(1);
});

test("a completion that cannot be written is told again until it is, and nothing runs twice", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key));
  let written = 0;
  // The first write is the claim, the next three are the completion.
  store.fault = (sql) => (writes(sql) && [2, 3, 4].includes(++written) ? broken(sql) : undefined);
  const first = await send(key);
  expect(first.body.safe_new_key ?? false).toBe(false);
  await until(() => look(key), (seen) => seen.state === "executed");
  const again = await send(key);
  expect([again.status, again.says, again.body]).toEqual([201, "replayed", `the answer for ${key}`]);
  expect([store.failures, await effects(key)]).toEqual([3, 1]);
});

test("a full shard refuses new operations, and replays and look-ups go on", async () => {
  const [key, other] = [newKey(), newKey()];
  await openShard(other);
  const shard = await openShard(key);
  const first = await send(key);
  await watchStore(shard, full);
  const again = await send(key);
  expect([again.status, again.says, again.body]).toEqual([201, "replayed", first.body]);
  expect((await look(key)).state).toBe("executed");
  expect((await send(other)).status).toBe(503);
  expect(await effects(other)).toBe(0);
});

test("p6 an answer that no row can hold is never tried: it passes, and its replay says that it is not there", async () => {
  for (const [size, says, link] of [
    [1_800_000, "replayed"],
    [1_899_000, "replayed"],
    [1_901_000, undefined],
    [LARGEST_ROW, undefined],
    [2_500_000, undefined],
    // Header fields are longer in a row than on the wire.
    [1_798_500, undefined, 101_000],
  ]) {
    const key = newKey();
    const store = await watchStore(await openShard(key), rowTooLarge);
    const first = await send(key, { size, link });
    expect([first.status, first.says, first.bytes.length]).toEqual([201, "executed", size]);
    const again = await send(key, { size, link });
    if (says) expect([again.status, again.says, again.bytes.length]).toEqual([201, says, size]);
    else expect([again.status, again.body.code, again.body.executed]).toEqual([409, "result_unavailable", true]);
    expect([store.failures, await effects(key)]).toEqual([0, 1]);
    store.restore();
  }
});

test("an object that is stopped at its completing write is completed through its successor", async () => {
  const key = newKey();
  const store = await watchStore(await openShard(key));
  let written = 0;
  // From its completing write on, the object may not touch its storage any more; then it is gone.
  store.fault = (sql) => {
    if (written > 0) return new Error("this Durable Object was stopped");
    written += writes(sql) ? 1 : 0;
    return undefined;
  };
  const met = send(key);
  await until(() => store.failures, (failures) => failures > 0);
  await abortAllDurableObjects();
  store.restore();
  expect((await met).body.safe_new_key ?? false).toBe(false);
  await until(() => look(key), (seen) => seen.state === "executed");
  expect((await send(key)).body).toBe(`the answer for ${key}`);
  expect(await effects(key)).toBe(1);
});

test("i5 a store that cannot be read is 503, never absent", async () => {
  const key = newKey();
  const shard = await openShard(key);
  await send(key);
  await watchStore(shard, (sql) => sql.startsWith("SELECT") && new Error("internal error in Durable Object storage read"));
  expect([(await send(key)).status, (await look(key)).status]).toEqual([503, 503]);
  expect(await effects(key)).toBe(1);
});

test("what fails in the gate itself is 503 in the gate's own words", async () => {
  const [key, prototype] = [newKey(), Object.getPrototypeOf(env.SHARDS)];
  const { getByName } = prototype;
  onTestFinished(() => {
    prototype.getByName = getByName;
  });
  prototype.getByName = () => {
    throw new Error("internal error in namespace");
  };
  const refused = await send(key);
  expect([refused.status, refused.body.code, refused.body.executed, refused.body.safe_new_key]).toEqual([503, "gate_unavailable", null, false]);
  prototype.getByName = getByName;
  expect([(await send(key)).says, await effects(key)]).toEqual(["executed", 1]);
});

test("an object that is overloaded is said to be unavailable, asked once more, and counted", async () => {
  const [key, prototype] = [newKey(), Object.getPrototypeOf(env.SHARDS)];
  const { getByName } = prototype;
  onTestFinished(() => {
    prototype.getByName = getByName;
  });
  let asked = 0;
  prototype.getByName = function (name) {
    if (!name.startsWith("shard-")) return getByName.call(this, name);
    return {
      fetch: async () => {
        asked += 1;
        throw Object.assign(new Error("Durable Object is overloaded. Too many requests queued."), { overloaded: true, retryable: true });
      },
    };
  };
  const refused = await send(key);
  expect([refused.status, refused.body.code, refused.body.executed, refused.headers.get("retry-after")]).toEqual([503, "gate_unavailable", null, "1"]);
  expect([asked, await effects(key)]).toEqual([2, 0]);
  prototype.getByName = getByName;
  const page = await exports.default.fetch(`${GATE}/.oncegate/v1/metrics`, { headers: { authorization: `Bearer ${inject("metrics")}` } });
  expect(await page.text()).toMatch(/^oncegate_shard_calls_total\{ended="overloaded"\} 2$/m);
});

/** What becomes of the next call of a courier: `call` makes it. */
function withCourier(fate) {
  let prototype = env.COURIER;
  while (!Object.hasOwn(prototype, "fetch")) prototype = Object.getPrototypeOf(prototype);
  const original = prototype.fetch;
  onTestFinished(() => {
    prototype.fetch = original;
  });
  prototype.fetch = function (...call) {
    const url = call[0]?.url ?? String(call[0]);
    if (!url.startsWith("https://courier/")) return original.apply(this, call);
    prototype.fetch = original;
    return fate(() => original.apply(this, call));
  };
}

const gone = () => {
  throw new Error("Network connection lost.");
};

test("a courier that could not be called proves nothing: its attempt is unknown, and the next one has another number", async () => {
  const [key, other] = [newKey(), newKey()];
  await openShard(key);
  withCourier(async () => gone());
  const lost = await send(key);
  expect([lost.status, lost.body.code, lost.says, lost.body.safe_new_key]).toEqual([502, "outcome_unknown", "unknown", false]);
  expect(await look(key)).toMatchObject({ state: "unknown", attempts: 1, unsettled: 1 });
  expect([(await send(key)).says, (await look(key)).attempts, await effects(key)]).toEqual(["executed", 2, 1]);
  // Where nobody can be asked it stays so.
  await openShard(other, "/held");
  withCourier(async () => gone());
  expect((await send(other, {}, { path: "/held" })).says).toBe("unknown");
  const again = await send(other, {}, { path: "/held" });
  expect([again.status, again.body.code, await effects(other)]).toEqual([409, "outcome_unknown", 0]);
});

test("a courier that is lost after the record has its answer takes nothing with it: the first request has the answer", async () => {
  const key = newKey();
  await openShard(key);
  withCourier((call) => call().then(gone));
  const first = await send(key);
  expect([first.status, first.body, first.headers.get("oncegate-decision")]).toEqual([201, `the answer for ${key}`, "dispatched"]);
  expect([(await send(key)).says, await effects(key)]).toEqual(["replayed", 1]);
});
