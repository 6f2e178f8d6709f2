// An origin that is another Worker, reached by its binding: `ORIGINS = [{ path = "/shop/*", service = "SHOP" }]`.

import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";

import { GATE, look, newKey, send } from "./support/gate.mjs";

const LEDGER = { path: "/shop/ledger" };
const PLAIN = { path: "/shop/plain" };

/** How often the shop has done what `key` stands for: passed on by the gate, unprotected. */
const effects = async (key) => Number(await (await exports.default.fetch(`${GATE}/shop/effects?key=${key}`)).text());

test("a bound Worker is an origin: executed once, replayed, and told what every origin is told", async () => {
  for (const route of [LEDGER, PLAIN]) {
    const key = newKey();
    const first = await send(key, { shows: true }, route);
    const again = await send(key, { shows: true }, route);
    expect([first.status, first.says, again.says, again.body]).toEqual([200, "executed", "replayed", first.body]);
    const headers = Object.fromEntries(first.body.headers);
    expect(new URL(first.body.url).pathname).toBe(route.path);
    expect([headers["idempotency-key"], headers["x-forwarded-host"], headers["oncegate-attempt"]]).toEqual([key, new URL(GATE).host, "1"]);
    expect(headers["oncegate-signature"]).toMatch(/./);
    expect([headers["oncegate-message"], headers["oncegate-fields"]]).toEqual([undefined, undefined]);
    expect(await effects(key)).toBe(1);
  }
});

test("a1 a bound ledger that fails after its work is sent the same again, and has done it once", async () => {
  const key = newKey();
  const failed = await send(key, { throws: true }, LEDGER);
  expect([failed.status, failed.body.code, failed.body.safe_new_key]).toEqual([502, "outcome_unknown", false]);
  const again = await send(key, { throws: true }, LEDGER);
  expect([again.status, again.says, again.body]).toEqual([200, "executed", `executed: ${key}`]);
  expect([await effects(key), (await look(key, "?route=bound-ledger")).attempts]).toEqual([1, 2]);
});

test("a3 a bound Worker without a ledger that fails is unknown, and is sent nothing again", async () => {
  const key = newKey();
  const failed = await send(key, { throws: true }, PLAIN);
  expect([failed.status, failed.body.code]).toEqual([502, "outcome_unknown"]);
  expect((await send(key, { throws: true }, PLAIN)).body.code).toBe("outcome_unknown");
  expect(await effects(key)).toBe(1);
});

test("l6 a bound ledger is asked to cancel, and never executes the key afterwards", async () => {
  const key = newKey();
  const cancel = `${GATE}/.oncegate/v1/operations/cancel?route=bound-ledger`;
  const cancelled = await exports.default.fetch(cancel, { method: "POST", headers: { "idempotency-key": key } });
  expect(await cancelled.json()).toMatchObject({ state: "cancelled", safe_new_key: true });
  expect((await send(key, {}, LEDGER)).body.code).toBe("operation_cancelled");
  expect(await effects(key)).toBe(0);
});

test("redirects of a bound Worker are passed on and replayed, not followed", async () => {
  const key = newKey();
  for (const says of ["executed", "replayed"]) {
    const answer = await send(key, { redirects: true }, PLAIN);
    expect([answer.status, answer.headers.get("location"), answer.says]).toEqual([303, "/thanks", says]);
  }
});

test("p6 an answer of a bound Worker that breaks off leaves the operation unknown", async () => {
  const key = newKey();
  await expect(send(key, { breaks: true }, PLAIN)).rejects.toThrow();
  expect(await look(key, "?route=bound-plain")).toMatchObject({ state: "unknown", executed: null, safe_new_key: false });
});
