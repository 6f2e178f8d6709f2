// Whose a request is: tenants and principals, from verified tokens and from header fields of trusted infrastructure. Everything here is
// tried by somebody who holds another tenant's or another user's key.

import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { json, startStack } from "../support/stack.mjs";

const ISSUER = "https://id.example";
const AUDIENCE = "shop";
const ROUTES = `[
  { name = "pay", methods = ["POST"], path = "/pay", origin = "none", scope = { claim = "tenant" }, bind = { claim = "sub" } },
  { name = "order", methods = ["POST"], path = "/order", origin = "none", scope = { header = "X-Tenant" }, bind = { header = "X-User" } },
  { name = "invoice", methods = ["POST"], path = "/invoice", origin = "none", key = "generated", key_from = { json = "/no" }, scope = { claim = "/org/id" }, bind = { claim = "sub" } },
]`.replaceAll("\n", " ");

const pairs = {
  RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  EdDSA: generateKeyPairSync("ed25519"),
};
const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" });
const jwks = {
  keys: Object.entries(pairs).map(([alg, { publicKey }]) => ({ ...publicKey.export({ format: "jwk" }), kid: alg, alg, use: "sig" })),
};
let origin;
let stack;
let key;

before(async () => {
  origin = await startOrigin();
  const inline = (value) => (value === null || typeof value !== "object" ? JSON.stringify(value) : toml(value));
  const toml = (value) =>
    Array.isArray(value)
      ? `[${value.map(inline)}]`
      : `{${Object.entries(value).map(([name, of]) => `${name}=${inline(of)}`)}}`;
  const settings = { ROUTES, ADMIN_SECRETS: "anna=0123456789abcdef" };
  stack = await startStack({ ...settings, JWT: toml({ jwks, issuer: ISSUER, audience: AUDIENCE }) }, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => {
  key = randomUUID();
  origin.clear();
});

const part = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** A token as its issuer would make it; `header` and `claims` change what it says. */
function token({ alg = "ES256", by = pairs[alg], header = {}, claims = {} } = {}) {
  const signed = `${part({ alg, kid: alg, typ: "JWT", ...header })}.${part({
    iss: ISSUER,
    aud: AUDIENCE,
    exp: Math.floor(Date.now() / 1000) + 300,
    tenant: "acme",
    sub: "ada",
    ...claims,
  })}`;
  return `${signed}.${signature(alg, by.privateKey, signed)}`;
}

function signature(alg, privateKey, signed) {
  const hash = alg === "EdDSA" ? null : "sha256";
  return sign(hash, Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url");
}

/** Sends a request with a token, or with the header fields given. */
async function ask(path, credential, { method = "POST", body = "{}" } = {}) {
  const headers = typeof credential === "string" ? { authorization: `Bearer ${credential}` } : credential;
  const named = path.startsWith("/invoice") ? {} : { "idempotency-key": key };
  const init = { method, headers: { ...json, ...named, ...headers } };
  const response = await fetch(`${stack.gate}${path}`, method === "GET" ? init : { ...init, body });
  const says = response.headers.get("idempotency-status");
  return { status: response.status, says, operation: response.headers.get("oncegate-operation"), body: await response.json() };
}

/** Checks that the request was refused before anything was recorded, and gives the reason. */
async function refused(credential, path = "/pay") {
  const { status, says, body } = await ask(path, credential);
  assert.deepEqual([status, body.code, says, body.executed], [400, "scope_missing", null, null], body.detail);
  assert.equal(origin.seen.length, 0);
  return body.detail;
}

test("a token of each algorithm is verified, and its request executed", async () => {
  for (const alg of Object.keys(pairs)) {
    key = randomUUID();
    const first = await ask("/pay", token({ alg }));
    assert.deepEqual([first.status, first.says], [201, "executed"], alg);
  }
  assert.equal(origin.seen.length, 3);
});

test("a tampered token is no token", async () => {
  const good = token();
  const [header, payload, mac] = good.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url"));
  const forged = part({ ...claims, tenant: "evil" });
  const flipped = Buffer.from(mac, "base64url");
  flipped[10] ^= 1;
  const publicPem = pairs.RS256.publicKey.export({ type: "spki", format: "pem" });
  const symmetric = `${part({ alg: "HS256", kid: "RS256" })}.${payload}`;
  const tricks = {
    "another payload": `${header}.${forged}.${mac}`,
    "another header": `${part({ alg: "ES256", kid: "ES256", x: 1 })}.${payload}.${mac}`,
    "a flipped bit": `${header}.${payload}.${flipped.toString("base64url")}`,
    "no signature": `${header}.${payload}.`,
    unsecured: `${part({ alg: "none" })}.${payload}.`,
    "unsecured, with a signature": `${part({ alg: "none" })}.${payload}.${mac}`,
    "signed with the public key as a secret": `${symmetric}.${createHmac("sha256", publicPem).update(symmetric).digest("base64url")}`,
    "somebody else's key": token({ by: stranger }),
    "somebody else's key, sent along": token({ by: stranger, header: { jwk: stranger.publicKey.export({ format: "jwk" }) } }),
    "a key of another type": token({ header: { kid: "RS256" } }),
    "an unknown key": token({ header: { kid: "new" } }),
    "critical header fields": token({ header: { crit: ["exp"] } }),
    "cut off": good.slice(0, -4),
    "two tokens": `${good}, ${good}`,
    garbage: "a.b.c",
  };
  for (const [name, trick] of Object.entries(tricks)) {
    await assert.doesNotReject(refused(trick), name);
  }
});

test("a token for somebody else, or of another time, is no token", async () => {
  const now = Math.floor(Date.now() / 1000);
  const cases = [
    [{ iss: "https://evil.example" }, /another issuer/],
    [{ aud: "other" }, /another audience/],
    [{ aud: undefined }, /another audience/],
    [{ exp: now - 61 }, /has expired/],
    [{ exp: undefined }, /exp of the token is missing/],
    [{ nbf: now + 120 }, /not valid yet/],
  ];
  for (const [claims, reason] of cases) {
    assert.match(await refused(token({ claims })), reason);
  }
  const skewed = await ask("/pay", token({ claims: { exp: now - 30, nbf: now + 30 } }));
  assert.equal(skewed.status, 201);
});

test("a claim that occurs twice is no claim", async () => {
  const claims = `{"iss":"${ISSUER}","aud":"${AUDIENCE}","exp":${Math.floor(Date.now() / 1000) + 99},"sub":"a","tenant":"acme","tenant":"evil"}`;
  const signed = `${part({ alg: "ES256", kid: "ES256" })}.${part(claims)}`;
  assert.match(await refused(`${signed}.${signature("ES256", pairs.ES256.privateKey, signed)}`), /occurs twice/);
});

test("a request without a value for scope or bind is refused, and says which is missing", async () => {
  assert.match(await refused({}), /'authorization' has no token/);
  assert.match(await refused({ authorization: `Basic ${token()}` }), /has no token/);
  assert.match(await refused(token({ claims: { tenant: undefined } })), /the claim 'tenant' is missing/);
  assert.match(await refused(token({ claims: { tenant: "" } })), /the claim 'tenant' is missing/);
  assert.match(await refused(token({ claims: { sub: { id: 1 } } })), /the claim 'sub' is missing/);
  assert.match(await refused({ "x-user": "ada" }, "/order"), /'x-tenant' is missing/);
  assert.match(await refused({ "x-tenant": "evil, acme", "x-user": "ada" }, "/order"), /characters that cannot be in it/);
  assert.match(await refused({ "x-tenant": "acme" }, "/order"), /'x-user' is missing/);
});

test("the same session in another tenant is another operation", async () => {
  for (const [path, acme, other] of [
    ["/pay", token(), token({ claims: { tenant: "other" } })],
    ["/order", { "x-tenant": "acme", "x-user": "ada" }, { "x-tenant": "other", "x-user": "ada" }],
    ["/invoice", token({ claims: { org: { id: "acme" } } }), token({ claims: { org: { id: "other" } } })],
  ]) {
    origin.clear();
    key = randomUUID();
    const body = `{"no":"${key}"}`;
    const first = await ask(path, acme, { body });
    const second = await ask(path, other, { body });
    const again = await ask(path, acme, { body });
    assert.deepEqual([first.status, second.status, again.status], [201, 201, 201], path);
    assert.deepEqual([first.says, second.says, again.says], ["executed", "executed", "replayed"], path);
    assert.notEqual(first.operation, second.operation);
    assert.equal(origin.seen.length, 2);
  }
});

test("a tenant is the same in a claim and in a header field", async () => {
  assert.equal((await ask("/pay", token())).says, "executed");
  const other = await ask("/order", { "x-tenant": "acme", "x-user": "ada" });
  assert.deepEqual([other.status, other.body.code], [422, "key_reused"]);
});

test("a guessable key is of no use to another principal: no answer, no look-up, no cancellation", async () => {
  const [ada, eve] = [token(), token({ claims: { sub: "eve" } })];
  const first = await ask("/pay", ada);
  assert.equal(first.says, "executed");
  const attempts = [
    await ask("/pay", eve),
    await ask("/.oncegate/v1/operations?route=pay", eve, { method: "GET" }),
    await ask("/.oncegate/v1/operations/cancel?route=pay", eve),
  ];
  for (const { status, body } of attempts) {
    assert.deepEqual([status, body.code], [403, "principal_mismatch"]);
    assert.deepEqual([body.state, body.executed, body.safe_new_key], [null, null, false]);
    assert.doesNotMatch(JSON.stringify(body), /did/);
  }
  assert.equal((await ask("/pay", ada)).says, "replayed");
  assert.equal(origin.seen.length, 1);
});

test("a look-up and a cancellation find the caller's own operation, with a newer token as well", async () => {
  await ask("/pay", token());
  const later = token({ claims: { exp: Math.floor(Date.now() / 1000) + 900, iat: 1 } });
  const seen = await ask("/.oncegate/v1/operations?route=pay", later, { method: "GET" });
  assert.deepEqual([seen.status, seen.body.state], [200, "executed"]);
  const late = await ask("/.oncegate/v1/operations/cancel?route=pay", later);
  assert.equal(late.body.state, "executed");
  const absent = await ask("/.oncegate/v1/operations?route=pay", {}, { method: "GET" });
  assert.deepEqual([absent.status, absent.body.code], [400, "scope_missing"]);
});

test("an operator finds an operation by its tenant and key", async () => {
  const { operation } = await ask("/pay", token());
  const headers = { authorization: "Bearer 0123456789abcdef" };
  const find = async (query) => (await fetch(`${stack.gate}/.oncegate/v1/admin/operations?${query}`, { headers })).json();
  const found = await find(`scope=acme&key=${key}`);
  assert.deepEqual([found.operation, found.state], [operation, "executed"]);
  assert.equal((await find(`scope=other&key=${key}`)).code, "operation_unknown");
});
