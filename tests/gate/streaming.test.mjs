// Answers that are too large to be kept, or have no end: they pass as they come, and the record knows how they ended.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { answerRaw, call, connect } from "../support/raw.mjs";
import { gateWith, key, origin, stack } from "../support/scripted.mjs";
import { lookUp, until } from "../support/stack.mjs";

const MB = 1_000_000;
const route = (origin) =>
  `{ name = "${origin}", methods = ["POST"], path = "/${origin}", origin = "${origin}", wait_ms = 200, lease_ms = 60000 }`;

gateWith({ ROUTES: `[${route("none")}, ${route("ledger")}]` });

const send = (path = "/none", options = {}) => call(stack.gate, path, { key, ...options });
const look = (route = "none") => lookUp(stack, key, route);
const sum = (bytes) => createHash("sha256").update(bytes).digest("hex");
const bytesOf = (length) => Buffer.from(Array.from({ length: 9_973 }, (_, index) => index % 251)).toString("latin1").repeat(Math.ceil(length / 9_973)).slice(0, length);

/** An answer whose end the test decides: `write` and `end` as in node, `sent` is done when all of it was taken. */
function held(headers, first) {
  let begun;
  const answered = new Promise((resolve) => (begun = resolve));
  origin.handle = (_, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream", ...headers });
    response.write(first);
    begun(response);
  };
  return answered;
}

/** Begins a request and stops as soon as the answer has begun: its head, the first bytes that come of it, and its end. */
function beginning(path) {
  let end;
  const begun = new Promise((resolve, reject) => {
    // The first bytes may come with the head: who listens for them only later hears nothing.
    const onHead = (head) => resolve({ head, first: new Promise((came) => head.once("data", came)) });
    end = send(path, { onHead });
    end.catch(reject);
  });
  return begun.then((begun) => ({ ...begun, end }));
}

for (const [size, framing] of [[3 * MB, "announced"], [3 * MB, "chunked"], [20 * MB, "announced"], [20 * MB, "chunked"]]) {
  test(`p6 ${size / MB} MB, ${framing}: passed on whole, not kept, executed once`, async () => {
    const bytes = Buffer.from(bytesOf(size), "latin1");
    origin.handle = (_, response) => {
      const length = framing === "announced" ? { "content-length": size } : {};
      response.writeHead(200, { "content-type": "application/octet-stream", ...length });
      response.end(bytes);
    };
    const first = await send();
    assert.deepEqual([first.status, first.says, first.whole], [200, "executed", true]);
    assert.equal(sum(first.bytes), sum(bytes));
    if (framing === "announced") assert.equal(first.headers["content-length"], String(size));
    const again = await until(() => send(), (answer) => answer.json().code !== "in_progress");
    assert.deepEqual([again.status, again.json().code, again.json().executed], [409, "result_unavailable", true]);
    assert.equal(origin.seen.length, 1);
  });
}

test("p6 a coded answer passes byte by byte, however large", async () => {
  const coded = gzipSync(randomBytes(3 * MB));
  origin.handle = (_, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream", "content-encoding": "gzip", "content-length": coded.length });
    response.end(coded);
  };
  const first = await send("/none", { headers: { "accept-encoding": "gzip" } });
  assert.deepEqual([first.says, first.headers["content-encoding"], first.whole], ["executed", "gzip", true]);
  assert.equal(sum(first.bytes), sum(coded));
});

test("p6 an answer of unknown length that turns out to be small is kept", async () => {
  origin.handle = (_, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("a");
    response.end("b");
  };
  const first = await send();
  const again = await send("/none", { headers: { "cache-control": "no-cache" } });
  assert.deepEqual([first.says, again.says, again.bytes.toString()], ["executed", "replayed", "ab"]);
});

test("p6 the record is settled by the end of the answer, not by its beginning", async () => {
  const answered = held({ "content-length": 3 * MB }, bytesOf(MB));
  const { head, end } = await beginning("/none");
  assert.equal(head.headers["idempotency-status"], "executed");
  const during = await look();
  assert.deepEqual([during.state, during.executed, during.unsettled], ["dispatched", null, 1]);
  assert.equal((await send()).json().code, "in_progress");
  (await answered).end(bytesOf(2 * MB));
  assert.ok((await end).whole);
  const settled = await until(() => look(), (seen) => seen.unsettled === 0);
  assert.deepEqual([settled.state, settled.executed], ["executed", true]);
});

test("p6 an answer that breaks off leaves the operation unknown", async () => {
  const answered = held({ "content-length": 3 * MB }, bytesOf(MB));
  const { end } = await beginning("/none");
  (await answered).destroy();
  assert.equal((await end).whole, false, "the client sees that it is not whole");
  const seen = await until(() => look(), (seen) => seen.state !== "dispatched");
  assert.deepEqual([seen.state, seen.executed, seen.safe_new_key], ["unknown", null, false]);
  const again = await send();
  assert.deepEqual([again.status, again.json().code, origin.seen.length], [409, "outcome_unknown", 1]);
});

const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
const chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";

for (const length of [5, 10, 20]) {
  test(`p6 ten bytes in chunks are ten bytes, though the answer announces ${length} beside them`, async () => {
    const both = chunked.replace("text/plain", `text/event-stream\r\nContent-Length: ${length}`);
    origin.handle = (request) => answerRaw(request, `${both}${chunk("hello")}${chunk("world")}${chunk("")}`);
    const first = await send();
    assert.deepEqual([first.status, first.says, first.whole, first.bytes.toString()], [200, "executed", true, "helloworld"]);
    assert.equal((await look()).state, "executed");
  });
}

test("a small chunked answer that is closed without its last chunk is not whole", async () => {
  origin.handle = (request) => answerRaw(request, `${chunked}${chunk("cut")}`);
  const cut = await send();
  assert.deepEqual([cut.status, cut.json().code, cut.says], [502, "outcome_unknown", "unknown"]);
  assert.equal((await look()).state, "unknown");
});

test("p6 a large chunked answer that is closed without its last chunk leaves the operation unknown", async () => {
  origin.handle = (request) => answerRaw(request, `${chunked}${chunk(bytesOf(3 * MB))}`);
  const cut = await send();
  assert.equal(cut.says, "executed", "so said the head");
  assert.equal(cut.whole, false, "the client sees that it is not whole");
  const seen = await until(() => look(), (seen) => seen.state !== "dispatched");
  assert.deepEqual([seen.state, seen.executed], ["unknown", null]);
});

test("an answer that is shorter than it announces is not whole", async () => {
  origin.handle = (request) => answerRaw(request, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\ncut");
  const cut = await send();
  assert.deepEqual([cut.status, cut.json().code, cut.says], [502, "outcome_unknown", "unknown"]);
});

test("p6 a ledger's header proves at once, whatever becomes of the body", async () => {
  const answered = held({ "content-length": 3 * MB, "idempotency-outcome": "executed" }, bytesOf(MB));
  const { head, end } = await beginning("/ledger");
  assert.equal(head.headers["idempotency-status"], "executed");
  assert.deepEqual([(await look("ledger")).state, (await send("/ledger")).json().code], ["executed", "result_unavailable"]);
  (await answered).destroy();
  await end;
  assert.deepEqual([(await look("ledger")).state, (await look("ledger")).unsettled, origin.seen.length], ["executed", 0, 1]);
});

test("p6 a client that leaves in the middle does not stop the reading", async () => {
  const answered = held({ "content-length": 20 * MB }, bytesOf(MB));
  const { head, end } = await beginning("/none");
  head.destroy();
  await end;
  const response = await answered;
  const taken = new Promise((resolve) => response.end(bytesOf(19 * MB), resolve));
  await taken;
  const seen = await until(() => look(), (seen) => seen.unsettled === 0);
  assert.deepEqual([seen.state, seen.executed], ["executed", true]);
  assert.equal((await send()).json().code, "result_unavailable");
});

test("p6 a client that has left before the answer began does not stop the reading", async () => {
  let begin;
  const asked = new Promise((resolve) => {
    origin.handle = (_, response) => {
      begin = () => response.writeHead(200, { "content-length": 3 * MB }).end(bytesOf(3 * MB));
      resolve();
    };
  });
  const { hostname, port } = new URL(stack.gate);
  const head = `POST /none HTTP/1.1\r\nHost: ${hostname}:${port}\r\nIdempotency-Key: ${key}\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}`;
  const socket = await connect(stack.gate, head);
  await asked;
  socket.destroy();
  begin();
  const seen = await until(() => look(), (seen) => seen.unsettled === 0 && seen.attempts === 1);
  assert.equal(seen.state, "executed");
});

test("p6 events reach the client while they happen", async () => {
  const answered = held({ "content-type": "text/event-stream" }, "data: one\n\n");
  const { first, end } = await beginning("/none");
  assert.equal((await first).toString(), "data: one\n\n", "before the answer has ended");
  (await answered).end("data: two\n\n");
  const whole = await end;
  assert.deepEqual([whole.whole, whole.bytes.toString()], [true, "data: one\n\ndata: two\n\n"]);
  await until(() => look(), (seen) => seen.state === "executed");
});
