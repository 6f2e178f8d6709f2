// The clients of locks, on the gate as it is deployed: `oncegate/lock`, and the crate `oncegate-client` in a program of its own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { after, before, beforeEach, test } from "node:test";

import { createLocks } from "../../sdk/dist/lock.js";
import { startOrigin } from "../support/origin.mjs";
import { pause, startStack, until } from "../support/stack.mjs";

const SECRET = "a secret for locks only";
const ADMIN = "a secret for people only";
let origin;
let stack;
let name;
let locks;
let folder;
/** The programs that were started: one that stands still would keep this file from ending. */
const children = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncegate-shelf-"));
  origin = await startOrigin();
  stack = await startStack({ LOCKS_SECRETS: `jobs=${SECRET}`, ADMIN_SECRETS: `anna=${ADMIN}` }, origin);
  locks = createLocks({ gate: stack.gate, secret: SECRET });
});
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await stack?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => (name = `lock-${randomUUID()}`));

const admin = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };

async function listed() {
  const { locks } = await (await fetch(`${stack.gate}/.oncegate/v1/admin/locks`, { headers: admin })).json();
  return locks.find((lock) => lock.name === name);
}

async function takeAway(fence) {
  const body = JSON.stringify({ fence, actor: "anna", reason: "drill" });
  const { status } = await fetch(`${stack.gate}/.oncegate/v1/admin/locks/${name}`, { method: "DELETE", headers: admin, body });
  assert.equal(status, 204);
}

/** A Rust program: what it says, line by line, and how to tell it something. */
function program(crate, example, given, env = process.env) {
  const child = spawn("cargo", ["run", "--quiet", "--package", crate, "--example", example, "--", ...given], { stdio: ["pipe", "pipe", "inherit"], env });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    says: async () => (await lines.next()).value,
    tell: (order) => child.stdin.write(`${order}\n`),
    send: (signal) => child.kill(signal),
  };
}

/** One that wants the lock. */
function holder(ttlMs, waitMs) {
  return program("oncegate-client", "hold", [stack.gate, SECRET, name, ttlMs, waitMs]);
}

test("a lock renews itself, and its release lets the next one in with a greater fence", async () => {
  const held = await locks.lock(name, { ttlMs: 5_000 });
  await pause(6_000);
  assert.equal(held.lost.aborted, false);
  assert.equal((await listed()).fence, held.fence);
  await assert.rejects(locks.lock(name), { name: "LockError", code: "lock_busy" });
  const next = locks.lock(name, { waitMs: 30_000 });
  await until(listed, (lock) => lock?.waiting === 1);
  await held.release();
  await held.release();
  const { fence, release } = await next;
  assert.ok(fence > held.fence);
  assert.ok((await listed()).expires_in_ms > 5_000, "what was waited for is renewed at once");
  await release();
  assert.equal(await listed(), undefined);
});

test("who loses the lock is told", async () => {
  const held = await locks.lock(name, { ttlMs: 5_000 });
  const lost = new Promise((resolve) => held.lost.addEventListener("abort", resolve));
  await takeAway(held.fence);
  await lost;
  assert.equal(held.lost.reason.code, "lock_lost");
  await assert.rejects(held.release(), { code: "lock_lost" });
});

test("who stops waiting is out of the line", async () => {
  const held = await locks.lock(name);
  const stop = new AbortController();
  const waiting = locks.lock(name, { waitMs: 60_000, signal: stop.signal });
  await until(listed, (lock) => lock?.waiting === 1);
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  await until(listed, (lock) => lock?.waiting === 0);
  await held.release();
  assert.equal(await listed(), undefined);
});

test("an answer that is lost is asked for again, and gives one lock", async () => {
  let lose = 1;
  const losing = async (...call) => {
    const answer = await fetch(...call);
    if (lose-- > 0) throw new TypeError("the connection broke");
    return answer;
  };
  const held = await createLocks({ gate: stack.gate, secret: SECRET, fetch: losing }).lock(name);
  assert.equal((await listed()).fence, held.fence);
  await held.release();
});

test("a gate that is out of reach loses the lock to the clock", async () => {
  let deaf = false;
  const maybe = (...call) => (deaf ? Promise.reject(new TypeError("nobody there")) : fetch(...call));
  const held = await createLocks({ gate: stack.gate, secret: SECRET, fetch: maybe }).lock(name, { ttlMs: 3_000 });
  deaf = true;
  await new Promise((resolve) => held.lost.addEventListener("abort", resolve));
  assert.equal(held.lost.reason.code, "no_answer");
});

test("a program in Rust and one in JavaScript take turns", async () => {
  const rust = holder(5_000, 0);
  const [, fence] = (await rust.says()).match(/^held (\d+)$/);
  const next = locks.lock(name, { waitMs: 60_000 });
  await until(listed, (lock) => lock?.waiting === 1);
  await pause(6_000);
  assert.equal((await listed()).fence, Number(fence), "it renews itself");
  rust.tell("release");
  assert.equal(await rust.says(), "released");
  const held = await next;
  assert.ok(held.fence > Number(fence));
  const busy = holder(2_000, 0);
  assert.match(await busy.says(), /^error taking the lock '.*': the gate said no \(409, lock_busy\)/);
  const waits = holder(30_000, 60_000);
  await until(listed, (lock) => lock?.waiting === 1);
  await held.release();
  assert.match(await waits.says(), /^held /);
  assert.ok((await until(listed, (lock) => lock?.expires_in_ms > 5_000)).expires_in_ms > 5_000);
  waits.tell("drop");
  assert.equal(await waits.says(), "dropped");
  assert.equal(await listed(), undefined, "a guard that is dropped releases");
});

test("a program in Rust hears that its lock is lost", async () => {
  const rust = holder(5_000, 0);
  const [, fence] = (await rust.says()).match(/^held (\d+)$/);
  await takeAway(Number(fence));
  assert.equal(await rust.says(), "lost");
});

/** A worker that takes the lock for a second at a time, says so, and takes a mug off the shelf when it is told to. */
function worker(shelf, fenced) {
  const env = { ...process.env, ONCEGATE_LOCKS_SECRET: SECRET };
  const { says, tell, send } = program("oncegate-origin", "worker", [stack.gate, name, shelf, fenced], env);
  const act = () => (tell("act"), says());
  return { says, send, act };
}

test("a lock shorter than the work moves the stock twice, and with its fence once", async () => {
  const shelf = join(folder, "shop.sqlite");
  const stock = () => {
    const database = new DatabaseSync(shelf, { readOnly: true });
    // A worker that has just ended has the file to itself for a moment.
    database.exec("PRAGMA busy_timeout = 10000");
    const { stock } = database.prepare("SELECT stock FROM products WHERE sku = 'mug'").get();
    database.close();
    return stock;
  };
  for (const [fenced, said, left] of [["unfenced", "moved", 98], ["fenced", "late", 97]]) {
    name = `lock-${randomUUID()}`;
    const slow = worker(shelf, fenced);
    const first = (await slow.says()).match(/^held (\d+)$/)[1];
    // It stands still for longer than its lock lasts, and does not know it.
    slow.send("SIGSTOP");
    const next = worker(shelf, fenced);
    const second = (await next.says()).match(/^held (\d+)$/)[1];
    assert.ok(Number(second) > Number(first));
    assert.equal(await next.act(), "moved");
    slow.send("SIGCONT");
    assert.equal(await slow.act(), said);
    assert.equal(stock(), left);
  }
});
