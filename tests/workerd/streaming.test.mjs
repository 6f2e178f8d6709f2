// Answers that pass as they come (rule P6), while the store fails: nobody has the whole of one that is not recorded.

import { abortAllDurableObjects } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";

import { GATE, look, newKey, openShard, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

const SIZE = 2_500_000;
const HELD = "?route=held";

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
