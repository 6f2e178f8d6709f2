// Rules P1 and P3: what every answer about an operation says of it, whatever it is, and that nothing of the gate's own talk is said with it.

import { expect, test } from "vitest";

import { effects, look, newKey, release, send, until } from "./support/gate.mjs";

const CENTURY_S = 100 * 365 * 24 * 60 * 60;
const LOST = { status: 500, outcome: null };
const HELD = { path: "/held" };
/** A lease that no machine outlives. */
const FINISHED = { path: "/finished" };
/** At most three wait here for the attempt of another request. */
const PATIENT = { path: "/patient" };
const MEMBERS = ["code", "detail", "executed", "operation", "retry_after_ms", "retryable", "safe_new_key", "state", "status", "title", "type"];

/** What is said of an operation, in the order in which it comes to be: a status, and how the request was decided. */
const STORIES = {
  "executed, and asked again": async (key) => [
    [await send(key), "executed", undefined],
    [await send(key), "replayed", "replayed"],
    [await send(key, { other: true }), "executed", "key_reused"],
  ],
  refused: async (key) => [
    [await send(key, { status: 402, outcome: "refused" }), "refused", undefined],
    [await send(key, { status: 402, outcome: "refused" }), "refused", "replayed"],
  ],
  "not executed": async (key) => [[await send(key, { status: 503, outcome: "not_executed" }), "not_executed", undefined]],
  "unknown where nobody can be asked": async (key) => [
    [await send(key, LOST, HELD), "unknown", undefined],
    [await send(key, LOST, HELD), "unknown", "outcome_unknown"],
  ],
  "under way": async (key) => {
    const answers = [
      [await send(key, { hold: true }, FINISHED), "in_progress", "dispatched"],
      [await send(key, { other: true }, FINISHED), "in_progress", "key_reused"],
    ];
    await release(key);
    await until(() => look(key, "?route=finished"), ({ state }) => state === "executed");
    return answers;
  },
  "waited for": async (key) => {
    const ask = () => send(key, { hold: true }, PATIENT);
    const first = ask();
    await until(() => effects(key), (count) => count === 1);
    const others = [ask(), ask(), ask(), ask()];
    // Who finds no room hears it at once: the three others wait.
    const refused = await Promise.race(others);
    await release(key);
    const waiters = (await Promise.all(others)).filter((answer) => answer !== refused);
    return [
      [refused, "in_progress", "in_progress"],
      [await first, "executed", undefined],
      ...waiters.map((answer) => [answer, "replayed", "waited"]),
    ];
  },
  "too large to be kept": async (key) => [
    [await send(key, { size: 2_500_000 }), "executed", undefined],
    [await send(key, { size: 2_500_000 }), "executed", "result_unavailable"],
  ],
};

for (const [story, tell] of Object.entries(STORIES)) {
  test(`p3 every answer about an operation names it, its state, how long its key is good for, and how it was decided: ${story}`, async () => {
    const key = newKey();
    const told = await tell(key);
    const { operation } = await look(key);
    for (const [{ headers, body }, status, decision] of told) {
      const of = (name) => headers.get(name) ?? undefined;
      expect([of("oncegate-operation"), of("idempotency-status"), of("oncegate-decision"), of("oncegate-key-kind")]).toEqual([operation, status, decision, "client"]);
      expect(of("idempotency-key-lifetime")).toBe(String(CENTURY_S));
      const talk = [...headers.keys()].filter((name) => name.startsWith("oncegate-"));
      expect(talk.filter((name) => !["oncegate-decision", "oncegate-key-kind", "oncegate-operation"].includes(name))).toEqual([]);
      if (of("content-type") !== "application/problem+json") continue;
      expect(Object.keys(body).sort()).toEqual(MEMBERS);
      expect([body.operation, of("cache-control"), body.type]).toEqual([operation, "no-store", `urn:oncegate:problem:${body.code}`]);
    }
  });
}

test("p3 a key that was cancelled is said to be dead, and for how long", async () => {
  const key = newKey();
  await send(key, { outcome: "cancelled" });
  const dead = await send(key);
  expect([dead.status, dead.body.code, dead.says, dead.body.safe_new_key]).toEqual([410, "operation_cancelled", "cancelled", true]);
  expect(dead.headers.get("idempotency-key-lifetime")).toBe(String(CENTURY_S));
});
