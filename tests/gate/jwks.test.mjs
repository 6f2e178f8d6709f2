// Keys that an issuer publishes: fetched once, again for a new one, and believed only as far as they can be had.

import assert from "node:assert/strict";
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { after, before, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { call } from "../support/raw.mjs";
import { startStack, until } from "../support/stack.mjs";

const ROUTES = `[{ name = "pay", methods = ["POST"], path = "/pay", origin = "none", bind = { claim = "sub" } }]`;
const issuer = "https://id.example";
const [first, second] = ["first", "second"].map((kid) => ({ kid, ...generateKeyPairSync("ed25519") }));
let [origin, publisher, stack] = [];

before(async () => {
  [origin, publisher] = [await startOrigin(), await startOrigin()];
  const jwt = `{ jwks_url = "${publisher.url}/keys", issuer = "${issuer}", audience = "shop", header = "X-Identity" }`;
  stack = await startStack({ ROUTES, JWT: jwt }, origin);
});
after(async () => {
  await stack?.stop();
  await Promise.all([origin?.stop(), publisher?.stop()]);
});

function publish(...keys) {
  publisher.seen.length = 0;
  publisher.handle = (_, response) => {
    const published = keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: "jwk" }), kid }));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: published }));
  };
}

function pay({ kid, privateKey }) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: issuer, aud: "shop", sub: "ada", exp: Math.floor(Date.now() / 1000) + 60 };
  const signed = `${part({ alg: "EdDSA", kid })}.${part(claims)}`;
  const token = `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`;
  return call(stack.gate, "/pay", { key: randomUUID(), headers: { "x-identity": token } });
}

// One story: what the gate knows of the issuer it keeps, and every step begins with it.
test("keys are fetched when they are needed, and nobody is believed without them", async () => {
  // Whoever can redirect could have the keys from anywhere.
  publish(first);
  const published = publisher.handle;
  publisher.handle = (request, response) => {
    if (request.url !== "/keys") return published(request, response);
    response.writeHead(302, { location: "/elsewhere" }).end();
  };
  const without = await pay(first);
  assert.deepEqual([without.status, without.json().code, without.json().retryable], [503, "gate_unavailable", true]);
  assert.equal(origin.seen.length, 0);
  assert.deepEqual(publisher.seen.map(({ url }) => url), ["/keys"]);

  publisher.handle = (_, response) => response.writeHead(500).end();
  const failing = await until(() => pay(first), () => publisher.seen.length === 2);
  assert.equal(failing.status, 503);

  // No key that could be used is no word about those that there are.
  publish();
  const empty = await until(() => pay(first), () => publisher.seen.length === 1);
  assert.equal(empty.status, 503);

  publish(first);
  let answer = without;
  for (let round = 0; round < 100 && answer.status === 503; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    answer = await pay(first);
  }
  assert.equal(answer.status, 201);
  assert.equal((await pay(first)).status, 201);
  assert.deepEqual(publisher.seen.map(({ url }) => url), ["/keys"]);

  // Asked a moment ago: an unknown key does not make the issuer be asked again.
  publish(first, second);
  const early = await Promise.all([pay(second), pay(second), pay(second)]);
  assert.deepEqual(early.map(({ status }) => status), [400, 400, 400]);
  assert.match(early[0].json().detail, /a key that its issuer does not have/);
  assert.equal(publisher.seen.length, 0);

  // What was fetched is enough while the issuer is away.
  await publisher.stop();
  assert.equal((await pay(first)).status, 201);
});
