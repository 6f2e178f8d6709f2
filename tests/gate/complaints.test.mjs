// What users of other gates have complained about, as far as no other file tests it for its own sake: docs/complaints.md has them all, each with
// its tests.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { call } from "../support/raw.mjs";
import { gateWith, key, origin, stack } from "../support/scripted.mjs";
import { json, lookUp, until } from "../support/stack.mjs";

const TIMES = "lease_ms = 1000, wait_ms = 500, client_timeout_ms = 800, max_body_bytes = 65536";
const ROUTES = `[
  { name = "orders", methods = ["POST"], path = "/orders", origin = "ledger", ${TIMES} },
  { name = "races", methods = ["POST"], path = "/races", origin = "ledger", max_body_bytes = 65536 },
  { name = "refunds", methods = ["POST"], path = "/refunds", origin = "ledger", ${TIMES} },
  { name = "held", methods = ["POST"], path = "/held", origin = "none", ${TIMES} },
  { name = "brief", methods = ["POST"], path = "/brief", origin = "none", result_ttl_s = 1, key_ttl_s = 1, ${TIMES} },
  { name = "hooks", methods = ["POST"], path = "/hooks", origin = "ledger", key = "generated", key_from = { json = "/id" }, ${TIMES} },
]`.replaceAll(/\n */g, " ");

gateWith({ ROUTES });

/** Each request has a connection of its own: one that a faulty answer has ended may not take the next request with it. */
async function send(path, { name = key, body = "{}", headers = {} } = {}) {
  const answer = await call(stack.gate, path, { key: name, body, headers });
  const isProblem = answer.headers["content-type"] === "application/problem+json";
  return { status: answer.status, says: answer.says, text: answer.bytes.toString(), problem: isProblem ? answer.json() : {} };
}

const look = (route, name = key) => lookUp(stack, name, route);

const says = (status, outcome, body = "") => (_, response) =>
  response.writeHead(status, { "content-type": "text/plain", ...(outcome && { "idempotency-outcome": outcome }) }).end(body);
const reset = ({ socket }) => socket.resetAndDestroy();
const hang = () => {};
/** An answer that ends before its announced length. */
const cut = ({ socket }, response) => {
  response.writeHead(200, { "content-length": "100" });
  response.write("half", () => socket.destroy());
};
const garbage = ({ socket }) => socket.end("this is no HTTP\r\n\r\n");

test("an origin may answer as it likes: no key is in progress for ever", async () => {
  const answers = { "no content": says(204), empty: says(200), error: says(500), reset, cut, garbage, hang };
  for (const [kind, handle] of Object.entries(answers)) {
    origin.handle = handle;
    const name = randomUUID();
    await send("/held", { name });
    const seen = await until(() => look("held", name), ({ state }) => state !== "dispatched");
    const expected = ["no content", "empty"].includes(kind) ? ["executed", 0] : ["unknown", 1];
    assert.deepEqual([seen.state, seen.unsettled], expected, kind);
  }
});

test("the effect happened and the origin hung past the lease: nothing runs it again, and the late answer is found", async () => {
  let answer;
  origin.handle = (_, response) => {
    answer = () => says(201, undefined, "withdrawn")(undefined, response);
  };
  assert.equal((await send("/held")).problem.code, "in_progress");
  await until(() => look("held"), ({ state }) => state === "unknown");
  for (const again of [await send("/held"), await send("/held")]) {
    assert.deepEqual([again.status, again.problem.code, again.problem.safe_new_key], [409, "outcome_unknown", false]);
  }
  answer();
  await until(() => look("held"), ({ state }) => state === "executed");
  const found = await send("/held");
  assert.deepEqual([found.status, found.says, found.text], [201, "replayed", "withdrawn"]);
  assert.equal(origin.seen.length, 1);
});

test("an origin's 500 is not pinned to the key: when it is well again, the same key goes through", async () => {
  origin.handle = says(500, undefined, "out of order");
  const ill = await send("/orders");
  assert.deepEqual([ill.status, ill.says, ill.text], [500, "unknown", "out of order"]);
  origin.handle = says(201, "executed", "ordered");
  const well = await until(() => send("/orders"), ({ status }) => status === 201);
  assert.deepEqual([well.says, well.text], ["executed", "ordered"]);
});

test("what an origin says is one of three: it happened, it did not, or nobody knows", async () => {
  const classes = {
    executed: [says(200), says(201), says(303)],
    not_executed: [says(429), says(421), says(404)],
    refused: [says(400), says(402), says(422)],
    unknown: [says(500), says(503), says(504), says(408), says(409), reset, cut],
  };
  for (const [expected, handles] of Object.entries(classes)) {
    for (const handle of handles) {
      const name = randomUUID();
      origin.handle = handle;
      assert.equal((await send("/held", { name })).says, expected);
      origin.clear();
      await send("/held", { name });
      // Only what did not happen may be sent again, and what nobody knows never is.
      assert.equal(origin.seen.length, expected === "not_executed" ? 1 : 0, expected);
    }
  }
});

test("the loser of a race gets the winner's answer, however soon the winner has it", async () => {
  origin.handle = ({ headers }, response) => says(201, "executed", `for ${headers["idempotency-key"]}`)(undefined, response);
  const races = Array.from({ length: 40 }, async () => {
    const name = randomUUID();
    const answers = await Promise.all([send("/races", { name }), send("/races", { name })]);
    assert.deepEqual(answers.map(({ status, text }) => [status, text]), Array(2).fill([201, `for ${name}`]));
    assert.deepEqual(answers.map(({ says }) => says).sort(), ["executed", "replayed"]);
  });
  await Promise.all(races);
  const calls = origin.seen.map(({ headers }) => headers["idempotency-key"]);
  assert.deepEqual([calls.length, new Set(calls).size], [40, 40]);
});

test("a key whose time is over is free, and is claimed by one of many", async () => {
  await send("/brief");
  await until(() => look("brief"), ({ state }) => state === "absent");
  origin.clear();
  let answer;
  origin.handle = (_, response) => {
    answer = () => says(201)(undefined, response);
  };
  const many = Array.from({ length: 20 }, () => send("/brief"));
  await until(() => answer, Boolean);
  answer();
  const answers = await Promise.all(many);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  assert.equal(origin.seen.length, 1);
});

test("one key on two paths, queries or bodies is not one request", async () => {
  origin.handle = ({ url }, response) => says(201, "executed", url)(undefined, response);
  assert.equal((await send("/orders?sku=mug")).text, "/orders?sku=mug");
  for (const path of ["/orders", "/orders?sku=cup", "/refunds?sku=mug"]) {
    const other = await send(path);
    assert.deepEqual([other.status, other.problem.code], [422, "key_reused"], path);
  }
  assert.equal((await send("/orders?sku=mug", { body: "[]" })).status, 422);
  assert.equal(origin.seen.length, 1);
});

test("a waiter that gives up frees nothing: a third request starts nothing", async () => {
  let answer;
  origin.handle = (_, response) => {
    answer = () => says(201, undefined, "paid")(undefined, response);
  };
  const first = send("/held");
  await until(() => answer, Boolean);
  assert.equal((await send("/held")).problem.code, "in_progress");
  const gone = new AbortController();
  const left = fetch(`${stack.gate}/held`, { method: "POST", headers: { ...json, "idempotency-key": key }, body: "{}", signal: gone.signal });
  gone.abort();
  await assert.rejects(left);
  await first;
  const third = await send("/held");
  assert.equal(third.status, 409);
  answer();
  await until(() => look("held"), ({ state }) => state === "executed");
  assert.deepEqual([(await send("/held")).text, origin.seen.length], ["paid", 1]);
});

test("an event that the origin could not take is delivered again until it is taken, and then no more", async () => {
  const body = JSON.stringify({ id: key, type: "invoice.paid" });
  const deliver = () => send("/hooks", { body, headers: { "idempotency-key": randomUUID(), "webhook-signature": randomUUID() } });
  let handled = 0;
  origin.handle = (_, response) => {
    if (origin.seen.length < 3) return says(500)(undefined, response);
    handled++;
    return says(200, "executed")(undefined, response);
  };
  // As senders do: again after every answer that is no success.
  const taken = await until(deliver, ({ status }) => status === 200);
  assert.equal(taken.says, "executed");
  for (const again of [await deliver(), await deliver()]) assert.deepEqual([again.status, again.says], [200, "replayed"]);
  assert.deepEqual([handled, origin.seen.length], [1, 3]);
});

test("ten replays of one key are one answer, also of a gate that was started anew in between", async () => {
  origin.handle = (_, response) => says(201, "executed", randomUUID())(undefined, response);
  const { text } = await send("/orders");
  const replay = async () => assert.deepEqual(await send("/orders").then(({ status, text }) => [status, text]), [201, text]);
  for (let count = 0; count < 5; count++) await replay();
  await stack.tell("kill-gate");
  await stack.tell("start-gate");
  for (let count = 0; count < 5; count++) await replay();
  assert.equal(origin.seen.length, 1);
});
