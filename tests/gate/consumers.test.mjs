// Consumers of a real broker (NATS JetStream) that claim each message at the gate: one works on it, another takes over when it dies.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";

import { createClaims } from "../../sdk/dist/claims.js";
import { freePort } from "../support/ports.mjs";
import { startStack, until } from "../support/stack.mjs";

const SECRET = "0123456789abcdef";
const SCOPE = "shop/effects";

let stack;
let folder;
let nats;
let broker;
let number = 0;
const running = [];

before(async () => {
  stack = await startStack({ CLAIMS_SECRETS: `consumers=${SECRET}`, ADMIN_SECRETS: `anna=${SECRET}`, METRICS_SECRETS: `anna=${SECRET}` });
  folder = await mkdtemp(join(tmpdir(), "oncegate-nats-"));
  const port = await freePort();
  broker = `nats://127.0.0.1:${port}`;
  nats = spawn(process.env.ONCEGATE_NATS_SERVER, ["-a", "127.0.0.1", "-p", port, "-js", "-sd", folder, "-l", join(folder, "log")]);
  await until(() => new Promise((answer) => net.connect(port, "127.0.0.1").once("connect", () => answer(true)).once("error", () => answer(false))), Boolean);
  program("relay");
});
after(async () => {
  running.forEach((child) => child.kill("SIGKILL"));
  nats?.kill();
  await stack?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** `relay` or `consume`; cargo becomes the program, so that a signal reaches it. */
function program(command, ...more) {
  const place = ["--database", `sqlite:${stack.database}`, "--broker", broker];
  const cargo = ["run", "--quiet", "--package", "oncegate-origin", "--bin", "oncegate-origin", "--", command];
  const child = spawn("cargo", [...cargo, ...place, ...more], { stdio: "ignore", env: { ...process.env, ONCEGATE_CLAIMS_SECRET: SECRET } });
  running.push(child);
  return child;
}

const consume = () => program("consume", "--gate", stack.gate, "--claims-lease-ms", "2000");

function sql(words, ...values) {
  const database = new DatabaseSync(stack.database, { timeout: 10_000 });
  try {
    return database.prepare(words).all(...values);
  } finally {
    database.close();
  }
}

/** The shop owes a notice; says the message's id, by which it is claimed. */
function owe() {
  const order = `order-${number++}`;
  const id = `${order}/0/notice`;
  const words = `INSERT INTO outbox (id, aggregate, place, topic, payload, state, attempts, due_at, lease_until, created_at)
    VALUES (?, ?, 0, 'notice', ?, 'pending', 0, 0, 0, 0)`;
  sql(words, id, order, JSON.stringify({ order, status: "PAID" }));
  return id;
}

const notices = () => sql("SELECT id FROM notices ORDER BY id").map(({ id }) => id);

/** What the gate knows of a message. */
async function claimOf(id) {
  const query = new URLSearchParams({ claim_scope: SCOPE, key: id });
  const answer = await fetch(`${stack.gate}/.oncegate/v1/admin/operations?${query}`, { headers: { authorization: `Bearer ${SECRET}` } });
  return answer.json();
}

const done = (id) => until(() => claimOf(id), ({ executed }) => executed === true);
const somebodyElse = () => createClaims({ gate: stack.gate, secret: SECRET, scope: SCOPE });

test("message consumed twice: a consumer killed at its work is taken over with a higher fence, and the message has one effect", async () => {
  // Its work takes longer than it lives.
  sql(`CREATE TRIGGER slow BEFORE INSERT ON notices BEGIN SELECT count(*) FROM (WITH RECURSIVE counted(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT 1000000000) SELECT n FROM counted); END`);
  const id = owe();
  const dying = consume();
  const first = await until(() => claimOf(id), ({ attempts }) => attempts === 1);
  dying.kill("SIGKILL");
  await new Promise((resolve) => dying.once("exit", resolve));
  assert.deepEqual(notices(), []);
  sql("DROP TRIGGER slow");
  consume();
  const second = await done(id);
  assert.deepEqual([second.attempts, second.dispatched_ms > first.dispatched_ms], [2, true]);
  assert.deepEqual(notices(), [id]);
});

test("a message that somebody else has claimed waits for them, and one that the gate calls done is done where no record says so", async () => {
  const before = notices();
  const [waits, theirs] = [`order-${number}/0/notice`, `order-${number + 1}/0/notice`];
  const held = await somebodyElse().claim(waits);
  await somebodyElse().run(theirs, async () => "elsewhere");
  owe();
  owe();
  const last = owe();
  await until(events, (seen) => seen.some(({ operation, decision }) => operation === held.operation && decision === "busy"));
  assert.deepEqual(notices(), before);
  await somebodyElse().release(held);
  await done(last);
  assert.deepEqual(notices(), [...before, waits, theirs, last].sort());
});

async function events() {
  const answer = await fetch(`${stack.gate}/.oncegate/v1/events`, { headers: { authorization: `Bearer ${SECRET}` } });
  return (await answer.json()).events;
}

test("the record is the last line: what was worked off without a claim is not worked off under one", async () => {
  const before = notices();
  const id = `order-${number}/0/notice`;
  sql("INSERT INTO consumed (consumer, message, consumed_at) VALUES ('notice', ?, ?)", id, Date.now());
  assert.equal(owe(), id);
  assert.equal((await done(id)).attempts, 1);
  assert.deepEqual(notices(), before);
});

test("while the gate is away messages wait, and none is lost", async () => {
  const before = notices();
  await stack.tell("kill-gate");
  const id = owe();
  await until(() => sql("SELECT state FROM outbox WHERE id = ?", id), ([{ state }]) => state === "delivered");
  assert.deepEqual(notices(), before);
  await stack.tell("start-gate");
  await done(id);
  assert.deepEqual(notices(), [...before, id].sort());
});
