// What gate, shard and courier say to each other carries a version: parts of two deployments may meet.

import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";

import database from "./fixtures/v0.1/database.json";
import { GATE, effects, look, newKey, query, send, shardOf } from "./support/gate.mjs";

test("i5 a message of a version that the shard does not know is an error and changes nothing", async () => {
  const { operation } = await send(newKey());
  const shard = shardOf(operation);
  const say = (message) => shard.fetch("https://shard/", { headers: { "oncegate-message": message } });
  const rows = () => query(shard, "SELECT record FROM operations");
  const look = JSON.stringify({ to: "look", operation, principal: null });
  const before = await rows();
  for (const known of [`2 ${look}`, `1 ${look}`, look]) {
    expect((await (await say(known)).json()).state).toBe("executed");
  }
  const lost = JSON.stringify({ to: "complete", operation, attempt: 1, reply: "lost" });
  for (const unknown of [`3 ${lost}`, `02 ${lost}`, `2${lost}`, "2", JSON.stringify({ to: "forget", operation })]) {
    await expect(say(unknown), unknown).rejects.toThrow();
  }
  expect(await rows()).toEqual(before);
});

const DAY_MS = 86_400_000;
const TERMS = { route: "orders", origin: "ledger", lease_ms: 30_000, result_ttl_ms: DAY_MS, key_ttl_ms: DAY_MS, ledger_retention_ms: 30 * DAY_MS, settle_after_ms: 900_000, finish: false, rules: {} };
const FINGERPRINT = "0".repeat(64);

/** The reference of an operation that nobody has seen, in the shard of another one. */
const beside = (operation) => `${operation.slice(0, 10)}${operation.slice(10).split("").reverse().join("")}`.slice(0, -1) + "A";

/** A message of version 1: the header fields for the origin, or those of its answer, travel as header fields of their own. */
const earlier = (message, headers) => ({ "oncegate-message": `1 ${JSON.stringify(message)}`, ...headers });

async function stamp(text) {
  const bytes = (text) => new TextEncoder().encode(text);
  const key = await crypto.subtle.importKey("raw", bytes(database.secrets.IDENTITY_SECRET), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes(`oncegate-seal-v1\0${text}`))).toHex();
}

test("a claim of an earlier gate is sent to the origin with its header fields, and its answer is kept", async () => {
  const { operation: other } = await send(newKey());
  const [operation, key] = [beside(other), newKey()];
  const claim = { to: "claim", operation, key, kind: "client", principal: null, scope: "host", fingerprint: FINGERPRINT, terms: TERMS, unreachable: false, body_bytes: 20, wait_ms: 1_000, max_waiters: 10, client_timeout_ms: 5_000, token: null };
  const headers = earlier(claim, { "content-type": "application/json", "x-kept": "1" });
  const ask = (more) => shardOf(operation).fetch("https://shard/orders", { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify({ shows: true }) });
  const first = await ask();
  const seen = await first.json();
  expect([first.headers.get("idempotency-status"), seen["idempotency-key"], seen["x-kept"]]).toEqual(["executed", key, "1"]);
  expect(Object.keys(seen).filter((name) => ["oncegate-message", "oncegate-fields", "oncegate-seal"].includes(name))).toEqual([]);
  const again = await ask();
  expect([again.headers.get("idempotency-status"), await again.json()]).toEqual(["replayed", seen]);
  // It would not know what to do with a mark. One that would says so.
  expect(again.headers.get("oncegate-remember")).toBe(null);
  const marked = await ask(earlier({ ...claim, remembers: true }));
  expect([await marked.json(), marked.headers.get("oncegate-remember")]).toEqual([seen, expect.stringMatching(/^\d+$/)]);
});

test("i5 a claim of a gate under whose settings its route had a ledger begins nothing where it has none", async () => {
  const { operation: other } = await send(newKey());
  const [operation, key] = [beside(other), newKey()];
  const terms = { ...TERMS, route: "held" };
  const claim = { to: "claim", operation, key, kind: "client", principal: null, scope: "host", fingerprint: FINGERPRINT, terms, unreachable: false, body_bytes: 2, wait_ms: 1_000, max_waiters: 10, client_timeout_ms: 5_000 };
  const headers = earlier(claim, { "content-type": "application/json" });
  const answer = await shardOf(operation).fetch("https://shard/orders", { method: "POST", headers, body: "{}" });
  const { code, safe_new_key } = await answer.json();
  expect([answer.status, code, safe_new_key, await effects(key)]).toEqual([503, "gate_unavailable", false, 0]);
});

test("an earlier shard's courier is this one's as well", async () => {
  const { operation } = await send(newKey());
  const key = newKey();
  const dispatch = { errand: "attempt", operation, key, kind: "client", fingerprint: FINGERPRINT, attempt: 1, terms: TERMS, path_and_query: "/orders" };
  const headers = earlier(dispatch, { "content-type": "application/json", "x-kept": "1" });
  headers["oncegate-seal"] = await stamp(headers["oncegate-message"]);
  const carried = await exports.default.fetch(`${GATE}/.oncegate/courier`, { method: "POST", headers, body: JSON.stringify({ shows: true }) });
  const seen = await carried.json();
  expect([seen["idempotency-key"], seen["x-kept"], seen["oncegate-seal"]]).toEqual([key, "1", undefined]);
});

test("an answer that an earlier courier brings is kept with its header fields", async () => {
  const key = newKey();
  const lost = await send(key, { outcome: null, status: 500 });
  expect(lost.says).toBe("unknown");
  const reply = { answered: { status: 201, outcome: "executed", value: null, recorded: null, storable: true, fields: ["content-type", "location"] } };
  const headers = earlier({ to: "complete", operation: lost.operation, attempt: 1, reply }, { "content-type": "text/plain", location: "/orders/1" });
  await shardOf(lost.operation).fetch("https://shard/", { method: "POST", headers, body: "late" });
  expect((await look(key)).state).toBe("executed");
  const again = await send(key, { outcome: null, status: 500 });
  expect([again.status, again.says, again.body, again.headers.get("location")]).toEqual([201, "replayed", "late", "/orders/1"]);
});
