// Jobs that the clock starts: a slot is run once, gone on with after a failure, skipped or caught up when it was missed.

import { abortAllDurableObjects } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, inject, test } from "vitest";

import { GATE, effects, newKey, openShard, release, send, until } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

const TRIGGERS = { skips: "*/10 * * * *", catches: "0-50/10 * * * *" };
const NOT_EXECUTED = { status: 503, outcome: "not_executed" };

/** The slot so many steps of ten minutes after the first one of the jobs. */
const slot = (steps) => `${new Date(Date.UTC(2026, 0, 1, 0, 10 * steps)).toISOString().slice(0, 16)}Z`;
const key = (job, steps, run) => ["cron", job, slot(steps), ...(run ? [run] : [])].join(":");
const runs = (job, steps) => Promise.all(steps.map((step) => effects(key(job, step))));

/** The clock strikes, and is not quite on time. */
function fire(job, steps) {
  return exports.default.scheduled({ cron: TRIGGERS[job], scheduledTime: new Date(Date.parse(slot(steps)) + 400) });
}

/** What the origin shall do with the next request of a key. */
async function tell(key, asks) {
  await fetch(`${inject("origin")}/told?key=${encodeURIComponent(key)}`, { method: "POST", body: JSON.stringify(asks) });
}

async function run(job, body, secret = inject("admin")) {
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/admin/cron/${job}/run`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}` },
    body: JSON.stringify({ actor: "anna", reason: "ticket 4711", ...body }),
  });
  return { status: response.status, body: await response.json() };
}

/** The operation that a person asks for. */
async function find(asked) {
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/admin/operations?${new URLSearchParams(asked)}`, {
    headers: { authorization: `Bearer ${inject("admin")}` },
  });
  return { status: response.status, body: await response.json() };
}

test("a slot that fires five times, at once and later, is run once", async () => {
  await Promise.all([1, 2, 3].map(() => fire("skips", 100)));
  await fire("skips", 100);
  await fire("skips", 100);
  expect(await runs("skips", [100])).toEqual([1]);
});

test("a slot that had no effect is gone on with by the next firing, which runs its own slot too", async () => {
  await tell(key("skips", 200), NOT_EXECUTED);
  await fire("skips", 200);
  expect(await runs("skips", [200])).toEqual([0]);
  await fire("skips", 201);
  expect(await runs("skips", [200, 201])).toEqual([1, 1]);
  await fire("skips", 202);
  expect(await runs("skips", [200, 201, 202])).toEqual([1, 1, 1]);
});

test("i2 a slot that had no effect, or of which nothing is known, is gone on with though every object was aborted since", async () => {
  for (const [first, asks] of [[220, NOT_EXECUTED], [230, { status: 500, outcome: null }]]) {
    await tell(key("skips", first), asks);
    await fire("skips", first);
    await abortAllDurableObjects();
    await fire("skips", first + 1);
    expect(await runs("skips", [first, first + 1])).toEqual([1, 1]);
  }
});

test("a slot that failed is not gone on with for ever: three firings later it is left to a person", async () => {
  await tell(key("skips", 240), NOT_EXECUTED);
  await fire("skips", 240);
  await fire("skips", 244);
  expect(await runs("skips", [240, 244])).toEqual([0, 1]);
});

test("a slot writes two rows, and a look at earlier ones none", async () => {
  // The first calls of an object's life make its tables: every slot is looked at once before.
  await fire("skips", 254);
  await fire("skips", 251);
  const store = await watchStore(await openShard(newKey()));
  await fire("skips", 253);
  expect([await runs("skips", [250, 252, 253]), store.rowsWritten]).toEqual([[0, 0, 1], 2]);
  store.clear();
  await fire("skips", 253);
  expect(store.rowsWritten).toBe(0);
});

test("missed slots are skipped, or caught up as far back as the job says", async () => {
  await fire("skips", 300);
  await fire("skips", 304);
  expect(await runs("skips", [300, 301, 302, 303, 304])).toEqual([1, 0, 0, 0, 1]);
  await fire("catches", 400);
  await fire("catches", 407);
  expect(await runs("catches", [394, 395, 400, 401, 402, 403, 406, 407])).toEqual([0, 1, 1, 0, 1, 1, 1, 1]);
});

test("a job is never run for a slot before its first one, nor for a trigger that is not its own", async () => {
  await fire("catches", 2);
  expect(await runs("catches", [-2, -1, 0, 1, 2])).toEqual([0, 0, 1, 1, 1]);
  await fire("catches", -3);
  expect([await runs("catches", [-3]), await runs("skips", [0, 1, 2])]).toEqual([[0], [0, 0, 0]]);
});

test("i2 all objects are aborted in the middle of a slot: later firings find it executed, once", async () => {
  await tell(key("skips", 500), { hold: true });
  const cut = fire("skips", 500);
  await until(() => effects(key("skips", 500)), (count) => count === 1);
  await abortAllDurableObjects();
  await release(key("skips", 500));
  await cut;
  await fire("skips", 500);
  await fire("skips", 501);
  expect(await runs("skips", [500, 501])).toEqual([1, 1]);
});

test("a person runs a slot again under a name: the same name once, another one again", async () => {
  await fire("skips", 600);
  const first = await run("skips", { slot: slot(600), name: "after-the-fix" });
  const again = await run("skips", { slot: slot(600), name: "after-the-fix" });
  expect([first.status, first.body.state, first.body.status]).toEqual([200, "executed", 201]);
  expect([again.body.state, again.body.operation]).toEqual(["replayed", first.body.operation]);
  expect((await run("skips", { slot: slot(600), name: "second" })).body.state).toBe("executed");
  const counts = ["after-the-fix", "second", undefined].map((name) => effects(key("skips", 600, name)));
  expect(await Promise.all(counts)).toEqual([1, 1, 1]);
});

test("support finds a slot, and a run of it, by what the log calls them", async () => {
  await fire("skips", 620);
  const run620 = await run("skips", { slot: slot(620), name: "second" });
  const ran = await find({ job: "skips", slot: slot(620) });
  const again = await find({ job: "skips", slot: slot(620), run: "second" });
  expect([ran.body.state, again.body.state]).toEqual(["executed", "executed"]);
  expect(again.body.operation).toBe(run620.body.operation);
  expect(ran.body.operation).not.toBe(again.body.operation);
  expect((await find({ job: "skips", slot: slot(621) })).status).toBe(404);
  for (const [asked, says] of [
    [{ job: "nobodys", slot: slot(620) }, "no job"],
    [{ job: "skips", slot: "tomorrow" }, "slot is a minute"],
    [{ job: "skips", slot: slot(620), run: "a b" }, "name has"],
    [{ key: key("skips", 620) }, "job=<job>&slot=<slot>"],
  ]) {
    const { status, body: problem } = await find(asked);
    expect([status, problem.code]).toEqual([400, "request_invalid"]);
    expect(problem.detail).toContain(says);
  }
});

test("what a person must not run is refused, and says why", async () => {
  expect((await run("skips", { slot: slot(600), name: "x" }, "wrong")).status).toBe(401);
  for (const [job, body, says] of [
    ["nobodys", { slot: slot(600), name: "x" }, "no job"],
    ["skips", { slot: "tomorrow", name: "x" }, "slot is a minute"],
    ["skips", { slot: "2126-01-01T00:00Z", name: "x" }, "slot is a minute"],
    ["skips", { slot: slot(600), name: "a b" }, "name has"],
    ["skips", { slot: slot(600) }, "name"],
    ["skips", { slot: slot(600), name: "x", reason: "" }, "reason"],
  ]) {
    const { status, body: problem } = await run(job, body);
    expect([status, problem.code]).toEqual([400, "request_invalid"]);
    expect(problem.detail).toContain(says);
  }
});

test("no client's key is taken for a slot", async () => {
  const mine = await send(key("skips", 700), {}, { path: "/slots" });
  expect(mine.says).toBe("executed");
  await fire("skips", 700);
  expect(await effects(key("skips", 700))).toBe(2);
});
