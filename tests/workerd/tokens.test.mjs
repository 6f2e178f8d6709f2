// One-time tokens and the objects that judge them: what each costs the store, and what outlives an object.

import { env, exports } from "cloudflare:workers";
import { abortAllDurableObjects, listDurableObjectIds } from "cloudflare:test";
import { expect, test } from "vitest";

import { makeToken } from "../support/token.mjs";
import { GATE, effects, look, openShard, release, send, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

const PATH = { path: "/tokened" };
const QUERY = "?route=tokened";

async function issue() {
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/tokens?route=tokened`, { method: "POST" });
  expect(response.status).toBe(200);
  return (await response.json()).token;
}

/** A token that was issued a while ago. */
const aged = (agoMs) => makeToken({ secret: "s1=0123456789abcdef", scope: new URL(GATE).host, route: "tokened", agoMs });

test("k2 issuing tokens costs no row and touches no object, and one that is used costs what a key costs", async () => {
  const token = await issue();
  const store = await watchStore(await openShard(token, "/tokened"));
  const objects = async () => (await listDurableObjectIds(env.SHARDS)).length;
  const before = await objects();
  const tokens = await Promise.all(Array.from({ length: 200 }, issue));
  expect(new Set(tokens).size).toBe(200);
  expect([store.rowsWritten, await objects()]).toEqual([0, before]);
  expect((await send(token, {}, PATH)).says).toBe("executed");
  expect((await send(token, {}, PATH)).says).toBe("replayed");
  expect(store.rowsWritten).toBe(2);
});

test("k2 what is refused for its token costs no row, and an expired one costs one row, once", async () => {
  const [expired, forgotten] = [await aged(301_000), await aged(8 * 86_400_000)];
  await openShard(forgotten, "/tokened");
  const store = await watchStore(await openShard(expired, "/tokened"));
  expect((await send("no-token", {}, PATH)).body.code).toBe("token_invalid");
  expect((await send(forgotten, {}, PATH)).body.code).toBe("token_expired");
  expect(store.rowsWritten).toBe(0);
  expect((await send(expired, {}, PATH)).body).toMatchObject({ code: "token_expired", executed: false, safe_new_key: true });
  expect((await send(expired, {}, PATH)).body).toMatchObject({ code: "token_expired", safe_new_key: true });
  expect(store.rowsWritten).toBe(1);
  expect([await effects(expired), await effects(forgotten)]).toEqual([0, 0]);
});

test("k2 what a token has begun outlives its expiry and its object, and what has closed it as well", async () => {
  const [token, unused] = [await aged(299_500), await aged(300_500)];
  const cut = send(token, { hold: true }, PATH);
  await until(() => effects(token), (count) => count === 1);
  expect((await send(unused, {}, PATH)).body.code).toBe("token_expired");
  await abortAllDurableObjects();
  await cut;
  await release(token);
  // Without the record it would be refused by now, and with it, it goes on.
  await until(() => look(token, QUERY), ({ state }) => state === "executed");
  expect(await send(token, { hold: true }, PATH)).toMatchObject({ status: 201, says: "replayed", body: `the answer for ${token}` });
  expect((await send(unused, {}, PATH)).body).toMatchObject({ code: "token_expired", safe_new_key: true });
  expect([await effects(token), await effects(unused)]).toEqual([1, 0]);
});

test("k2 a claim and a cancellation that race for a token agree, before and after it expires", async () => {
  for (const agoMs of [0, 301_000]) {
    const token = await aged(agoMs);
    const cancel = async () => {
      const headers = { "idempotency-key": token };
      const response = await exports.default.fetch(`${GATE}/.oncegate/v1/operations/cancel${QUERY}`, { method: "POST", headers });
      return response.json();
    };
    const [sent, cancelled] = await Promise.all([send(token, {}, PATH), cancel()]);
    const { state } = await until(() => look(token, QUERY), (seen) => ["cancelled", "executed"].includes(seen.state));
    expect(await effects(token)).toBe(state === "executed" ? 1 : 0);
    if (state === "executed") expect(sent.says).toBe("executed");
    else expect([cancelled.state, cancelled.safe_new_key]).toEqual(["cancelled", true]);
  }
});
