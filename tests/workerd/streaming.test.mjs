// Answers that pass as they come (rule P6), while the store fails: nobody has the whole of one that is not recorded.

import { abortAllDurableObjects } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";

import { GATE, look, newKey, openShard, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

const SIZE = 2_500_000;
const HELD = "?route=held";

/** The gate runs in this isolate: its minutes are over after a moment, until what is returned is called. */
function shortMinutes() {
  const set = globalThis.setTimeout;
  globalThis.setTimeout = (done, ms, ...rest) => set(done, ms === 60_000 ? 300 : ms, ...rest);
  return () => (globalThis.setTimeout = set);
}

/** Sends a request whose answer is passed on, and reads as much of it as comes. The claim and the head can be written, the end cannot. */
async function passing(key, announced) {
  const store = await watchStore(await openShard(key, "/held"));
  let written = 0;
  store.fault = (sql) => (/^\s*(INSERT|UPDATE)/i.test(sql) && ++written > 2 ? new Error("internal error in Durable Object storage write") : undefined);
  const response = await exports.default.fetch(`${GATE}/held`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ size: SIZE, outcome: null, announced }),
  });
  const answer = { says: response.headers.get("idempotency-status"), bytes: 0, store };
  const read = async () => {
    for await (const chunk of response.body) answer.bytes += chunk.length;
    return answer.bytes;
  };
  answer.whole = read();
  answer.whole.catch(() => {});
  await until(() => store.failures, (failures) => failures > 1);
  return answer;
}

test("i2 a streamed answer is whole only when its end is recorded", async () => {
  for (const announced of [true, false]) {
    const key = newKey();
    const answer = await passing(key, announced);
    expect(answer.says).toBe("executed");
    if (announced) expect(answer.bytes).toBeLessThan(SIZE);
    const ended = await Promise.race([answer.whole.then(() => true), look(key, HELD).then(() => false)]);
    expect(ended).toBe(false);
    answer.store.restore();
    expect(await answer.whole).toBe(SIZE);
    expect((await look(key, HELD)).state).toBe("executed");
  }
});

test("i2 a streamed answer whose end cannot be recorded breaks off", async () => {
  for (const announced of [true, false]) {
    const key = newKey();
    const answer = await passing(key, announced);
    await abortAllDurableObjects();
    await expect(answer.whole).rejects.toThrow();
    answer.store.restore();
    const seen = await until(() => look(key, HELD), ({ state }) => state === "executed");
    expect([seen.attempts, seen.unsettled]).toEqual([1, 0]);
  }
});

test("i2 a streamed answer whose end is not recorded for a minute breaks off, and the shard goes on being told", async () => {
  for (const announced of [true, false]) {
    const [key, restore] = [newKey(), shortMinutes()];
    try {
      const answer = await passing(key, announced);
      await expect(answer.whole).rejects.toThrow();
      const before = await look(key, HELD);
      expect([before.state, before.unsettled]).toEqual(["dispatched", 1]);
      answer.store.restore();
      const seen = await until(() => look(key, HELD), ({ state }) => state === "executed");
      expect([seen.attempts, seen.unsettled]).toEqual([1, 0]);
    } finally {
      restore();
    }
  }
});

test("p6 a client that takes nothing for a minute has left, and the answer is read to its end without it", async () => {
  for (const announced of [true, false]) {
    const [key, restore] = [newKey(), shortMinutes()];
    try {
      const response = await exports.default.fetch(`${GATE}/held`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify({ size: 4 * SIZE, outcome: null, announced }),
      });
      expect(response.headers.get("idempotency-status")).toBe("executed");
      const seen = await until(() => look(key, HELD), ({ unsettled }) => unsettled === 0);
      expect([seen.state, seen.attempts]).toEqual(["executed", 1]);
      await expect(response.bytes()).rejects.toThrow();
    } finally {
      restore();
    }
  }
});
