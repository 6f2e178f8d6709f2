// What a person may ask of one operation and do to it: through the whole chain.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { startOrigin } from "../support/origin.mjs";
import { send, startStack, until } from "../support/stack.mjs";

const ADMIN = "0123456789abcdef";
const METRICS = "fedcba9876543210";

let origin;
let stack;
let number = 0;
let key;

before(async () => {
  origin = await startOrigin();
  const settings = { lease_ms: 1_500, wait_ms: 200, client_timeout_ms: 1_000 };
  stack = await startStack({ ...settings, ADMIN_SECRETS: `anna=${ADMIN}`, METRICS_SECRETS: `prometheus=${METRICS}` }, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => {
  origin.clear();
  key = `secret-key-${number++}`;
});

const admin = async (path, { method = "GET", body, secret = ADMIN } = {}) => {
  const response = await fetch(`${stack.gate}/.oncegate/v1/admin/operations${path}`, {
    method,
    headers: { authorization: `Bearer ${secret}` },
    body: body && JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
};

const metrics = async () => (await fetch(`${stack.gate}/.oncegate/v1/metrics`, { headers: { authorization: `Bearer ${METRICS}` } })).text();

const word = { actor: "anna", reason: "ticket 4711" };
const trouble = async (operation) => {
  const { body } = await admin("?state=trouble");
  return body.operations.filter((entry) => entry.operation === operation);
};
const refuse = (request, response) => {
  response.writeHead(402, { "idempotency-outcome": "refused" });
  response.end("declined");
};

test("an operation is found by what support has, and its content is told to who asks for it", async () => {
  const { operation, bytes } = await send(stack, key);
  const scope = new URL(stack.gate).host;
  const found = await admin(`?scope=${scope}&key=${key}`);
  assert.equal(found.status, 200);
  assert.deepEqual(await admin(`/${operation}`), found);
  const { state, executed, attempts, unsettled, revision, terms, has_answer, answer } = found.body;
  assert.deepEqual([state, executed, attempts, unsettled, has_answer], ["executed", true, 1, 0, true]);
  assert.ok(revision >= 2 && found.body.settled_ms >= found.body.claimed_ms);
  assert.deepEqual([terms.route, terms.origin, terms.lease_ms], ["orders", "ledger", 1_500]);
  assert.equal(found.body.fingerprint, origin.seen[0].headers["oncegate-fingerprint"]);
  assert.equal(answer, undefined);
  const told = await admin(`/${operation}?answer=1`);
  assert.equal(told.body.answer.status, 201);
  assert.deepEqual(Buffer.from(told.body.answer.body_base64, "base64"), bytes);
});

test("who asks wrongly is told how, and who may not ask nothing", async () => {
  const { operation } = await send(stack, key);
  assert.equal((await admin(`/${operation}`, { secret: "0123456789abcdeX" })).status, 401);
  assert.equal((await admin(`/${operation}`, { method: "DELETE", body: word, secret: METRICS })).status, 401);
  for (const path of ["", "?key=x", "/no-reference"]) {
    const answer = await admin(path);
    assert.deepEqual([answer.status, answer.body.code], [400, "request_invalid"], path);
  }
  const unknown = await admin(`?scope=elsewhere&key=${key}`);
  assert.deepEqual([unknown.status, unknown.body.code], [404, "operation_unknown"]);
  assert.equal((await admin(`?scope=x&key=${key}&route=no-such`)).body.code, "route_unknown");
  for (const path of ["-of-mine", `x/${operation}`, `/${operation}/resolve`, `/${operation}/`]) {
    const answer = await admin(path);
    assert.deepEqual([answer.status, answer.body.code], [404, "endpoint_unknown"], path);
  }
  const silent = await admin(`/${operation}`, { method: "DELETE", body: { ...word, reason: " " } });
  assert.deepEqual([silent.status, silent.body.code], [400, "request_invalid"]);
  assert.equal((await send(stack, key)).replayed, true);
});

test("nobody settles an operation while an attempt may still be under way, or one that was seen in another version", async () => {
  origin.handle = (request, response) => response.writeHead(500).end();
  const { operation } = await send(stack, key);
  const { revision } = (await admin(`/${operation}`)).body;
  const settle = (revision) =>
    admin(`/${operation}/resolve`, { method: "POST", body: { ...word, revision, outcome: "not_executed" } });
  const early = await settle(revision);
  assert.deepEqual([early.status, early.body.code], [409, "resolution_refused"]);
  assert.match(early.body.detail, /^until \d\d:\d\d UTC \(\d+ ms since 1970\) an attempt may still be under way/);
  const other = await settle(revision - 1);
  assert.deepEqual([other.status, other.body.code], [409, "resolution_refused"]);
  assert.match(other.body.detail, new RegExp(`its revision is ${revision}`));
  assert.equal((await admin(`/${operation}`)).body.state, "unknown");
});

test("i3 a dispute is listed as one, and ends with a person's word", async () => {
  let finish;
  origin.handle = (request, response) => {
    finish = () => origin.done(request, response);
  };
  const { operation } = await send(stack, key);
  await until(() => admin(`/${operation}`), ({ body }) => body.state === "unknown");
  origin.handle = refuse;
  assert.equal((await send(stack, key)).says, "refused");
  finish();
  const [listed] = await until(() => trouble(operation), (found) => found[0]?.state === "disputed");
  assert.equal(listed.route, "orders");
  assert.match(await metrics(), /^oncegate_operations_in_trouble\{route="orders",state="disputed"\} 1$/m);
  const { revision, disputed, executed } = (await admin(`/${operation}`)).body;
  assert.deepEqual([disputed, executed], [true, true]);
  const body = { ...word, revision, outcome: "executed" };
  const settled = await admin(`/${operation}/resolve`, { method: "POST", body });
  assert.deepEqual([settled.status, settled.body.disputed, settled.body.state], [200, false, "executed"]);
  await until(() => trouble(operation), (found) => found.length === 0);
  const again = await send(stack, key);
  assert.deepEqual([again.status, again.body.code, again.body.executed], [409, "result_unavailable", true]);
});

test("content that was erased is told nobody any more, and the operation does not happen again", async () => {
  const { operation } = await send(stack, key);
  const erased = await admin(`/${operation}`, { method: "DELETE", body: word });
  assert.deepEqual([erased.status, erased.body.erased, erased.body.has_answer], [200, true, false]);
  const again = await send(stack, key);
  assert.deepEqual([again.status, again.body.code, again.body.executed], [409, "result_unavailable", true]);
  assert.equal((await admin(`/${operation}?answer=1`)).body.answer, undefined);
  assert.equal(origin.seen.length, 1);
});

test("what is not settled is not erased", async () => {
  origin.handle = (request, response) => response.writeHead(500).end();
  const { operation } = await send(stack, key);
  const refused = await admin(`/${operation}`, { method: "DELETE", body: word });
  assert.deepEqual([refused.status, refused.body.code], [409, "resolution_refused"]);
});

test("every use is one line in the log, without a key", async () => {
  const { operation } = await send(stack, key);
  await admin(`?scope=${new URL(stack.gate).host}&key=${key}`);
  await admin(`/${operation}`, { method: "DELETE", body: word });
  const resolution = { ...word, revision: 0, outcome: "not_executed" };
  await admin(`/${operation}/resolve`, { method: "POST", body: resolution });
  const lines = await until(
    async () => {
      const log = await readFile(join(stack.folder, "gate.log"), "utf8");
      const said = log.split("\n").filter((line) => line.includes(operation) && line.includes("admin_"));
      assert.ok(said.every((line) => !line.includes(key) && !line.includes(ADMIN)));
      return said.map((line) => JSON.parse(line.slice(line.indexOf("{"), line.lastIndexOf("}") + 1)));
    },
    (lines) => lines.length >= 3,
  );
  await trouble(operation);
  await until(() => readFile(join(stack.folder, "gate.log"), "utf8"), (log) => /"event":"admin_list".*"secret":"anna"/.test(log));
  const line = { level: "info", operation, secret: "anna" };
  assert.deepEqual(lines[0], { ...line, event: "admin_inspect", status: 200 });
  assert.deepEqual(lines[1], { ...line, event: "admin_erase", status: 200, ...word });
  assert.deepEqual(lines[2], { ...line, event: "admin_resolve", outcome: "not_executed", status: 409, ...word });
});

test("rows that were written are counted: two for an execution, none for a replay", async () => {
  const written = async () => Number(/^oncegate_rows_written_total (\d+)$/m.exec(await metrics())[1]);
  await send(stack, key);
  const before = await written();
  assert.ok(before >= 2);
  assert.equal((await send(stack, key)).replayed, true);
  assert.equal(await written(), before);
});
