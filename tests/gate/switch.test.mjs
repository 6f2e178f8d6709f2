// The switch, and what it switches to: turning requests away, and observing them.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { json, order, send, startStack, until } from "../support/stack.mjs";

const ADMIN = "0123456789abcdef";
const METRICS = "fedcba9876543210";
let origin;
let stack;
let key;

before(async () => {
  origin = await startOrigin();
  const settings = { ADMIN_SECRETS: `anna=${ADMIN}`, METRICS_SECRETS: `prometheus=${METRICS}`, origin: "none", max_body_bytes: 2_000 };
  stack = await startStack({ ...settings, CORS_ORIGINS: '["https://shop.example"]' }, origin);
});
after(() => Promise.all([stack?.stop(), origin?.stop()]));
beforeEach(async () => {
  key = randomUUID();
  origin.clear();
  await set("enforce");
});

const admin = (path, init = {}, secret = ADMIN) =>
  fetch(`${stack.gate}/.oncegate/v1/admin/${path}`, { ...init, headers: { ...json, authorization: `Bearer ${secret}` } });

const put = (body, secret) => admin("switch", { method: "PUT", body: JSON.stringify(body) }, secret);

async function set(mode, route) {
  const answer = await put({ mode, route, actor: "anna", reason: "a test" });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

async function events(after = 0) {
  const headers = { authorization: `Bearer ${METRICS}` };
  return (await fetch(`${stack.gate}/.oncegate/v1/events?after=${after}`, { headers })).json();
}

/** Waits for `count` more events: what is observed is decided behind the answer. */
const decisions = async (last, count) => (await until(() => events(last), ({ events }) => events.length >= count)).events;

/** Sends bytes exactly so, and reads exactly what comes. */
function raw(path, { headers = {}, chunks }) {
  return new Promise((resolve, reject) => {
    const request = http.request(`${stack.gate}${path}`, { method: "POST", headers, agent: false }, (response) => {
      const read = [];
      response.on("data", (chunk) => read.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.rawHeaders, body: Buffer.concat(read) }));
    });
    request.on("error", reject);
    for (const chunk of chunks) request.write(chunk);
    request.end();
  });
}

test("refuse turns requests away before anything is read, and says nothing about an earlier one", async () => {
  assert.equal((await send(stack, key)).status, 201);
  await set("refuse");
  const answer = await send(stack, key);
  assert.deepEqual([answer.status, answer.body.code, answer.body.executed], [503, "gate_unavailable", null]);
  assert.ok(Number(answer.headers.get("retry-after")) >= 30);
  const look = await fetch(`${stack.gate}/.oncegate/v1/operations`, { headers: { "idempotency-key": key } });
  assert.equal((await look.json()).state, "executed");
  assert.equal((await fetch(`${stack.gate}/elsewhere`)).status, 201);
  await set("enforce");
  assert.deepEqual([(await send(stack, key)).replayed, origin.seen.length], [true, 2]);
});

test("a route does what was last said about it, before what was said about all", async () => {
  await set("refuse", "orders");
  assert.equal((await send(stack, key)).status, 503);
  const { all, routes } = await set("enforce", "orders");
  assert.deepEqual([all.mode, routes.orders.mode, routes.orders.actor, routes.orders.reason], ["enforce", "enforce", "anna", "a test"]);
  await set("refuse");
  assert.equal((await send(stack, key)).status, 201);
  const asked = await (await admin("switch")).json();
  assert.deepEqual([asked.all.mode, asked.routes.orders.mode], ["refuse", "enforce"]);
});

test("an isolate that has just begun asks before it lets a request through", async () => {
  await set("refuse", "orders");
  await stack.tell("kill-gate");
  await stack.tell("start-gate");
  assert.equal((await send(stack, key)).status, 503);
  assert.equal(origin.seen.length, 0);
  await set("enforce", "orders");
});

test("what is observed reaches the origin as on a path that is not protected, and its answer the client", async () => {
  await set("observe");
  await set("observe", "orders");
  const { last } = await events();
  origin.handle = (request, response) => {
    response.writeHead(202, { "set-cookie": "a=1", "x-other": "kept", "idempotency-outcome": "executed" });
    response.end(Buffer.from([0, 255, 10]));
  };
  const body = Buffer.from(order());
  // Without it, each request would begin a trace of its own.
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const headers = { ...json, "idempotency-key": key, cookie: "c=1", "if-match": '"1"', "accept-encoding": "gzip", traceparent };
  const ways = [
    { headers: { ...headers, "content-length": body.length }, chunks: [body] },
    { headers, chunks: [body.subarray(0, 10), body.subarray(10)] },
    { headers: { ...headers, "content-length": 0 }, chunks: [] },
    { headers, chunks: [Buffer.alloc(300_000, 65)] },
  ];
  for (const [index, way] of ways.entries()) {
    const [observed, plain] = [await raw("/orders", way), await raw("/not-protected", way)];
    const [there, here] = origin.seen.splice(0);
    const shown = ({ rawHeaders, body, whole }) => ({ rawHeaders, body: body.toString("latin1"), whole });
    assert.deepEqual(shown(there), shown(here));
    const undated = ({ status, headers, body }) => ({ status, body, headers: headers.filter((_, i) => !/^date$/i.test(headers[i - (i % 2)])) });
    assert.deepEqual(undated(observed), undated(plain));
    assert.equal(observed.status, 202);
    await decisions(last, index + 1);
  }
  const { events: seen } = await events(last);
  // The same body in chunks is the same request; no body is another one under the key; the last one is larger than the route allows.
  assert.deepEqual(seen.map(({ decision }) => decision), ["dispatched", "replayed", "key_reused", "request_too_large"]);
  assert.deepEqual(new Set(seen.map(({ mode, status }) => `${mode} ${status}`)), new Set(["observe 202"]));
});

test("what is observed is decided, counted and changes nothing", async () => {
  await set("observe", "orders");
  const { last } = await events();
  const answers = [];
  // A duplicate that came before the first one's decision was recorded would have waited for it.
  for (const of of [key, key, undefined]) {
    answers.push(await send(stack, of));
    await decisions(last, answers.length);
  }
  const { events: seen } = await events(last);
  assert.deepEqual(answers.map(({ status, operation, says }) => [status, operation, says]), Array(3).fill([201, null, null]));
  assert.equal(origin.seen.length, 3);
  assert.deepEqual(seen.map(({ decision, state }) => [decision, state]), [
    ["dispatched", "executed"],
    ["replayed", "executed"],
    ["key_missing", null],
  ]);
  const headers = { authorization: `Bearer ${METRICS}` };
  const page = await (await fetch(`${stack.gate}/.oncegate/v1/metrics`, { headers })).text();
  assert.match(page, /^oncegate_decisions_total\{route="orders",mode="observe",decision="replayed",state="executed"\} \d+$/m);
  assert.match(page, /^oncegate_switch_set_timestamp_seconds\{route="orders",mode="observe"\} \d+$/m);

  // Enforced again, the key is as good as new.
  await set("enforce", "orders");
  const first = await send(stack, key);
  assert.deepEqual([first.says, first.replayed, origin.seen.length], ["executed", false, 4]);
  assert.notEqual(first.operation, seen[0].operation);
});

test("what stays unknown while it is observed shows in the decisions and is nobody's trouble", async () => {
  await set("observe", "orders");
  const { last } = await events();
  origin.handle = (request, response) => response.writeHead(500).end();
  assert.equal((await send(stack, key)).status, 500);
  await decisions(last, 1);
  origin.handle = (request) => request.socket.destroy();
  const lost = await send(stack, key);
  assert.deepEqual([lost.status, lost.body.code], [502, "outcome_unknown"]);
  const seen = await decisions(last, 2);
  assert.deepEqual(seen.map(({ decision, state }) => [decision, state]), [["dispatched", "unknown"], ["outcome_unknown", "unknown"]]);
  assert.deepEqual(await (await admin("operations?state=trouble")).json(), { operations: [], more: 0 });
});

test("a route that is configured to be observed is, until the switch closes it", async () => {
  const settings = { mode: "observe", METRICS_SECRETS: `prometheus=${METRICS}`, ADMIN_SECRETS: `anna=${ADMIN}` };
  const [other, usual] = [await startStack(settings, origin), stack];
  stack = other;
  try {
    const answers = [await send(stack, key), await send(stack, key)];
    assert.deepEqual([answers.map(({ says }) => says), origin.seen.length], [[null, null], 2]);
    const [first] = await decisions(0, 1);
    assert.deepEqual([first.mode, first.decision], ["observe", "dispatched"]);
    await set("refuse");
    assert.equal((await send(stack, key)).status, 503);
    await set("enforce");
    assert.equal((await send(stack, key)).says, null);
  } finally {
    stack = usual;
    await other.stop();
  }
});

test("a preflight for what is observed passes like the request", async () => {
  const headers = { origin: "https://shop.example", "access-control-request-method": "POST" };
  const preflight = () => fetch(`${stack.gate}/orders`, { method: "OPTIONS", headers });
  await set("enforce", "orders");
  assert.deepEqual([(await preflight()).status, origin.seen.length], [204, 0]);
  await set("observe", "orders");
  assert.deepEqual([(await preflight()).status, origin.seen.length], [201, 1]);
  await set("enforce", "orders");
});

test("with the Desk out of order the gate protects as before", async () => {
  await set("refuse", "orders");
  await stack.tell("kill-gate");
  deskRows((database) => database.exec("UPDATE notes SET note = '99' WHERE name = 'version'"));
  await stack.tell("start-gate");
  try {
    const answers = [await send(stack, key), await send(stack, key)];
    assert.deepEqual(answers.map(({ status, says }) => [status, says]), [[201, "executed"], [201, "replayed"]]);
    assert.equal(origin.seen.length, 1);
    for (const answer of [await admin("switch"), await put({ mode: "observe", actor: "anna", reason: "a test" })]) {
      assert.deepEqual([answer.status, (await answer.json()).code], [503, "gate_unavailable"]);
    }
  } finally {
    await stack.tell("kill-gate");
    deskRows((database) => database.exec("UPDATE notes SET note = '1' WHERE name = 'version'"));
    await stack.tell("start-gate");
  }
  assert.equal((await send(stack, key)).status, 503);
  await set("enforce", "orders");
});

/** The Desk's own file, while nothing runs. */
function deskRows(change) {
  const folder = join(stack.folder, "gate", "v3", "do", "oncegate-Desk");
  const [file] = readdirSync(folder).filter((name) => name.endsWith(".sqlite") && name !== "metadata.sqlite");
  const database = new DatabaseSync(join(folder, file));
  change(database);
  database.close();
}

test("only an admin secret sets the switch, and only to what it can be", async () => {
  const good = { mode: "enforce", actor: "anna", reason: "a test" };
  const earlier = await (await admin("switch")).json();
  for (const secret of ["", METRICS]) {
    assert.deepEqual([(await put(good, secret)).status, (await admin("switch", {}, secret)).status], [401, 401]);
  }
  const { mode, actor, reason, ...none } = good;
  for (const [wrong, why] of [
    [none, "mode"],
    [{ mode, reason }, "actor"],
    [{ mode, actor, reason: " " }, "reason"],
    [{ actor, reason, mode: "off" }, "off"],
    [{ ...good, route: "nowhere" }, "nowhere"],
    [{ ...good, until: 1 }, "until"],
    [{ ...good, reason: "r".repeat(5_000) }, "4096 bytes"],
  ]) {
    const answer = await put(wrong);
    const problem = await answer.json();
    assert.deepEqual([answer.status, problem.code], [400, "request_invalid"], JSON.stringify(wrong));
    assert.ok(problem.detail.includes(why), problem.detail);
  }
  assert.deepEqual(await (await admin("switch")).json(), earlier);
});
