// What an answer says about its attempt, where the route knows how to read it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import zlib from "node:zlib";

import { startOrigin } from "../support/origin.mjs";
import { answerRaw, call } from "../support/raw.mjs";
import { startStack } from "../support/stack.mjs";

let origin;
let stack;
let key;

const route = (name, settings) => `{ name = "${name}", methods = ["POST"], path = "/${name}", wait_ms = 200, ${settings} }`;

before(async () => {
  origin = await startOrigin();
  const json = `outcome = { json = "/result/code", executed = [0, 200, "ok", "支払済"], refused = ["declined"], not_executed = [503], else = "unknown" }`;
  const header = `outcome = { header = "X-Result", executed = ["done"], refused = ["no"], else = "unknown" }`;
  const lists = `not_executed = [503], refused = [409], unknown = [401, 201]`;
  const routes = [
    route("json", `origin = "none", ${json}`),
    route("header", `origin = "none", ${header}`),
    route("lists", `origin = "none", ${lists}`),
    route("ledger", `origin = "ledger"`),
    route("small", `origin = "none", max_answer_bytes = 1000, replay_headers = ["X-Order-Id"]`),
    route("status", `origin = "none", store = "status"`),
    route("stream", `origin = "none", stream = true`),
  ];
  stack = await startStack({ ROUTES: `[${routes.join(", ")}]` }, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => {
  origin.clear();
  key = randomUUID();
});

const send = (path) => call(stack.gate, path, { key });

/** What the origin answers from now on. */
function answers(status, body, headers = {}) {
  origin.handle = (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  };
}

const coded = (code) => ({ note: { code: 0 }, result: { text: "ä", code } });

for (const [code, says] of [[0, "executed"], [200, "executed"], ["ok", "executed"], ["declined", "refused"], [503, "not_executed"], [7, "unknown"], [null, "unknown"]]) {
  test(`a2 a 200 with the code ${JSON.stringify(code)} inside says ${says}`, async () => {
    answers(200, coded(code));
    const first = await send("/json");
    assert.deepEqual([first.status, first.says], [200, says]);
    assert.deepEqual(first.json(), coded(code), "the answer is the origin's");
    const again = await send("/json");
    if (says === "unknown") assert.deepEqual([again.status, again.json().code], [409, "outcome_unknown"]);
    if (says === "executed") assert.deepEqual([again.says, again.json()], ["replayed", coded(code)]);
    if (says === "refused") assert.deepEqual([again.says, again.headers["idempotency-replayed"]], ["refused", "true"]);
    assert.equal(origin.seen.length, says === "not_executed" ? 2 : 1);
  });
}

const UNREADABLE = {
  "no JSON": "<html>200 OK</html>",
  "JSON without the member": "{}",
  "a member that is there twice": '{"result":{"code":0},"result":{"code":7}}',
  "nothing": "",
};
for (const [what, body] of Object.entries(UNREADABLE)) {
  test(`a2 a 200 in which nothing can be read proves nothing: ${what}`, async () => {
    answers(200, body);
    assert.equal((await send("/json")).says, "unknown");
    assert.equal((await send("/json")).json().code, "outcome_unknown");
    assert.equal(origin.seen.length, 1);
  });
}

test("a2 a code in any writing is compared as it is, and no key gets into the log by it", async () => {
  for (const [code, says] of [["支払済", "executed"], ["支払", "unknown"], ["é", "unknown"], ["\u{1d11e}", "unknown"]]) {
    key = randomUUID();
    answers(200, coded(code));
    assert.equal((await send("/json")).says, says);
    const log = await readFile(join(stack.folder, "gate.log"), "utf8");
    assert.ok(!log.includes(key), code);
  }
});

test("a2 the code is read in the whole body, and not in a coded one", async () => {
  answers(200, { fill: "x".repeat(500_000), result: { code: 0 } });
  assert.equal((await send("/json")).says, "executed");
  key = randomUUID();
  answers(200, zlib.gzipSync(JSON.stringify(coded(0))), { "content-encoding": "gzip" });
  assert.equal((await send("/json")).says, "unknown");
});

test("a2 a status says nothing where the code may be in JSON that cannot be read", async () => {
  const gzip = zlib.gzipSync(JSON.stringify(coded("busy")));
  for (const [body, headers, says] of [
    [gzip, { "content-encoding": "gzip" }, "unknown"],
    ['{"result":{"code":"busy","code":"declined"}}', {}, "unknown"],
    ["{}", {}, "refused"],
    [gzip, { "content-encoding": "gzip", "content-type": "text/html" }, "refused"],
  ]) {
    key = randomUUID();
    answers(400, body, headers);
    assert.equal((await send("/json")).says, says, `${body}`);
  }
});

test("a2 a failing status with a code that nobody listed proves nothing", async () => {
  answers(500, coded(1));
  assert.equal((await send("/json")).says, "unknown");
});

for (const [value, says] of [["done", "executed"], ["no", "refused"], ["else", "unknown"]]) {
  test(`a2 a header field that says ${value} says ${says}`, async () => {
    answers(200, {}, { "x-result": value });
    assert.equal((await send("/header")).says, says);
  });
}

for (const [status, says] of [[503, "not_executed"], [409, "refused"], [401, "unknown"], [201, "unknown"], [200, "executed"], [500, "unknown"]]) {
  test(`a3 a route that lists statuses takes a ${status} for ${says}`, async () => {
    answers(status, {});
    assert.equal((await send("/lists")).says, says);
  });
}

test("a1 a ledger's header counts whatever its status, even one that cannot be passed on", async () => {
  origin.handle = (request) =>
    answerRaw(request, "HTTP/1.1 999 Odd\r\nIdempotency-Outcome: executed\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  const first = await send("/ledger");
  assert.deepEqual([first.status, first.json().code, first.json().executed], [409, "result_unavailable", true]);
  assert.equal((await send("/ledger")).json().code, "result_unavailable");
  assert.equal(origin.seen.length, 1);
});

const SAID_BY_A_GATE = [
  [410, "result_expired", "executed", "executed"],
  [422, "key_reused", "executed", "unknown"],
  [402, undefined, "unknown", "unknown"],
  [402, undefined, "refused", "refused"],
  [200, "replayed", "replayed", "executed"],
  [409, "in_progress", "in_progress", "unknown"],
];
for (const [status, decision, state, says] of SAID_BY_A_GATE) {
  test(`a3 an origin that is a gate itself and says ${status} ${decision ?? "dispatched"}, ${state}, says ${says}`, async () => {
    const mark = { "idempotency-status": state, "oncegate-operation": "op_there", "oncegate-key-kind": "client", ...(decision && { "oncegate-decision": decision }) };
    answers(status, {}, mark);
    assert.equal((await send("/small")).says, says);
  });
}

test("a3 a gate's own word counts before that of what stands behind it", async () => {
  const mark = { "idempotency-status": "unknown", "oncegate-key-kind": "client", "idempotency-outcome": "not_executed" };
  answers(409, {}, mark);
  assert.equal((await send("/small")).says, "unknown");
});

test("a1 a ledger that answers with a gate's marks only has said nothing", async () => {
  answers(200, {}, { "idempotency-status": "executed", "oncegate-operation": "op_there", "oncegate-key-kind": "client" });
  assert.equal((await send("/ledger")).says, "unknown");
});

test("p5 a route adds header fields to its replays", async () => {
  answers(201, { made: true }, { "x-order-id": "17", "x-other": "1" });
  await send("/small");
  const again = await send("/small");
  assert.deepEqual([again.says, again.headers["x-order-id"], again.headers["x-other"]], ["replayed", "17", undefined]);
});

test("p6 an answer above the route's own limit passes and is not kept", async () => {
  const large = { text: "x".repeat(2_000) };
  answers(201, large);
  assert.deepEqual((await send("/small")).json(), large);
  assert.equal((await send("/small")).json().code, "result_unavailable");
  assert.equal(origin.seen.length, 1);
});

test("a route that keeps the status only says that it happened, and nothing that was said", async () => {
  answers(201, { secret: 1 }, { location: "/orders/1" });
  assert.deepEqual((await send("/status")).json(), { secret: 1 });
  const again = await send("/status");
  assert.deepEqual([again.status, again.json().code, again.json().executed], [409, "result_unavailable", true]);
  assert.equal(again.headers.location, undefined);
});

test("p6 a streaming route passes small answers as they come, too", async () => {
  let end;
  origin.handle = (_, response) => {
    response.writeHead(200, { "content-type": "text/plain", "content-length": "8" });
    response.write("half");
    end = () => response.end("half");
  };
  const head = await new Promise((resolve, reject) => {
    const sent = call(stack.gate, "/stream", { key, onHead: (response) => resolve({ response, sent }) });
    sent.catch(reject);
  });
  assert.equal(head.response.headers["idempotency-status"], "executed", "before the answer has ended");
  end();
  const whole = await head.sent;
  assert.deepEqual([whole.whole, whole.bytes.toString(), whole.headers["content-length"]], [true, "halfhalf", "8"]);
});
