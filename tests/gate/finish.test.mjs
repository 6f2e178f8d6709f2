// Routes that the gate finishes by itself (rules A6, A7): through the whole chain, and no client ever returns.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { startOrigin } from "../support/origin.mjs";
import { order, send, startStack, until } from "../support/stack.mjs";

const ADMIN = "0123456789abcdef";
const SETTINGS = {
  finish: true,
  lease_ms: 1_500,
  wait_ms: 200,
  client_timeout_ms: 1_000,
  ADMIN_SECRETS: `anna=${ADMIN}`,
};
/** Alone on its machine a first try comes after five seconds; a busy one is given more. */
const PATIENCE_MS = 60_000;

let number = 0;

/** A gate with these settings, and what the tests ask of it. */
function chain(settings) {
  const it = {};
  before(async () => {
    it.origin = await startOrigin();
    it.stack = await startStack({ ...SETTINGS, ...settings }, it.origin);
  });
  after(async () => {
    await it.stack?.stop();
    await it.origin?.stop();
  });
  beforeEach(() => {
    it.origin.clear();
    it.key = `key-${number++}`;
  });
  it.admin = async (path) => {
    const headers = { authorization: `Bearer ${ADMIN}` };
    return (await fetch(`${it.stack.gate}/.oncegate/v1/admin/operations${path}`, { headers })).json();
  };
  it.settled = (operation, state) => until(() => it.admin(`/${operation}`), (seen) => seen.state === state, PATIENCE_MS);
  it.listed = (operation, state) =>
    until(
      async () => (await it.admin("?state=trouble")).operations.find((entry) => entry.operation === operation),
      (entry) => entry?.state === state,
      PATIENCE_MS,
    );
  return it;
}

const mute = (request, response) => response.writeHead(500).end();

describe("at a ledger", () => {
  const { x, y } = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  const jwks = `{ keys = [{ kty = "EC", crv = "P-256", x = "${x}", y = "${y}" }] }`;
  const JWT = `{ jwks = ${jwks}, issuer = "https://id.example", audience = "shop", header = "X-Token" }`;
  const it = chain({ max_body_bytes: 4_000_000, JWT });

  test("a6 an unknown operation is sent again as it was, without the client's credentials", async () => {
    it.origin.handle = (request, response) => {
      it.origin.handle = it.origin.done;
      mute(request, response);
    };
    const headers = { authorization: "Bearer of-the-client", cookie: "session=1", "x-token": "a.b.c", "x-shop": "7" };
    const { operation, says } = await send(it.stack, it.key, order(), { headers });
    assert.equal(says, "unknown");
    const seen = await it.settled(operation, "executed");
    assert.deepEqual([seen.attempts, seen.unsettled], [2, 0]);
    const [first, second] = it.origin.seen;
    assert.equal(it.origin.seen.length, 2);
    const carried = ["authorization", "cookie", "x-token", "x-shop"];
    assert.deepEqual(carried.map((name) => first.headers[name]), Object.values(headers));
    assert.deepEqual(carried.map((name) => second.headers[name]), [undefined, undefined, undefined, "7"]);
    assert.deepEqual([second.method, second.url, second.body], [first.method, first.url, first.body]);
    assert.deepEqual([first.headers["oncegate-attempt"], second.headers["oncegate-attempt"]], ["1", "2"]);
    for (const name of ["idempotency-key", "oncegate-operation", "oncegate-fingerprint", "content-type"]) {
      assert.equal(second.headers[name], first.headers[name], name);
    }
    const replayed = await send(it.stack, it.key, order());
    assert.deepEqual([replayed.status, replayed.replayed], [201, true]);
  });

  test("a6 an attempt that does not answer is sent again when its lease is over", async () => {
    it.origin.handle = (request, response) => {
      if (request.headers["oncegate-attempt"] !== "1") it.origin.done(request, response);
    };
    const { operation } = await send(it.stack, it.key);
    const seen = await it.settled(operation, "executed");
    assert.deepEqual([seen.attempts, seen.unsettled], [2, 0]);
  });

  test("a6 a request that is too large to be stored is asked about", async () => {
    it.origin.handle = (request, response) => {
      if (request.url !== "/.oncegate/ledger/probe") return mute(request, response);
      response.writeHead(200, { "idempotency-outcome": "executed" }).end("{}");
    };
    const { operation } = await send(it.stack, it.key, "x".repeat(2_500_000));
    await it.settled(operation, "executed");
    const [first, probe] = it.origin.seen;
    assert.deepEqual([probe.method, probe.headers["idempotency-key"]], ["POST", it.key]);
    assert.equal(probe.headers["oncegate-fingerprint"], first.headers["oncegate-fingerprint"]);
    assert.equal(it.origin.seen.filter((request) => request.url === "/orders").length, 1);
    const again = await send(it.stack, it.key, "x".repeat(2_500_000));
    assert.deepEqual([again.status, again.body.code, again.body.executed], [409, "result_unavailable", true]);
  });

  test("a6 what the gate has not finished when it is killed it finishes afterwards", async () => {
    it.origin.handle = () => {};
    const cut = send(it.stack, it.key);
    await until(() => it.origin.seen.length, (count) => count === 1);
    await Promise.all([assert.rejects(cut), it.stack.tell("kill-gate")]);
    it.origin.handle = it.origin.done;
    await it.stack.tell("start-gate");
    await until(() => it.origin.seen.length, (count) => count === 2, PATIENCE_MS);
    const [first, second] = it.origin.seen;
    assert.deepEqual(second.body, first.body);
    const seen = await it.settled(second.headers["oncegate-operation"], "executed");
    assert.deepEqual([seen.attempts, seen.unsettled], [2, 0]);
  });
});

describe("at an origin that can be asked", () => {
  const ask = `{ path = "/orders/by-key/{key}", executed = [200], not_executed = [404] }`;
  const it = chain({ origin: "read", settle_after_s: 8, ask });

  test("a6 it is asked and not sent the request again, and its answer to the question is nobody's", async () => {
    it.origin.handle = (request, response) =>
      request.method === "GET" ? response.writeHead(200).end("about it") : mute(request, response);
    const { operation } = await send(it.stack, it.key);
    await it.settled(operation, "executed");
    assert.deepEqual(
      it.origin.seen.map((request) => `${request.method} ${request.url}`),
      ["POST /orders", `GET /orders/by-key/${it.key}`],
    );
    assert.equal((await send(it.stack, it.key)).body.code, "result_unavailable");
  });

  test("a6 its no counts only when the longest request is over", async () => {
    const asked = [];
    it.origin.handle = (request, response) => {
      if (request.method !== "GET") return mute(request, response);
      asked.push(Date.now());
      response.writeHead(404).end();
    };
    const sent = Date.now();
    const { operation } = await send(it.stack, it.key);
    const seen = await it.settled(operation, "released");
    assert.ok(seen.settled_ms - seen.dispatched_ms >= 8_000);
    assert.ok(asked.length >= 2 && asked[0] - sent < 8_000, "it was asked before, and not believed");
    it.origin.handle = it.origin.done;
    assert.equal((await send(it.stack, it.key)).says, "executed");
  });
});

describe("at an origin that can only be sent to", () => {
  const it = chain({ origin: "none", finish: false });

  test("a6 what is unknown there is listed, and nothing is sent", async () => {
    it.origin.handle = mute;
    const { operation } = await send(it.stack, it.key);
    await it.listed(operation, "unknown");
    assert.equal(it.origin.seen.length, 1);
    assert.equal((await send(it.stack, it.key)).body.code, "outcome_unknown");
    assert.equal(it.origin.seen.length, 1);
  });
});
