// Events: what they cost the store, what becomes of them when objects are replaced in the middle, and those that lie in a queue first.

import { createHmac } from "node:crypto";
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, test, vi } from "vitest";

import { effects, look, newKey, openShard, release, send, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

/** Sends an event; `asks` is what the origin shall do. */
function deliver(id, asks = {}, path = "/hooked") {
  const body = JSON.stringify(asks);
  const signature = createHmac("sha256", "0123456789abcdef").update(body).digest("hex");
  return send(undefined, body, { path, headers: { "x-event": id, "x-signature": signature } });
}

const seen = (id, route = "hooked") => look(id, `?route=${route}`);

test("an event writes two rows, and its repetitions none", async () => {
  const id = newKey();
  const store = await watchStore(await openShard(id, "/hooked"));
  const first = await deliver(id);
  expect([first.status, first.says, first.body]).toEqual([200, "executed", ""]);
  expect(store.rowsWritten).toBe(2);
  store.clear();
  for (const again of await Promise.all([deliver(id), deliver(id)])) expect([again.status, again.says]).toEqual([200, "replayed"]);
  expect(store.rowsWritten).toBe(0);
  expect(await effects(id)).toBe(1);
});

test("what is not its sender's costs the store nothing", async () => {
  const id = newKey();
  const store = await watchStore(await openShard(id, "/hooked"));
  const forged = await send(undefined, "{}", { path: "/hooked", headers: { "x-event": id, "x-signature": "00".repeat(32) } });
  expect([forged.status, forged.body.code]).toEqual([403, "sender_unverified"]);
  expect([store.rowsWritten, await effects(id)]).toEqual([0, 0]);
});

test("i2 all objects are aborted in the middle of an event: it is not acknowledged, comes again, and was executed once", async () => {
  const id = newKey();
  const cut = deliver(id, { hold: true });
  await until(() => effects(id), (count) => count === 1);
  await abortAllDurableObjects();
  expect((await cut).status).toBeGreaterThanOrEqual(400);
  await release(id);
  await until(() => seen(id), ({ state }) => state === "executed");
  const again = await deliver(id, { hold: true });
  expect([again.status, again.says, again.body]).toEqual([200, "replayed", ""]);
  expect(await effects(id)).toBe(1);
});

test("a stored event is acknowledged when the queue has it, and executed once however often it was sent", async () => {
  const id = newKey();
  const answers = await Promise.all([1, 2, 3].map(() => deliver(id, {}, "/queued")));
  for (const { status, body, headers } of answers) expect([status, body, headers.get("oncegate-decision")]).toEqual([200, "", "stored"]);
  await until(() => seen(id, "queued"), ({ state }) => state === "executed");
  await deliver(id, {}, "/queued");
  expect((await seen(id, "queued")).attempts).toBe(1);
  expect(await effects(id)).toBe(1);
});

test("i2 a stored event whose objects are aborted is delivered again from the queue, and executed once", async () => {
  const id = newKey();
  expect((await deliver(id, { hold: true }, "/queued")).status).toBe(200);
  await until(() => effects(id), (count) => count === 1);
  await abortAllDurableObjects();
  await release(id);
  await until(() => seen(id, "queued"), ({ state }) => state === "executed");
  expect(await effects(id)).toBe(1);
});

test("a stored event that the origin has not executed stays in the queue until it has", async () => {
  const id = newKey();
  await deliver(id, { status: 503, outcome: "not_executed" }, "/queued");
  // The waits double: nobody needs to send it again.
  const { state, attempts } = await until(() => seen(id, "queued"), (found) => found.attempts >= 2 && found.state === "released");
  expect([state, attempts]).toEqual(["released", 2]);
});

test("an event that is too large for a message is delivered at once", async () => {
  const id = newKey();
  const { status, says, headers } = await deliver(id, { body: "x".repeat(100_000) }, "/queued");
  expect([status, says, headers.get("oncegate-decision") === "stored"]).toEqual([200, "executed", false]);
  expect(await effects(id)).toBe(1);
});

test("what the origin refuses of a stored event is in the log, since nobody hears it any more", async () => {
  const id = newKey();
  const said = vi.spyOn(console, "warn");
  await deliver(id, { status: 402, outcome: "refused" }, "/queued");
  await until(() => seen(id, "queued"), ({ state }) => state === "refused");
  const { operation } = await seen(id, "queued");
  const lines = await until(() => said.mock.calls.map(([line]) => String(line)), (all) => all.some((line) => line.includes("webhook_refused") && line.includes(operation)));
  said.mockRestore();
  expect(lines.join()).not.toContain(id);
});

test("a stored event that is not its sender's is refused, and is not stored", async () => {
  const id = newKey();
  const forged = await send(undefined, "{}", { path: "/queued", headers: { "x-event": id, "x-signature": "00".repeat(32) } });
  expect(forged.status).toBe(403);
  expect((await seen(id, "queued")).state).toBe("absent");
});
