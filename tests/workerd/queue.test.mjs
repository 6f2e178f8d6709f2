// Messages of a Cloudflare Queue: what becomes of each, what they cost the store, and that none is executed twice or keeps another waiting.

import { abortAllDurableObjects, createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";

import Gate from "../../target/gate/index.js";
import { came, effects, inspect, newKey, release, send, shardOf, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

const newId = () => crypto.randomUUID().replaceAll("-", "");
const keyOf = (id, queue = "messages") => `queue:${queue}:${id}`;

/** Delivers messages in one batch: what became of it. */
async function result(messages, queue = "messages", listen = () => {}) {
  const context = createExecutionContext();
  const batch = createMessageBatch(
    queue,
    messages.map(({ id, body, ageS = 0 }) => ({ id, body, timestamp: new Date(Date.now() - ageS * 1_000), attempts: 1 })),
  );
  batch.messages.forEach(listen);
  await new Gate(context, env).queue(batch);
  return getQueueResult(batch, context);
}

/** The ids of those that have left the queue, and of those that come again. */
async function deliver(messages, queue = "messages") {
  const { explicitAcks, retryMessages, retryBatch } = await result(messages, queue);
  return { acked: explicitAcks, again: retryMessages.map(({ msgId }) => msgId), all: retryBatch.retry };
}

/** What support hears of a message. */
const inspected = (id) => inspect("messages.queue.invalid", keyOf(id));

/** The shard of a message, with its tables made. */
async function openShard(id) {
  const address = "https://messages.queue.invalid/.oncegate/v1/operations?route=orders";
  const response = await exports.default.fetch(address, { headers: { "idempotency-key": keyOf(id) } });
  return shardOf((await response.json()).operation);
}

test("a message that is delivered five times is executed once, for two rows", async () => {
  const id = newId();
  const store = await watchStore(await openShard(id));
  expect((await inspected(id)).status).toBe(404);
  for (let time = 0; time < 5; time++) expect(await deliver([{ id, body: {} }])).toEqual({ acked: [id], again: [], all: false });
  expect(await effects(keyOf(id))).toBe(1);
  expect(store.rowsWritten).toBe(2);
  expect((await inspected(id)).status).toBe(200);
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

test("text, bytes and JSON are requests, each with its type", async () => {
  const bytes = new TextEncoder().encode('{"a":"é"}');
  const [json, text, octets] = ["application/json", "text/plain;charset=UTF-8", "application/octet-stream"];
  for (const [body, expected] of [
    [{ a: "é", b: [1, null] }, `${json} {"a":"é","b":[1,null]}`],
    [[], `${json} []`],
    [7, `${json} 7`],
    ['{"a":"é"}', `${text} {"a":"é"}`],
    [bytes.buffer, `${octets} {"a":"é"}`],
    [new Uint8Array(bytes.buffer, 1, 3), `${octets} "a"`],
  ]) {
    const id = newId();
    expect((await deliver([{ id, body }])).acked).toEqual([id]);
    expect([await came(keyOf(id)), await effects(keyOf(id))]).toEqual([expected, 1]);
  }
});

test("a message waits as long as it has waited, five seconds at least and an hour at most; what can never be a request does not wait", async () => {
  const postponed = { status: 503, outcome: "not_executed" };
  const waits = [];
  const listen = (message) => vi.spyOn(message, "retry").mockImplementation((options) => waits.push([message.id, options?.delaySeconds]));
  const ids = [newId(), newId(), newId()];
  await result([...[0, 100, 7_200].map((ageS, index) => ({ id: ids[index], body: postponed, ageS })), { id: "a,b", body: {}, ageS: 100 }], "messages", listen);
  const waited = Object.fromEntries(waits);
  expect([waited[ids[0]], waited[ids[2]], waited["a,b"], waits.length]).toEqual([5, 3_600, undefined, 4]);
  expect(Math.abs(waited[ids[1]] - 100)).toBeLessThan(30);
});

test("what fails in the middle of a batch concerns that message alone", async () => {
  const ids = [newId(), newId(), newId()];
  // Whichever is written first, and that one as often as it is tried.
  let failing;
  const store = await watchStore(await openShard(ids[0]), (sql, values) => {
    if (!/INSERT INTO operations/.test(sql)) return undefined;
    const row = String(new Uint8Array(values[0]));
    failing ??= row;
    return row === failing && new Error("the disk is full");
  });
  const { acked, again } = await deliver(ids.map((id) => ({ id, body: {} })));
  store.restore();
  expect([acked.length, again.length]).toEqual([2, 1]);
  expect((await deliver([{ id: again[0], body: {} }])).acked).toEqual(again);
  for (const id of ids) expect(await effects(keyOf(id))).toBe(1);
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
  // Nor does it write anything.
  const store = await watchStore(await openShard(reused));
  expect((await deliver(poison.slice(0, 3))).again.length).toBe(3);
  expect(store.rowsWritten).toBe(0);
});

test("what is no event in the queue of stored events is retried, and stops no other", async () => {
  const [well, id] = [newKey(), newId()];
  const request = { method: "POST", path_and_query: "/queued", fields: [] };
  const head = (more) => JSON.stringify({ route: "queued", scope: "hostile", key: well, request, ...more });
  const body = new ArrayBuffer(0);
  const hostile = [
    {}, null, 7, "text", [], new Map(), { head: 7, body }, { head: "", body }, { head: "{}", body }, { head: "[".repeat(10_000), body },
    { head: head({ route: "nobodys" }), body }, { head: head({ key: "" }), body }, { head: head({ key: "a,b" }), body }, { head: head({ scope: 1 }), body },
    { head: head({ request: null }), body }, { head: head() }, { head: head(), body: "text" }, { head: head(), body: {} },
  ];
  const messages = hostile.map((body) => ({ id: newId(), body }));
  const { acked, again } = await deliver([...messages, { id, body: { head: head(), body } }], "oncegate-webhooks");
  expect(acked).toEqual([id]);
  expect(again).toEqual(messages.map(({ id }) => id));
  expect(await effects(well)).toBe(1);
});

test("a message that failed as often as it may is a dead letter, and is kept", async () => {
  const dead = newKey();
  // It has no number, which is its key; the queue of dead letters asks for another one.
  await env.DOOMED.send({ dead });
  await until(() => effects(keyOf(dead, "doomed-dead")), (count) => count === 1);
});

test("the key is what the body names, where the queue says so", async () => {
  const no = newKey();
  const [one, other, none] = [newId(), newId(), newId()];
  const { acked, again } = await deliver([{ id: one, body: { no } }, { id: other, body: { no } }, { id: none, body: {} }], "numbered");
  expect([acked, again]).toEqual([[one, other], [none]]);
  expect(await effects(keyOf(no, "numbered"))).toBe(1);
});

test("a message is protected where clients are only observed", async () => {
  const id = newId();
  for (const _ of [1, 2]) expect((await deliver([{ id, body: {} }], "observed")).acked).toEqual([id]);
  expect(await effects(keyOf(id, "observed"))).toBe(1);
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
  await until(() => inspected(id), ({ state }) => state === "executed");
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
