// Somebody is told of operations in trouble: signed, until it is heard, and as a list.

import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { json, send, startStack, until } from "../support/stack.mjs";

const ADMIN = "0123456789abcdef";
const METRICS = "fedcba9876543210";
let origin;
let webhook;
let stack;
let key;

before(async () => {
  origin = await startOrigin();
  webhook = await startOrigin((request, response) => response.writeHead(204).end());
  stack = await startStack(
    {
      ADMIN_SECRETS: `anna=${ADMIN}`,
      METRICS_SECRETS: `prometheus=${METRICS}`,
      ALERTS: `{ webhook = "${webhook.url}/alerts?of=shop", after_minutes = 0 }`,
      origin: "none",
      lease_ms: 1_500,
      wait_ms: 1_000,
      client_timeout_ms: 1_200,
    },
    origin,
  );
});
after(() => Promise.all([stack?.stop(), origin?.stop(), webhook?.stop()]));
beforeEach(() => {
  key = randomUUID();
  origin.clear();
  webhook.clear();
});

async function listed() {
  const headers = { authorization: `Bearer ${ADMIN}` };
  return (await fetch(`${stack.gate}/.oncegate/v1/admin/operations?state=trouble`, { headers })).json();
}

/** An operation of which nobody knows what became. */
async function lost() {
  origin.handle = (request) => request.socket.destroy();
  const answer = await send(stack, key);
  assert.deepEqual([answer.status, answer.says], [502, "unknown"]);
  return answer.operation;
}

test("an operation in trouble is listed and told of until somebody hears, signed, without its key, whatever restarts", async () => {
  webhook.handle = (request, response) => response.writeHead(500).end();
  const began = Date.now();
  const operation = await lost();
  const { operations } = await until(listed, ({ operations }) => operations.length > 0);
  assert.deepEqual(operations.map((each) => [each.operation, each.route, each.state]), [[operation, "orders", "unknown"]]);
  assert.ok(operations[0].since_ms >= began - 1_000 && operations[0].since_ms <= Date.now() + 1_000);

  await until(() => webhook.seen, (seen) => seen.length > 0);
  await stack.tell("kill-gate");
  const { length } = webhook.seen;
  webhook.handle = (request, response) => response.writeHead(204).end();
  await stack.tell("start-gate");
  assert.deepEqual((await listed()).operations, operations);
  await until(() => webhook.seen, (seen) => seen.length > length, 60_000);
  for (const { method, url, headers, body } of webhook.seen) {
    assert.deepEqual([method, url, headers["content-type"]], ["POST", "/alerts?of=shop", "application/json"]);
    const alert = JSON.parse(body);
    assert.deepEqual([alert.operations, alert.more], [operations, 0]);
    assert.ok(!body.includes(key));
    await checkSignature(headers["oncegate-alert-signature"], alert.at_ms, body);
  }
});

async function checkSignature(signature, at, body) {
  const [, name, secret] = (await readFile(join(stack.folder, ".dev.vars"), "utf8")).match(/^SIGNING_SECRETS=([^=]+)=(.+)$/m);
  const mac = createHmac("sha256", secret).update(`oncegate-alert-v1\n${at}\n`).update(body).digest("hex");
  assert.equal(signature, `t=${at}, kid=${name}, v1=${mac}`);
}

test("what is settled leaves the list, and the counts of operations in trouble", async () => {
  const gauge = async () => {
    const headers = { authorization: `Bearer ${METRICS}` };
    const page = await (await fetch(`${stack.gate}/.oncegate/v1/metrics`, { headers })).text();
    return Number(page.match(/^oncegate_operations_in_trouble\{route="orders",state="unknown"\} (\d+)$/m)?.[1] ?? 0);
  };
  const earlier = await gauge();
  let answer;
  origin.handle = (request, response) => (answer = () => origin.done(request, response));
  const first = fetch(`${stack.gate}/orders`, { method: "POST", headers: { ...json, "idempotency-key": key }, body: "{}" });
  await until(() => answer, Boolean);
  // Its lease ends while the origin is still at it.
  await until(gauge, (now) => now === earlier + 1, 60_000);
  answer();
  await (await first).arrayBuffer();
  await until(gauge, (now) => now === earlier);
});

test("the log says what went wrong in one line of JSON each, without a key", async () => {
  const operation = await lost();
  const log = await until(
    () => readFile(join(stack.folder, "gate.log"), "utf8"),
    (log) => log.includes(operation),
  );
  // The tool that runs the gate here decorates them.
  const lines = log.split("\n").filter((line) => /WARNING|ERROR/.test(line));
  const said = lines.map((line) => JSON.parse(line.slice(line.indexOf("{"), line.lastIndexOf("}") + 1)));
  for (const line of said) assert.ok(/^(warn|error)$/.test(line.level) && /^[a-z_]+$/.test(line.event), JSON.stringify(line));
  const { detail, ...attempt } = said.find((line) => line.operation === operation);
  assert.deepEqual(attempt, { level: "warn", event: "attempt_lost", operation, attempt: 1, route: "orders" });
  assert.equal(typeof detail, "string");
  for (const secret of [key, ADMIN, METRICS, webhook.url]) assert.ok(!said.some((line) => JSON.stringify(line).includes(secret)));
});
