// What a shard takes on, and what it turns away: through the whole chain.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startOrigin } from "../support/origin.mjs";
import { lookUp, order, send, startStack, until } from "../support/stack.mjs";

const SHARDS = 1024;
const SHARD_BYTES = 400_000;
const SECRET = "0123456789abcdef";

let origin;
let stack;
let number = 0;

before(async () => {
  origin = await startOrigin();
  const secrets = { ADMIN_SECRETS: `anna=${SECRET}`, METRICS_SECRETS: `prometheus=${SECRET}` };
  stack = await startStack(
    { wait_ms: 8_000, max_waiters: 2, CLAIMS_PER_SCOPE_PER_MINUTE: 2, WAITERS_PER_SHARD: 3, SHARD_BYTES, ...secrets },
    origin,
  );
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => origin.clear());

const look = (key) => lookUp(stack, key);

/** The number of the shard that holds the operation of this key. */
const shardOf = async (key) => {
  const { operation } = await look(key);
  const digest = Buffer.from(operation.slice("op_".length), "base64url");
  return digest.readUInt16BE(0) % SHARDS;
};

/** Keys of one shard. */
async function neighbours(count) {
  const shards = new Map();
  for (;;) {
    const key = `key-${number++}`;
    const shard = await shardOf(key);
    const keys = shards.get(shard) ?? [];
    keys.push(key);
    if (keys.length === count) return keys;
    shards.set(shard, keys);
  }
}

test("a tenant that begins too many operations in one shard waits, and what it has begun goes on", async () => {
  const [first, second, third] = await neighbours(3);
  assert.equal((await send(stack, first)).says, "executed");
  assert.equal((await send(stack, second)).says, "executed");
  const turned = await send(stack, third);
  assert.deepEqual([turned.status, turned.body.code, turned.body.retryable], [429, "quota_exceeded", true]);
  assert.deepEqual([turned.body.executed, turned.body.safe_new_key, turned.says], [null, false, null]);
  assert.ok(turned.body.retry_after_ms > 0 && turned.body.retry_after_ms <= 60_000);
  assert.equal(turned.headers.get("retry-after"), String(Math.ceil(turned.body.retry_after_ms / 1_000)));
  assert.equal((await look(third)).state, "absent");
  assert.equal((await send(stack, first)).replayed, true);
  // Dead keys are rows too.
  const headers = { "idempotency-key": third };
  const cancelled = await fetch(`${stack.gate}/.oncegate/v1/operations/cancel`, { method: "POST", headers });
  assert.equal(cancelled.status, 429);
  assert.equal(origin.seen.length, 2);
});

test("where too many wait for one key, or in one shard, the next one hears in_progress at once", async () => {
  const [crowded, beside] = await neighbours(2);
  const finish = [];
  origin.handle = (request, response) => finish.push(() => origin.done(request, response));
  const first = [send(stack, crowded), send(stack, beside)];
  await until(() => finish.length, (count) => count === 2);
  let answered = 0;
  const wait = async (key) => {
    const answer = await send(stack, key);
    answered += 1;
    return answer.status === 201 ? 201 : answer.body.code;
  };
  const ofOne = [wait(crowded), wait(crowded), wait(crowded), wait(crowded)];
  await until(() => answered, (count) => count === 2);
  const ofAnother = [wait(beside), wait(beside)];
  await until(() => answered, (count) => count === 3);
  finish.forEach((answer) => answer());
  assert.deepEqual((await Promise.all(first)).map(({ status }) => status), [201, 201]);
  assert.deepEqual((await Promise.all(ofOne)).sort(), [201, 201, "in_progress", "in_progress"]);
  assert.deepEqual((await Promise.all(ofAnother)).sort(), [201, "in_progress"]);
  assert.equal(origin.seen.length, 2);
});

test("a shard whose database is full begins nothing new, replays what it has and completes what is open", async () => {
  const [large, open, next] = await neighbours(3);
  let finish;
  origin.handle = (request, response) => {
    if (request.headers["idempotency-key"] === open) {
      finish = () => origin.done(request, response);
      return;
    }
    response.writeHead(201, { "idempotency-outcome": "executed" });
    response.end(Buffer.alloc(SHARD_BYTES, "x"));
  };
  const opened = send(stack, open);
  await until(() => finish, Boolean);
  assert.equal((await send(stack, large)).says, "executed");
  const turned = await send(stack, next, order());
  assert.deepEqual([turned.status, turned.body.code, turned.says], [503, "gate_unavailable", null]);
  assert.equal((await look(next)).state, "absent");
  const replayed = await send(stack, large);
  assert.deepEqual([replayed.replayed, replayed.bytes.length], [true, SHARD_BYTES]);
  finish();
  assert.equal((await opened).says, "executed");
  assert.equal((await send(stack, open)).replayed, true);
});

test("what is observed is turned away in the decisions and by nobody else", async () => {
  const headers = { authorization: `Bearer ${SECRET}` };
  const switched = (mode) => {
    const body = JSON.stringify({ mode, actor: "anna", reason: "a test" });
    return fetch(`${stack.gate}/.oncegate/v1/admin/switch`, { method: "PUT", headers, body });
  };
  const events = async () => (await (await fetch(`${stack.gate}/.oncegate/v1/events`, { headers })).json()).events;
  await switched("observe");
  // Each is of a shard that nobody can foretell: among so many, some three are of the same one.
  await until(
    async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => send(stack, `key-${number++}`)));
      // The origin may close a connection that the gate has kept; that the gate closes nothing is what is asked here.
      assert.ok(answers.every(({ status }) => status !== 429 && status !== 503));
      return events();
    },
    (seen) => seen.some(({ mode, decision }) => mode === "observe" && decision === "quota_exceeded"),
  );
  await switched("enforce");
});
