// One-time tokens, end to end: the gate issues them, and takes nothing else where a route says so. What takes minutes or days is told
// by tokens that were issued then: they are made here, from their description.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { json, startStack } from "../support/stack.mjs";
import { makeToken } from "../support/token.mjs";

const SECRET = "s1=0123456789abcdef";
const PAGE = "https://shop.example";
const DAY_MS = 86_400_000;
const ROUTES = `[
  { name = "pay", methods = ["POST"], path = "/pay", origin = "none", token = "required" },
  { name = "form", methods = ["POST"], path = "/form", origin = "none", token = "required", token_ttl_s = 600, key_headers = ["X-Form-Token"],
    scope = { header = "X-Tenant" }, bind = { header = "X-User" } },
  { name = "plain", methods = ["POST"], path = "/plain", origin = "none" },
]`.replaceAll("\n", " ");

let origin;
let stack;

before(async () => {
  origin = await startOrigin();
  const settings = { ROUTES, TOKEN_SECRETS: SECRET, CORS_ORIGINS: JSON.stringify([PAGE]) };
  stack = await startStack(settings, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => origin.clear());

const call = async (path, init) => {
  const response = await fetch(`${stack.gate}${path}`, init);
  const text = await response.text();
  return { status: response.status, says: response.headers.get("idempotency-status"), headers: response.headers, body: text && JSON.parse(text) };
};
const own = (path, init) => call(`/.oncegate/v1/${path}`, init);
const issue = async (route = "pay", headers = {}) => {
  const issued = await own(`tokens?route=${route}`, { method: "POST", headers });
  assert.equal(issued.status, 200, JSON.stringify(issued.body));
  return issued.body.token;
};
const send = (token, { path = "/pay", body = "{}", headers = {} } = {}) =>
  call(path, { method: "POST", body, headers: { ...json, ...(token && { "idempotency-key": token }), ...headers } });
const look = (token, route = "pay") => own(`operations?route=${route}`, { headers: { "idempotency-key": token } });
const cancel = (token, route = "pay") => own(`operations/cancel?route=${route}`, { method: "POST", headers: { "idempotency-key": token } });
const made = (more) => makeToken({ secret: SECRET, scope: new URL(stack.gate).host, route: "pay", ...more });

test("k2 a token is issued with what a client needs to know, and works once", async () => {
  const began = Date.now();
  const { status, body, headers } = await own("tokens?route=pay", { method: "POST" });
  assert.equal(status, 200);
  assert.equal(headers.get("cache-control"), "no-store");
  assert.deepEqual([body.route, body.expires_in_ms], ["pay", 300_000]);
  assert.ok(Math.abs(body.expires_at - began - 300_000) < 60_000);
  assert.match(body.token, /^t1\.s1\.[\w-]+\.[\w-]+$/);
  const first = await send(body.token);
  assert.deepEqual([first.status, first.says], [201, "executed"]);
  const again = await send(body.token);
  assert.deepEqual([again.status, again.says, again.body], [201, "replayed", first.body]);
  assert.deepEqual((await look(body.token)).body.state, "executed");
  assert.equal(origin.seen.length, 1);
  assert.deepEqual([origin.seen[0].headers["oncegate-key-kind"], origin.seen[0].headers["idempotency-key"]], ["token", body.token]);
});

test("k2 a hundred requests with one token are one execution", async () => {
  const token = await issue();
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(token)));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
  assert.equal(answers.filter(({ says }) => says === "executed").length, 1);
  assert.equal(origin.seen.length, 1);
});

test("k2 one-time token: an order that failed is tried again with the same token, also after it has expired", async () => {
  const token = await made({ agoMs: 299_000 });
  origin.handle = (request, response) => response.writeHead(429).end();
  const failed = await send(token);
  assert.deepEqual([failed.status, failed.says], [429, "not_executed"]);
  origin.clear();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const again = await send(token);
  assert.deepEqual([again.status, again.says, origin.seen.length], [201, "executed", 1]);
});

test("k2 another payload with the same token is refused, and another token is another operation", async () => {
  const token = await issue();
  await send(token, { body: '{"a":1}' });
  const other = await send(token, { body: '{"a":2}' });
  assert.deepEqual([other.status, other.body.code], [422, "key_reused"]);
  assert.deepEqual((await send(await issue(), { body: '{"a":1}' })).status, 201);
  assert.equal(origin.seen.length, 2);
});

test("k2 nothing but a token of this gate's, for this route, is a key of such a route", async () => {
  const token = await issue();
  const changed = token.slice(0, 40) + (token[40] === "A" ? "B" : "A") + token.slice(41);
  const forms = await issue("form", { "x-tenant": "acme", "x-user": "ada" });
  const elsewhere = await made({ scope: "other.example" });
  const unknown = await made({ secret: "s9=0123456789abcdef" });
  const forged = await made({ secret: "s1=fedcba9876543210" });
  for (const key of [randomUUID(), changed, token.slice(0, -1), forms, elsewhere, unknown, forged]) {
    for (const answer of [await send(key), await look(key), await cancel(key)]) {
      assert.deepEqual([answer.status, answer.body.code, answer.body.executed, answer.body.safe_new_key], [403, "token_invalid", null, false], key);
    }
  }
  const none = await send(undefined);
  assert.deepEqual([none.status, none.body.code], [400, "key_missing"]);
  assert.equal(origin.seen.length, 0);
});

test("k2 a token tried at 4:59 works at 5:01", async () => {
  const token = await made({ agoMs: 299_000 });
  origin.handle = (request, response) => response.writeHead(503).end();
  assert.equal((await send(token)).status, 503);
  origin.clear();
  // Two seconds later it has expired; what decides is that there is a record.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const later = await send(token);
  assert.deepEqual([later.status, later.body.code], [409, "outcome_unknown"]);
  const executed = await made({ agoMs: 299_000 });
  await send(executed);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  assert.deepEqual((await send(executed)).says, "replayed");
});

test("k2 an expired token that was never used is closed for good, and says that a new one is safe", async () => {
  const token = await made({ agoMs: 301_000 });
  assert.equal((await look(token)).body.state, "absent");
  for (let time = 0; time < 2; time++) {
    const { status, says, body } = await send(token);
    assert.equal(status, 410);
    assert.deepEqual([says, body.executed, body.safe_new_key], ["cancelled", false, true]);
    assert.equal(body.code, "token_expired");
  }
  assert.deepEqual((await look(token)).body.state, "cancelled");
  assert.equal(origin.seen.length, 0);
});

test("k2 an expired token is answered as such again when the answer was lost, and not once somebody has cancelled it", async () => {
  const token = await made({ agoMs: 301_000 });
  for (const _ of [1, 2, 3]) assert.equal((await send(token)).body.code, "token_expired");
  assert.deepEqual((await cancel(token)).body.state, "cancelled");
  const late = await send(token);
  assert.deepEqual([late.status, late.body.code, late.says], [410, "operation_cancelled", "cancelled"]);
  assert.equal(origin.seen.length, 0);
});

test("k2 what became of a token that may be forgotten is not guessed", async () => {
  const token = await made({ agoMs: 7 * DAY_MS + 1_000 });
  for (const { status, body } of [await send(token), await cancel(token)]) {
    assert.deepEqual([status, body.code, body.executed, body.safe_new_key, body.retryable], [410, "token_expired", null, false, false]);
  }
  assert.equal((await look(token)).body.state, "absent");
  assert.equal(origin.seen.length, 0);
});

test("k2 a token can be cancelled, expired or not, and is dead from then on", async () => {
  // Where nobody can be asked, a key that was never seen is closed by its record.
  for (const token of [await issue(), await made({ agoMs: 301_000 })]) {
    const cancelled = await cancel(token);
    assert.deepEqual([cancelled.status, cancelled.body.state, cancelled.body.safe_new_key], [200, "cancelled", true]);
    assert.deepEqual((await send(token)).body.code, "operation_cancelled");
  }
  assert.equal(origin.seen.length, 0);
});

test("k2 a token belongs to who was signed in when it was issued, and to its tenant", async () => {
  const ada = { "x-tenant": "acme", "x-user": "ada" };
  const asForm = (token, headers) => send(undefined, { path: "/form", headers: { "x-form-token": token, ...headers } });
  const token = await issue("form", ada);
  for (const others of [{ ...ada, "x-user": "eve" }, { ...ada, "x-tenant": "other" }]) {
    const { status, body } = await asForm(token, others);
    assert.deepEqual([status, body.code], [403, "token_invalid"]);
  }
  assert.equal((await asForm(token, ada)).status, 201);
  assert.equal((await asForm(token, { ...ada, "x-user": "eve" })).status, 403);
  // Issued to nobody: it is whose it is used by first.
  const nobodys = await issue("form", { "x-tenant": "acme" });
  assert.equal((await asForm(nobodys, ada)).status, 201);
  assert.equal((await asForm(nobodys, { ...ada, "x-user": "eve" })).body.code, "principal_mismatch");
  const tenantless = await own("tokens?route=form", { method: "POST" });
  assert.deepEqual([tenantless.status, tenantless.body.code], [400, "scope_missing"]);
});

test("k2 who asks for a token names the route or its path, if several take them", async () => {
  const ask = async (query, method = "POST") => {
    const { status, body } = await own(`tokens${query}`, { method });
    return [status, body.code];
  };
  assert.deepEqual(await ask(""), [400, "route_unknown"]);
  assert.deepEqual(await ask("?route=nothing"), [400, "route_unknown"]);
  assert.deepEqual(await ask("?route=plain"), [400, "request_invalid"]);
  assert.deepEqual(await ask("?path=/plain"), [400, "request_invalid"]);
  assert.deepEqual(await ask("?path=/elsewhere"), [400, "route_unknown"]);
  assert.equal((await own("tokens?path=/pay", { method: "POST" })).body.route, "pay");
  assert.deepEqual(await ask("?route=pay", "GET"), [404, "endpoint_unknown"]);
});

test("p5 a configured page may ask for tokens, and read them", async () => {
  const headers = { origin: PAGE, "access-control-request-method": "POST", "access-control-request-headers": "authorization" };
  const preflight = await fetch(`${stack.gate}/.oncegate/v1/tokens?route=pay`, { method: "OPTIONS", headers });
  assert.deepEqual([preflight.status, preflight.headers.get("access-control-allow-origin")], [204, PAGE]);
  const issued = await own("tokens?route=pay", { method: "POST", headers: { origin: PAGE } });
  assert.deepEqual([issued.status, issued.headers.get("access-control-allow-origin")], [200, PAGE]);
  const foreign = await own("tokens?route=pay", { method: "POST", headers: { origin: "https://evil.example" } });
  assert.equal(foreign.headers.get("access-control-allow-origin"), null);
});

test("k2 a retired secret verifies, and signs no more", async () => {
  const token = await issue();
  await stack.tell("kill-gate");
  const settings = join(stack.folder, "wrangler.toml");
  await writeFile(settings, (await readFile(settings, "utf8")).replace(SECRET, `s2=fedcba9876543210,${SECRET}`));
  await stack.tell("start-gate");
  assert.equal((await send(token)).status, 201);
  assert.match(await issue(), /^t1\.s2\./);
});
