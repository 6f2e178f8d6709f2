// A gate whose settings are wrong protects nothing and passes nothing: it says so to everybody, and says what is wrong to its log only.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { call } from "../support/raw.mjs";
import { startStack, until } from "../support/stack.mjs";

const PAGE = "https://shop.example";
let origin;

before(async () => {
  origin = await startOrigin();
});
after(() => origin?.stop());

/** Starts a gate with these settings and gives what a page hears and what the log says. */
async function startWith(settings) {
  const stack = await startStack({ CORS_ORIGINS: JSON.stringify([PAGE]), ...settings }, origin);
  try {
    const answers = [];
    for (const path of ["/orders", "/free", "/.oncegate/v1/health"]) {
      answers.push(await call(stack.gate, path, { key: "k", headers: { origin: PAGE } }));
    }
    const log = await until(() => readFile(join(stack.folder, "gate.log"), "utf8"), (text) => text.includes('"configuration"'));
    return { answers, log };
  } finally {
    await stack.stop();
  }
}

const route = (more) => `[{ name = "pay", methods = ["POST"], path = "/pay", origin = "none", ${more} }]`;

for (const [what, settings, reason] of [
  ["a setting that nobody knows", { ROUTES: route("lease = 1") }, /ROUTES: route 'pay': unknown field `lease`, expected one of `name`, .*`seal`"/],
  ["times out of order", { wait_ms: 20_001 }, /ROUTES: route 'orders': wait_ms is longer than client_timeout_ms/],
  ["a claim that nobody verifies", { ROUTES: route('bind = { claim = "sub" }') }, /route 'pay': bind is a claim, and nothing verifies tokens: set JWT/],
  ["a key that verifies nothing", { JWT: '{ jwks = { keys = [] }, issuer = "i", audience = "a" }' }, /JWT: jwks has no key for RS256, ES256 or EdDSA/],
  ["an origin behind a binding that is missing", { ORIGINS: '[{ path = "/a", service = "SHOP" }]' }, /ORIGINS: origin '\/a': there is no service binding SHOP/],
  ["a route over two origins", { ORIGINS: '[{ path = "/pay/a", url = "http://a" }]', ROUTES: route("").replace("/pay", "/pay/:id") }, /ORIGINS: route 'pay': path is served by several origins/],
  ["answers to seal and nothing to seal them with", { ROUTES: route("seal = true") }, /SEALING_SECRETS: is not set, and route 'pay' has seal = true/],
  ["a sealing secret that is none", { SEALING_SECRETS: "s1=c2hvcnQ=" }, /SEALING_SECRETS: sealing secret 1: it is the base64 of 32 random bytes/],
  ["a route that takes tokens and nothing to sign them with", { ROUTES: route('token = "required"') }, /TOKEN_SECRETS: is not set, and route 'pay' has token = ."required/],
  ["a token of a key that the request has itself", { ROUTES: route('token = "required", key = "optional"') }, /ROUTES: route 'pay': token goes with key = ."required/],
  ["an alert to nowhere", { ALERTS: '{ webhook = "ops.example" }' }, /ALERTS: webhook: must be an http\(s\) address/],
  ["alerts with a setting that nobody knows", { ALERTS: '{ webhook = "https://ops.example", after = 5 }' }, /ALERTS: unknown field `after`/],
  ["a jurisdiction that is no text", { JURISDICTION: '["eu"]' }, /JURISDICTION: must be text, in quotes/],
  ["people's secrets in a list", { ADMIN_SECRETS: '["anna=c2hvcnQ="]' }, /ADMIN_SECRETS: must be text, in quotes/],
  ["a jurisdiction that the platform does not have", { JURISDICTION: "eu" }, /JURISDICTION: 'eu': /],
]) {
  test(`p5 a gate with ${what} is unavailable, and a page can read that it is`, async () => {
    const { answers, log } = await startWith(settings);
    for (const { status, headers, bytes } of answers) {
      assert.equal(status, 503);
      assert.equal(headers["content-type"], "application/problem+json");
      assert.equal(headers["access-control-allow-origin"], PAGE);
      assert.match(headers["access-control-expose-headers"], /retry-after/);
      assert.doesNotMatch(bytes.toString(), /ROUTES|JWT|ORIGINS|JURISDICTION|SEALING|c2hvcnQ|ALERTS/);
    }
    assert.match(log, reason);
    assert.doesNotMatch(log, /configuration.*c2hvcnQ/, "a secret is in no log");
    assert.equal(origin.seen.length, 0);
  });
}
