// Claims from JavaScript, by a gate that gives the answers that it is told.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ClaimError, createClaims } from "../dist/claims.js";

/** Gives these answers, one for each call; keeps what was asked. An error is thrown. */
function gate(...answers) {
  const asked = [];
  const fetch = async (url, { body, headers }) => {
    asked.push({ path: new URL(url).pathname, body: JSON.parse(body), headers });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return answer instanceof Response ? answer : Response.json({ items: [answer].flat() });
  };
  return { asked, claims: createClaims({ gate: "https://shop.example/", secret: "s", scope: "orders/mail", leaseMs: 1_000, fetch }) };
}

const acquired = { key: "m", answer: "acquired", owner: "o", fence: 5, lease_ends_in_ms: 1_000 };
const done = { key: "m", answer: "done" };

test("a message is claimed, worked on and completed with what the work came to", async () => {
  const { asked, claims } = gate(acquired, done);
  const seen = await claims.run({ key: "m", sentAt: 7 }, async ({ fence }) => `sent under ${fence}`);
  assert.deepEqual([seen.answer, seen.result], ["done", "sent under 5"]);
  assert.deepEqual(asked.map(({ path }) => path), ["/.oncegate/v1/claims", "/.oncegate/v1/claims/complete"]);
  const { nonce, ...call } = asked[0].body;
  assert.deepEqual(call, { scope: "orders/mail", lease_ms: 1_000, items: [{ key: "m", sent_at: 7 }] });
  assert.ok(nonce.length >= 16 && asked[0].headers.authorization === "Bearer s");
  assert.deepEqual(asked[1].body.items, [{ key: "m", owner: "o", result: "sent under 5" }]);
});

test("a call whose answer was lost is made again as it was", async () => {
  const { asked, claims } = gate(new TypeError("fetch failed"), acquired);
  assert.equal((await claims.claim("m")).answer, "acquired");
  assert.deepEqual(asked[0].body, asked[1].body);
});

test("what is not acquired is not worked on", async () => {
  for (const answer of ["busy", "done", "too_old"]) {
    const { claims } = gate({ key: "m", answer });
    assert.equal((await claims.run("m", () => assert.fail("worked on"))).answer, answer);
  }
});

test("work that fails releases its claim, and the error is passed on", async () => {
  const { asked, claims } = gate(acquired, { key: "m", answer: "released" });
  await assert.rejects(claims.run("m", () => Promise.reject(new Error("no mail today"))), /no mail today/);
  assert.equal(asked.at(-1).path, "/.oncegate/v1/claims/release");
});

test("work hears that somebody has taken over", async () => {
  const { asked, claims } = gate(acquired, { key: "m", answer: "held" }, { key: "m", answer: "lost" });
  const seen = await claims.run("m", ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason.code))));
  assert.deepEqual([seen.answer, seen.result], ["lost", "lost"]);
  assert.deepEqual(asked.slice(1, 3).map(({ path }) => path), Array(2).fill("/.oncegate/v1/claims/heartbeat"));
});

test("what the gate did not decide is an error with its code, and one item's is its own", async () => {
  const refused = { key: "b", answer: "refused", code: "quota_exceeded", detail: "Later.", retry_after_ms: 9 };
  const { claims } = gate([acquired, refused]);
  const [first, second] = await claims.claimAll(["m", "b"]);
  assert.deepEqual([first.answer, second.code, second.retryAfterMs], ["acquired", "quota_exceeded", 9]);
  await assert.rejects(gate(refused).claims.claim("b"), (error) => error instanceof ClaimError && error.code === "quota_exceeded");
  const problem = () => Response.json({ code: "unauthorized", detail: "Send one of its secrets." }, { status: 401 });
  await assert.rejects(gate(problem()).claims.claim("m"), { code: "unauthorized", message: "Send one of its secrets." });
  const between = gate(new Error("one"), new Error("two"), new Error("three"));
  await assert.rejects(between.claims.claim("m"), { code: "no_answer" });
  assert.equal(between.asked.length, 3);
});
