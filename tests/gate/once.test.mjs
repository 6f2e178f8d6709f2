// The gate alone, on real workerd and a real database: one key, one order.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import http from "node:http";
import net from "node:net";
import { after, before, beforeEach, test } from "node:test";

import { declined, json, lookUp, order, pause, send, startStack, until } from "../support/stack.mjs";

const LEASE_MS = 2_000;
let stack;
let key;

before(async () => {
  stack = await startStack({ lease_ms: LEASE_MS, wait_ms: 1_000, client_timeout_ms: 1_500 });
});
after(() => stack?.stop());
beforeEach(() => {
  key = randomUUID();
  return stack.clear();
});

const look = (key) => lookUp(stack, key);

const settled = (key) => until(() => look(key), (seen) => seen.unsettled === 0 && seen.attempts > 0);

/** `count` orders over `connections` kept connections. Who is told to ask again asks again, as the SDK does; `early` counts who asked while theirs was in progress. */
async function flood(connections, count, keyOf, sku) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const one = (index) =>
    new Promise((resolve, reject) => {
      const headers = { ...json, "idempotency-key": keyOf(index) };
      const request = http.request(`${stack.gate}/orders`, { method: "POST", agent, headers }, (response) => {
        let body = "";
        response.on("data", (chunk) => (body += chunk));
        response.on("end", () => resolve({ status: response.statusCode, body, headers: response.headers }));
      });
      request.on("error", reject);
      request.end(order({ cart: [{ sku, quantity: 1 }] }));
    });
  let early = 0;
  const isLast = ({ status, body, headers }) => {
    if (headers["idempotency-status"] === "in_progress") early += 1;
    return status === 201 || !JSON.parse(body).retryable;
  };
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => until(() => one(index), isLast, 120_000)));
  agent.destroy();
  return { answers, early };
}

test("100 connections with 10 requests each and one key give one order, and all of them its answer", async () => {
  const { answers } = await flood(100, 1_000, () => "one-key", "mug");
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([201]));
  assert.equal(new Set(answers.map((answer) => answer.body)).size, 1);
  const first = answers.filter((answer) => answer.headers["idempotency-status"] === "executed");
  assert.equal(first.length, 1, "one request executed");
});

test("a thousand who ask at once under one key, more than may wait, all have its answer in the end, and so has who asks beside them", async () => {
  await stack.faults({ delay_before: 1_000 });
  const crowd = flood(1_000, 1_000, () => key, "mug");
  await until(() => look(key), (seen) => seen.attempts > 0);
  const other = randomUUID();
  await until(() => send(stack, other), ({ status }) => status === 201);
  const { answers, early } = await crowd;
  assert.ok(early > 0, "some were told to ask again");
  assert.deepEqual(stack.rows(), { orders: 2, payments: 2 });
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([201]));
  assert.equal(new Set(answers.map((answer) => answer.body)).size, 1);
});

test("a replay has the same status and body bytes, and says so", async () => {
  const first = await send(stack, key);
  const again = await send(stack, `"${key}"`);
  assert.equal(first.status, 201);
  assert.deepEqual([first.says, first.replayed], ["executed", false]);
  assert.equal(again.status, 201);
  assert.deepEqual([again.says, again.replayed], ["replayed", true]);
  assert.deepEqual(again.bytes, first.bytes);
  assert.equal(again.headers.get("location"), first.headers.get("location"));
  assert.equal(again.headers.get("content-type"), first.headers.get("content-type"));
  assert.equal(again.operation, first.operation);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("i4 duplicates in flight wait for the answer", async () => {
  await stack.faults({ delay_before: 700 });
  const answers = await Promise.all([send(stack, key), send(stack, key), send(stack, key)]);
  assert.deepEqual(answers.map((answer) => answer.status), [201, 201, 201]);
  assert.equal(answers.filter((answer) => answer.replayed).length, 2);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("i4 a duplicate that has waited long enough hears in_progress and when to ask again", async () => {
  await stack.faults({ delay_before: 1_300 });
  const first = send(stack, key);
  await pause(50);
  const waited = await send(stack, key);
  assert.equal(waited.status, 409);
  assert.equal(waited.body.code, "in_progress");
  assert.equal(waited.says, "in_progress");
  assert.equal(waited.body.executed, null);
  assert.equal(waited.body.safe_new_key, false);
  assert.ok(waited.body.retry_after_ms > 0 && Number(waited.headers.get("retry-after")) >= 1);
  assert.equal((await first).status, 201);
});

test("a lost answer is unknown, and the same key then gets the first result", async () => {
  await stack.faults("drop_after_commit");
  const lost = await send(stack, key);
  assert.equal(lost.status, 502);
  assert.deepEqual([lost.body.code, lost.says, lost.body.executed], ["outcome_unknown", "unknown", null]);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
  const found = await send(stack, key);
  assert.deepEqual([found.status, found.says], [201, "executed"]);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("a1 a bare 503 after the commit proves nothing", async () => {
  await stack.faults("unavailable_after_commit", "unavailable_after_commit");
  for (let round = 0; round < 2; round += 1) {
    const answer = await send(stack, key);
    assert.deepEqual([answer.status, answer.says], [503, "unknown"]);
    assert.equal(answer.headers.get("retry-after"), "1");
  }
  assert.deepEqual([(await send(stack, key)).says, stack.rows().orders], ["executed", 1]);
});

test("a1 a 503 that says not_executed frees the operation", async () => {
  await stack.faults("unavailable", "unavailable");
  for (let round = 0; round < 2; round += 1) {
    const answer = await send(stack, key);
    assert.deepEqual([answer.status, answer.says], [503, "not_executed"]);
    assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
  }
  assert.deepEqual([(await send(stack, key)).says, stack.rows().orders], ["executed", 1]);
});

test("i7 not_executed of a later attempt does not free an operation with a lost one", async () => {
  await stack.faults("drop_before", "unavailable");
  assert.equal((await send(stack, key)).says, "unknown");
  assert.equal((await send(stack, key)).says, "unknown");
  assert.equal((await look(key)).unsettled, 1);
  assert.equal((await send(stack, key)).says, "executed");
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("a refusal is replayed with its bytes, and says that a new key is safe", async () => {
  const first = await send(stack, key, order(declined));
  const again = await send(stack, key, order(declined));
  assert.deepEqual([first.status, first.says], [402, "refused"]);
  assert.deepEqual([again.status, again.says, again.replayed], [402, "refused", true]);
  assert.deepEqual(again.bytes, first.bytes);
  const seen = await look(key);
  assert.deepEqual([seen.state, seen.executed, seen.safe_new_key], ["refused", false, true]);
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
});

test("i3 the first attempt sleeps past its lease, the second is refused, the first wakes up late", async () => {
  await stack.faults({ delay_before: LEASE_MS + 2_500 }, "refuse");
  const slow = await send(stack, "first-try");
  assert.equal(slow.body.code, "in_progress");
  await until(() => look("first-try"), (seen) => seen.state === "unknown");
  const refused = await send(stack, "first-try");
  assert.deepEqual([refused.status, refused.says], [402, "refused"]);
  const paid = await send(stack, "second-try");
  assert.deepEqual([paid.status, paid.says], [201, "executed"]);
  await pause(LEASE_MS + 2_500);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
  const seen = await look("first-try");
  assert.deepEqual([seen.state, seen.executed, seen.attempts, seen.unsettled], ["refused", false, 2, 0]);
});

test("a4 a timeout answers the client and the late answer still completes the operation", async () => {
  await stack.faults({ delay_before: 1_800 });
  assert.equal((await send(stack, key)).body.code, "in_progress");
  await settled(key);
  const late = await send(stack, key);
  assert.deepEqual([late.status, late.says], [201, "replayed"]);
  assert.equal((await look(key)).attempts, 1);
});

test("a client that leaves changes nothing", async () => {
  await stack.faults({ delay_before: 500 });
  const leaves = new AbortController();
  const gone = send(stack, key, order(), { signal: leaves.signal });
  await until(() => look(key), (seen) => seen.attempts === 1);
  leaves.abort();
  await assert.rejects(gone);
  await settled(key);
  const again = await send(stack, key);
  assert.deepEqual([again.status, again.says], [201, "replayed"]);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("another request under the same key is turned away, in flight and afterwards", async () => {
  await stack.faults({ delay_before: 400 });
  const first = send(stack, key);
  await until(() => look(key), (seen) => seen.attempts === 1);
  const other = order({ cart: [{ sku: "mug", quantity: 2 }] });
  const during = await send(stack, key, other);
  assert.deepEqual([during.status, during.body.code, during.body.state], [422, "key_reused", "dispatched"]);
  assert.match(during.body.detail, /do not use another key/);
  await first;
  const afterwards = await send(stack, key, other);
  assert.deepEqual([afterwards.status, afterwards.body.code], [422, "key_reused"]);
  assert.deepEqual([afterwards.body.state, afterwards.body.executed], ["executed", true]);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("k1 a key that is missing or malformed is a problem that says what to do", async () => {
  const missing = await send(stack, undefined);
  assert.deepEqual([missing.status, missing.body.code], [400, "key_missing"]);
  const invalid = await send(stack, "a, b");
  assert.deepEqual([invalid.status, invalid.body.code], [400, "key_invalid"]);
  assert.match(invalid.body.detail, /one request carries one key \(character 2\)/);
  for (const answer of [missing, invalid]) {
    assert.equal(answer.headers.get("content-type"), "application/problem+json");
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.deepEqual([answer.body.executed, answer.says], [null, null]);
  }
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
});

test("k5 other spellings of the path, and method overrides, are refused", async () => {
  const post = (path, headers = {}) =>
    new Promise((resolve, reject) => {
      const options = { method: "POST", path, headers: { ...json, "idempotency-key": key, ...headers } };
      http.request(stack.gate, options, (response) => resolve(response.resume().statusCode)).on("error", reject).end(order());
    });
  for (const path of ["/orders/", "//orders", "/%6Frders", "/orders;x=1", "/orders%2f"]) {
    assert.equal(await post(path), 400, path);
  }
  assert.equal(await post("/Orders"), 400, "some origins do not tell capitals from small letters");
  assert.equal(await post("/orders", { "x-http-method-override": "PUT" }), 400);
  assert.equal(await post("/orders", { x_http_method_override: "DELETE" }), 400);
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
});

test("k5 a path with dot segments is the protected one or none", async () => {
  const { hostname, port } = new URL(stack.gate);
  for (const path of ["/x/../orders", "/x/%2e%2e/orders", "/x/..%2forders"]) {
    const options = { hostname, port, method: "POST", path, headers: { ...json, "idempotency-key": key } };
    const response = await new Promise((resolve, reject) =>
      http.request(options, resolve).on("error", reject).end(order()),
    );
    const body = JSON.parse(Buffer.concat(await response.toArray()).toString());
    // A proxy in front of the gate may have removed the segments before the gate saw them.
    const known = body.code === "path_not_canonical" || response.headers["oncegate-operation"] !== undefined;
    assert.ok(known, `${path}: ${response.statusCode}`);
  }
  assert.ok(stack.rows().orders <= 1);
});

test("k6 the origin is sent what was signed, however the query is spelled", async () => {
  const { hostname, port } = new URL(stack.gate);
  const options = { hostname, port, method: "POST", path: "/orders?ref='x'|%zz", headers: { ...json, "idempotency-key": key } };
  const response = await new Promise((resolve, reject) =>
    http.request(options, (response) => resolve(response.resume())).on("error", reject).end(order()),
  );
  assert.equal(response.statusCode, 201);
  assert.equal(response.headers["idempotency-status"], "executed");
});

test("k6 what a client says in the gate's name is not heard", async () => {
  const forged = {
    "oncegate-attempt": "7",
    "oncegate-operation": "op_forged",
    "oncegate-key-kind": "generated",
    "oncegate-fingerprint": "0".repeat(64),
    "oncegate-signature": `t=${Date.now()}, kid=dev, v1=${"0".repeat(64)}`,
    "oncegate-message": JSON.stringify({ operation: "op_x", key, attempt: 1 }),
    "oncegate-seal": "0".repeat(64),
    "oncegate-fields": "[]",
  };
  const answer = await send(stack, key, order(), { headers: forged });
  assert.deepEqual([answer.status, answer.says], [201, "executed"]);
  assert.equal(answer.body.order.request_id, key);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("l1 the origin takes orders from the gate only", async () => {
  const direct = await fetch(`${stack.origin}/orders`, {
    method: "POST",
    headers: { ...json, "idempotency-key": key },
    body: order(),
  });
  assert.equal(direct.status, 401);
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
});

test("a body that was not sent whole is never executed", async () => {
  const { hostname, port } = new URL(stack.gate);
  const head = (framing) =>
    `POST /orders HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nIdempotency-Key: cut\r\n${framing}\r\n\r\n`;
  const body = order();
  const cutUploads = [
    `${head(`Content-Length: ${body.length + 10}`)}${body}`,
    `${head("Transfer-Encoding: chunked")}${body.length.toString(16)}\r\n${body}\r\n`,
  ];
  for (const upload of cutUploads) {
    await new Promise((resolve, reject) => {
      const socket = net.connect(Number(port), hostname, () => socket.write(upload, () => setTimeout(() => socket.destroy(), 200)));
      socket.on("close", resolve);
      socket.on("error", reject);
    });
  }
  await pause(500);
  assert.equal((await send(stack, key)).says, "executed", "what comes after a cut upload is taken");
  assert.equal((await look("cut")).state, "absent");
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("a body over the limit is refused, announced or not", async () => {
  const large = "x".repeat(64 * 1024 + 1);
  assert.equal((await send(stack, key, large)).status, 413);
  const streamed = await fetch(`${stack.gate}/orders`, {
    method: "POST",
    headers: { ...json, "idempotency-key": key },
    body: new Blob([large]).stream(),
    duplex: "half",
  });
  assert.equal(streamed.status, 413);
  assert.equal((await look(key)).state, "absent");
});

test("more header fields than an origin reads are refused before anything is recorded", async () => {
  const many = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`x-field-${index}`, "v"]));
  for (const headers of [many, { "x-large": "v".repeat(13 * 1024) }]) {
    const refused = await send(stack, key, order(), { headers });
    assert.deepEqual([refused.status, refused.body.code], [431, "headers_too_large"]);
  }
  assert.equal((await look(key)).state, "absent");
  assert.equal((await send(stack, key)).says, "executed");
});

test("a GET with a body is a problem and not a crash", async () => {
  const options = { method: "GET", headers: { "content-length": "2" } };
  const status = await new Promise((resolve, reject) =>
    http.request(`${stack.gate}/catalog`, options, (response) => resolve(response.resume().statusCode)).on("error", reject).end("{}"),
  );
  assert.equal(status, 501);
});

test("what is not protected passes to the origin as it is", async () => {
  const through = await fetch(`${stack.gate}/catalog?x=%20y`);
  const direct = await fetch(`${stack.origin}/catalog?x=%20y`);
  assert.equal(through.status, 200);
  assert.deepEqual(await through.json(), await direct.json());
  assert.equal((await fetch(`${stack.gate}/no-such-page`)).status, 404);
});

test("the page is served by the gate", async () => {
  const page = await fetch(`${stack.gate}/`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-type"), /text\/html/);
});

test("an unknown key is absent, and no new key is safe because of that", async () => {
  const seen = await look("never-seen");
  assert.deepEqual([seen.state, seen.executed, seen.safe_new_key], ["absent", null, false]);
});

test("the origin stops and starts again", async () => {
  await stack.tell("stop-origin");
  const down = await send(stack, key);
  assert.deepEqual([down.status, down.says], [502, "unknown"]);
  await stack.tell("start-origin");
  const up = await send(stack, key);
  assert.deepEqual([up.status, up.says], [201, "executed"]);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("i2 the gate is killed in mid-flight and starts again on the same state", async () => {
  await stack.faults({ delay_before: 800 });
  const cut = send(stack, key);
  await until(() => look(key), (seen) => seen.attempts === 1);
  await Promise.all([assert.rejects(cut), stack.tell("kill-gate")]);
  await stack.tell("start-gate");
  const found = await until(
    () => send(stack, key),
    (answer) => answer.status === 201,
  );
  assert.equal(found.body.order.request_id, key);
  await pause(1_000);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
  assert.equal((await send(stack, key)).replayed, true);
});

test("1,000 different keys give 1,000 orders", async () => {
  const { answers } = await flood(100, 1_000, (index) => `key-${index}`, "beans");
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([201]));
  assert.equal(new Set(answers.map((answer) => answer.body)).size, 1_000);
  assert.deepEqual(stack.rows(), { orders: 1_000, payments: 1_000 });
});
