// What is counted and shown of the gate's decisions, and who may read it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, beforeEach, test } from "node:test";

import { declined, order, send, startStack, until } from "../support/stack.mjs";

const SECRET = "0123456789abcdef";
let stack;
let key;

before(async () => {
  stack = await startStack({ METRICS_SECRETS: `prometheus=${SECRET}`, ADMIN_SECRETS: "anna=fedcba9876543210", wait_ms: 5_000 });
});
after(() => stack?.stop());
beforeEach(() => {
  key = randomUUID();
  return stack.clear();
});

const get = (path, authorization = `Bearer ${SECRET}`) =>
  fetch(`${stack.gate}/.oncegate/v1/${path}`, { headers: { authorization } });
const page = async () => (await get("metrics")).text();
const events = async (after = 0) => (await get(`events?after=${after}`)).json();

/** The samples of a page by name and labels. */
function samples(text) {
  const lines = text.split("\n").filter((line) => line && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]));
}

const decided = (decision, state) =>
  `oncegate_decisions_total{route="orders",mode="enforce",decision="${decision}",state="${state}"}`;

/** By how much the samples have grown since `earlier`. */
const grown = (earlier, later) => (name) => (later.get(name) ?? 0) - (earlier.get(name) ?? 0);

test("every decision is counted by route, outcome and state, once", async () => {
  const earlier = samples(await page());
  await stack.faults({ delay_before: 500 });
  await Promise.all([send(stack, key), send(stack, key)]);
  await send(stack, key);
  await send(stack, key, order(declined));
  await send(stack, undefined);
  await send(stack, randomUUID(), order(declined));
  const response = await fetch(`${stack.gate}/orders/`, { method: "POST", body: order() });
  assert.equal((await response.json()).code, "path_not_canonical");

  const more = grown(earlier, samples(await page()));
  assert.equal(more(decided("dispatched", "executed")), 1);
  assert.equal(more(decided("waited", "replayed")), 1);
  assert.equal(more(decided("replayed", "replayed")), 1);
  assert.equal(more(decided("key_reused", "executed")), 1);
  assert.equal(more(decided("key_missing", "")), 1);
  assert.equal(more(decided("dispatched", "refused")), 1);
  assert.equal(more(decided("path_not_canonical", "")), 1);
  const dispatched = `route="orders",mode="enforce",decision="dispatched",state="executed"`;
  assert.equal(more(`oncegate_decision_seconds_count{${dispatched}}`), 1);
  assert.equal(more(`oncegate_decision_seconds_bucket{${dispatched},le="+Inf"}`), 1);
  assert.equal(more(`oncegate_decision_seconds_bucket{${dispatched},le="0.25"}`), 0);
  assert.ok(more(`oncegate_decision_seconds_sum{${dispatched}}`) >= 0.5);
  // Four claims, two completions, and a fifth claim if the gate no longer knew what it had just been told.
  const calls = more(`oncegate_shard_calls_total{ended="answered"}`);
  assert.ok(calls === 6 || calls === 7, `${calls} calls`);
});

test("what is not protected is not counted", async () => {
  const earlier = samples(await page());
  assert.equal((await fetch(`${stack.gate}/catalog`)).status, 200);
  assert.deepEqual(samples(await page()), earlier);
});

test("the gate is well also to who asks for the head alone", async () => {
  for (const method of ["GET", "HEAD"]) assert.equal((await fetch(`${stack.gate}/.oncegate/v1/health`, { method })).status, 200);
});

test("the page is what Prometheus reads", async () => {
  const answer = await get("metrics");
  assert.match(answer.headers.get("content-type"), /^text\/plain; version=0\.0\.4/);
  assert.equal(answer.headers.get("cache-control"), "no-store");
  const text = await answer.text();
  const line = /^(# (HELP|TYPE) oncegate_\w+ .+|oncegate_\w+(\{(\w+="[^"\\]*",?)+\})? \d+(\.\d+)?)$/;
  for (const each of text.trimEnd().split("\n")) assert.match(each, line);
});

test("an event shows the operation's reference, and nothing that the client chose", async () => {
  const { last } = await events();
  const secret = `key-of-${randomUUID()}`;
  const answer = await send(stack, secret);
  await send(stack, secret);
  const answered = await get(`events?after=${last}`);
  const text = await answered.text();
  const seen = JSON.parse(text);
  assert.deepEqual(seen.events.map(({ number }) => number), [last + 1, last + 2]);
  assert.equal(seen.last, last + 2);
  const [first, again] = seen.events;
  assert.deepEqual(
    [first.route, first.mode, first.decision, first.state, first.operation, first.status],
    ["orders", "enforce", "dispatched", "executed", answer.operation, 201],
  );
  assert.deepEqual([again.decision, again.state, again.status], ["replayed", "replayed", 201]);
  assert.ok(first.at_ms > 1_700_000_000_000 && first.took_ms >= 0);
  for (const chosen of [secret, "ada@example.com", "4242"]) assert.ok(!text.includes(chosen), chosen);
});

test("only the newest events are kept, under numbers that show what is missing", async () => {
  const { last } = await events();
  const turnedAway = () => fetch(`${stack.gate}/orders`, { method: "POST", body: "{}" }).then((answer) => answer.arrayBuffer());
  for (let sent = 0; sent < 1_200; sent += 100) {
    await Promise.all(Array.from({ length: 100 }, turnedAway));
    await page();
  }
  const seen = await events();
  assert.equal(seen.events.length, 1_000);
  assert.equal(seen.last, last + 1_200);
  assert.deepEqual([seen.events[0].number, seen.events.at(-1).number], [last + 201, last + 1_200]);
  assert.deepEqual((await events(seen.last)).events, []);
});

test("counts and events outlive the process", async () => {
  await send(stack, key);
  const [earlier, seen] = [samples(await page()), await events()];
  await stack.tell("kill-gate");
  await stack.tell("start-gate");
  assert.deepEqual(samples(await page()), earlier);
  assert.deepEqual(await events(), seen);
});

test("the Desk hears of a decision without being asked", async () => {
  const { last } = await events();
  await send(stack, key);
  // Its own file shows it: a question would bring the decision along.
  const folder = join(dirname(stack.database), "gate", "v3", "do", "oncegate-Desk");
  const [file] = (await readdir(folder)).filter((name) => name.endsWith(".sqlite") && name !== "metadata.sqlite");
  const kept = () => {
    const database = new DatabaseSync(join(folder, file), { readOnly: true });
    database.exec("PRAGMA busy_timeout = 5000");
    const { newest } = database.prepare("SELECT MAX(last) AS newest FROM events").get();
    database.close();
    return newest;
  };
  assert.equal(await until(kept, (newest) => newest > last), last + 1);
});

test("only who presents a metrics secret reads them", async () => {
  for (const path of ["metrics", "events"]) {
    for (const authorization of ["", "Bearer ", `Bearer ${SECRET}0`, "Bearer fedcba9876543210"]) {
      assert.equal((await get(path, authorization)).status, 401, `${path} ${authorization}`);
    }
  }
  const wrong = await get("events?after=now");
  assert.deepEqual([wrong.status, (await wrong.json()).code], [400, "request_invalid"]);
  const closed = await startStack();
  for (const path of ["metrics", "events"]) {
    const answer = await fetch(`${closed.gate}/.oncegate/v1/${path}`, { headers: { authorization: "Bearer " } });
    assert.equal(answer.status, 404);
  }
  await closed.stop();
});
