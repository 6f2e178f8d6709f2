// Messages of a Cloudflare Queue: what becomes of each, what they cost the store, and that none is executed twice.

import { abortAllDurableObjects, createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, inject, test } from "vitest";

import Gate from "../../target/gate/index.js";
import { GATE, effects, newKey, release, send, shardOf, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

const newId = () => crypto.randomUUID().replaceAll("-", "");
const keyOf = (id, queue = "messages") => `queue:${queue}:${id}`;

/** Delivers messages in one batch: the ids of those that have left the queue, and of those that come again. */
async function deliver(messages, queue = "messages") {
  const context = createExecutionContext();
  const batch = createMessageBatch(queue, messages.map(({ id, body }) => ({ id, body, timestamp: new Date(), attempts: 1 })));
  await new Gate(context, env).queue(batch);
  const { explicitAcks, retryMessages, retryBatch } = await getQueueResult(batch, context);
  return { acked: explicitAcks, again: retryMessages.map(({ msgId }) => msgId), all: retryBatch.retry };
}

/** What support hears of a message. */
async function inspect(id) {
  const query = `scope=messages.queue.invalid&key=${encodeURIComponent(keyOf(id))}&route=orders`;
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/admin/operations?${query}`, { headers: { authorization: `Bearer ${inject("admin")}` } });
  return response.status;
}

/** The shard of a message, with its tables made. */
async function openShard(id) {
  const address = "https://messages.queue.invalid/.oncegate/v1/operations?route=orders";
  const response = await exports.default.fetch(address, { headers: { "idempotency-key": keyOf(id) } });
  return shardOf((await response.json()).operation);
}

test("a message that is delivered five times is executed once, for two rows", async () => {
  const id = newId();
  const store = await watchStore(await openShard(id));
  expect(await inspect(id)).toBe(404);
  for (let time = 0; time < 5; time++) expect(await deliver([{ id, body: {} }])).toEqual({ acked: [id], again: [], all: false });
  expect(await effects(keyOf(id))).toBe(1);
  expect(store.rowsWritten).toBe(2);
  expect(await inspect(id)).toBe(200);
});

test("a message twice in one batch is executed once, and leaves the queue twice", async () => {
  const id = newId();
  expect((await deliver([{ id, body: {} }, { id, body: {} }])).acked).toEqual([id, id]);
  expect(await effects(keyOf(id))).toBe(1);
});

test("each message of a batch has a fate of its own", async () => {
  const [done, refused, unproved, postponed] = [newId(), newId(), newId(), newId()];
  const { acked, again } = await deliver([
    { id: done, body: {} },
    { id: unproved, body: { status: 500, outcome: null } },
    { id: refused, body: { status: 402, outcome: "refused" } },
    { id: postponed, body: { status: 503, outcome: "not_executed" } },
  ]);
  expect(acked).toEqual([done, refused]);
  expect(again).toEqual([unproved, postponed]);
  // The next delivery of what was postponed finds the origin well.
  expect((await deliver([{ id: done, body: {} }])).acked).toEqual([done]);
  expect(await effects(keyOf(done))).toBe(1);
});

test("text, bytes and JSON are requests", async () => {
  const bodies = [{ shows: true }, JSON.stringify({ shows: true, text: "é" }), new TextEncoder().encode('{"shows":true}').buffer];
  for (const body of bodies) {
    const id = newId();
    expect((await deliver([{ id, body }])).acked).toEqual([id]);
    expect(await effects(keyOf(id))).toBe(1);
  }
});

test("what can never be a request comes again until it is a dead letter, and stops nobody", async () => {
  const [well, reused] = [newId(), newId()];
  await deliver([{ id: reused, body: {} }]);
  const poison = [
    { id: reused, body: { other: true } },
    { id: "a,b", body: {} },
    { id: newId(), body: new Map([["a", 1]]) },
    { id: newId(), body: { at: new Date(0) } },
    { id: newId(), body: [undefined] },
    { id: newId(), body: { n: 1n } },
    { id: newId(), body: NaN },
    { id: newId(), body: "\ud800" },
    { id: newId(), body: "x".repeat(65_537) },
  ];
  const { acked, again } = await deliver([...poison, { id: well, body: {} }]);
  expect(acked).toEqual([well]);
  expect(again).toEqual(poison.map(({ id }) => id));
  expect(await effects(keyOf(reused))).toBe(1);
});

test("the key is what the body names, where the queue says so", async () => {
  const no = newKey();
  const [one, other, none] = [newId(), newId(), newId()];
  const { acked, again } = await deliver([{ id: one, body: { no } }, { id: other, body: { no } }, { id: none, body: {} }], "numbered");
  expect([acked, again]).toEqual([[one, other], [none]]);
  expect(await effects(keyOf(no, "numbered"))).toBe(1);
});

test("a client's key is never taken for a message", async () => {
  const id = newId();
  expect((await send(keyOf(id))).says).toBe("executed");
  await deliver([{ id, body: {} }]);
  expect(await effects(keyOf(id))).toBe(2);
});

test("a queue that nobody has configured is kept", async () => {
  expect(await deliver([{ id: newId(), body: {} }], "strange")).toEqual({ acked: [], again: [], all: true });
});

test("i2 all objects are aborted in the middle of a message: it comes again, and was executed once", async () => {
  const id = newId();
  const cut = deliver([{ id, body: { hold: true } }]);
  await until(() => effects(keyOf(id)), (count) => count === 1);
  await abortAllDurableObjects();
  expect((await cut).again).toEqual([id]);
  await release(keyOf(id));
  const last = await until(() => deliver([{ id, body: { hold: true } }]), ({ acked }) => acked.length === 1);
  expect(last.acked).toEqual([id]);
  expect(await effects(keyOf(id))).toBe(1);
});

test("what a real queue hands out twice is executed once", async () => {
  const [no, last] = [newKey(), newKey()];
  const executed = (key) => until(() => effects(keyOf(key, "numbered")), (count) => count > 0);
  await env.MESSAGES.send({ no });
  await executed(no);
  await env.MESSAGES.send({ no });
  await env.MESSAGES.send({ no: last });
  await executed(last);
  expect(await effects(keyOf(no, "numbered"))).toBe(1);
});
