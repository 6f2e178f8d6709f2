// What the origin answers is what the client gets, the first time and again.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import zlib from "node:zlib";

import { answerRaw, call } from "../support/raw.mjs";
import { gateWith, key, origin, stack } from "../support/scripted.mjs";

gateWith({ origin: "none" });

/** The same request twice: the first answer and its replay, of one call to the origin. What the gate still remembers is what its shard has. */
async function twice(options = {}) {
  const first = await call(stack.gate, "/orders", { key, ...options });
  const again = await call(stack.gate, "/orders", { key, ...options });
  const stored = await call(stack.gate, "/orders", { key, ...options, headers: { ...options.headers, "cache-control": "no-cache" } });
  assert.equal(origin.seen.length, 1, "the origin is called once");
  assert.deepEqual([again.status, again.says], [stored.status, stored.says]);
  if (again.says === "replayed") {
    assert.ok(again.bytes.equals(stored.bytes));
    assert.deepEqual({ ...again.headers, date: undefined }, { ...stored.headers, date: undefined });
  }
  assert.equal(first.headers["idempotency-replayed"], undefined);
  return { first, again };
}

function assertReplayed({ first, again }, bytes) {
  assert.deepEqual([first.says, again.says], ["executed", "replayed"]);
  assert.equal(again.headers["idempotency-replayed"], "true");
  assert.equal(again.status, first.status);
  for (const answer of [first, again]) {
    assert.ok(answer.whole, "its framing is valid");
    assert.ok(answer.bytes.equals(bytes), `${answer.says}: ${answer.bytes.length} bytes instead of ${bytes.length}`);
  }
}

const plain = Buffer.from(JSON.stringify({ order: 17, note: "ä€😀".repeat(500) }));
const CODINGS = {
  gzip: zlib.gzipSync(plain),
  br: zlib.brotliCompressSync(plain),
  deflate: zlib.deflateSync(plain),
  zstd: zlib.zstdCompressSync(plain),
};

for (const [coding, coded] of Object.entries(CODINGS)) {
  test(`a ${coding} answer passes and is replayed byte by byte`, async () => {
    origin.handle = (_, response) => {
      response.writeHead(201, { "content-type": "application/json", "content-encoding": coding, "content-length": coded.length });
      response.end(coded);
    };
    const answers = await twice({ headers: { "accept-encoding": coding } });
    assertReplayed(answers, coded);
    for (const answer of Object.values(answers)) assert.equal(answer.headers["content-encoding"], coding);
    assert.equal(origin.seen[0].headers["accept-encoding"], "identity", "the origin is asked not to code it");
  });

  test(`a ${coding} answer of a path that is not protected passes byte by byte`, async () => {
    origin.handle = (_, response) => {
      response.writeHead(200, { "content-encoding": coding, "content-length": coded.length });
      response.end(coded);
    };
    const answer = await call(stack.gate, "/page", { method: "GET", headers: { "accept-encoding": coding } });
    assert.equal(answer.headers["content-encoding"], coding);
    assert.ok(answer.bytes.equals(coded));
  });
}

test("every byte value passes and is replayed", async () => {
  const bytes = Buffer.from(Array.from({ length: 256 * 300 }, (_, index) => (index * 7 + (index >> 8)) % 256));
  origin.handle = (_, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": bytes.length });
    response.end(bytes);
  };
  assertReplayed(await twice(), bytes);
});

for (const status of [204, 205, 304]) {
  test(`a ${status} has no body, the first time and again`, async () => {
    origin.handle = (_, response) => response.writeHead(status, { etag: '"v1"', "x-own": "1" }).end();
    const answers = await twice();
    assertReplayed(answers, Buffer.alloc(0));
    assert.deepEqual([answers.first.status, answers.again.headers.etag], [status, '"v1"']);
  });
}

test("an empty 200 is empty again", async () => {
  origin.handle = (_, response) => response.writeHead(200, { "content-length": "0" }).end();
  assertReplayed(await twice(), Buffer.alloc(0));
});

for (const status of [301, 302, 303, 307, 308]) {
  test(`a ${status} is passed on and not followed`, async () => {
    const elsewhere = `${origin.url}/elsewhere`;
    origin.handle = (_, response) => response.writeHead(status, { location: elsewhere }).end("see there");
    const answers = await twice();
    assertReplayed(answers, Buffer.from("see there"));
    assert.equal(answers.first.status, status);
    for (const answer of Object.values(answers)) assert.equal(answer.headers.location, elsewhere);
  });
}

test("a 201 is replayed as a 201 with its Location", async () => {
  origin.handle = (_, response) => response.writeHead(201, { location: "/orders/17", "content-type": "text/plain" }).end("made");
  const answers = await twice();
  assertReplayed(answers, Buffer.from("made"));
  assert.deepEqual([answers.again.status, answers.again.headers.location], [201, "/orders/17"]);
});

test("a chunked answer is replayed with valid framing", async () => {
  const parts = ["one", "two", "three".repeat(5_000)];
  origin.handle = (_, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    parts.forEach((part) => response.write(part));
    response.end();
  };
  const answers = await twice();
  assertReplayed(answers, Buffer.from(parts.join("")));
  const { headers } = answers.again;
  assert.ok(!(headers["transfer-encoding"] && headers["content-length"]), "one framing, not two");
});

test("trailing header fields do not get into the body", async () => {
  origin.handle = (_, response) => {
    response.writeHead(200, { trailer: "x-sum", "content-type": "text/plain" });
    response.write("body");
    response.addTrailers({ "x-sum": "abc" });
    response.end();
  };
  assertReplayed(await twice(), Buffer.from("body"));
});

test("p5 cookies and challenges come with the first answer only, each on its own line", async () => {
  const cookies = ["a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2", "c=3; HttpOnly"];
  origin.handle = (_, response) => {
    response.writeHead(200, { "set-cookie": cookies, "www-authenticate": 'Basic realm="x"', "x-own": "1", "content-type": "text/plain" });
    response.end("in");
  };
  const answers = await twice();
  assertReplayed(answers, Buffer.from("in"));
  assert.deepEqual(answers.first.all("set-cookie"), cookies);
  assert.equal(answers.first.headers["www-authenticate"], 'Basic realm="x"');
  for (const name of ["set-cookie", "www-authenticate", "x-own"]) assert.equal(answers.again.headers[name], undefined, name);
  assert.equal(answers.again.headers["content-type"], "text/plain");
});

test("a field that no client reads does not take the answer with it", async () => {
  origin.handle = (request) =>
    answerRaw(request, "HTTP/1.1 200 OK\r\nLocation: /\u0001\r\nX-Name: a\u007f\r\nETag: w\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  const { first, again } = await twice();
  for (const { bytes, headers } of [first, again]) {
    assert.deepEqual([bytes.toString(), headers.location, headers["x-name"], headers.etag], ["ok", undefined, undefined, "w"]);
  }
});

test("p5 what an answer says of its connection is not replayed", async () => {
  origin.handle = (_, response) => response.writeHead(200, { connection: "etag", etag: '"v1"', location: "/orders/17" }).end("x");
  const { first, again } = await twice();
  for (const { headers } of [first, again]) assert.deepEqual([headers.etag, headers.location], [undefined, "/orders/17"]);
});

test("p3 an origin does not speak in the gate's name", async () => {
  const forged = { "idempotency-status": "refused", "idempotency-replayed": "true", "oncegate-operation": "op_forged", "oncegate-remember": "2000" };
  origin.handle = (_, response) => response.writeHead(200, forged).end("x");
  const { first } = await twice();
  assert.equal(first.says, "executed");
  assert.notEqual(first.headers["oncegate-operation"], "op_forged");
  assert.equal(first.headers["oncegate-remember"], undefined);
});

test("a status over 599 cannot be passed on by a path that is not protected, either", async () => {
  origin.handle = (request) => answerRaw(request, "HTTP/1.1 999 Odd\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  const read = await call(stack.gate, "/page", { method: "GET" });
  assert.deepEqual([read.status, read.json().code], [502, "origin_unreachable"]);
  const sent = await call(stack.gate, "/page");
  assert.deepEqual([sent.status, sent.json().code], [502, "outcome_unknown"]);
});

test("a status over 599 cannot be passed on, and proves nothing", async () => {
  origin.handle = (request) => answerRaw(request, "HTTP/1.1 999 Odd\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  const { first, again } = await twice();
  assert.deepEqual([first.status, first.json().code, first.says], [502, "outcome_unknown", "unknown"]);
  assert.deepEqual([again.status, again.json().code, again.says], [409, "outcome_unknown", "unknown"]);
});

test("an answer that switches protocols is none, and does not take the requests beside it with it", async () => {
  const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
  const beside = randomUUID();
  const asked = (name) => origin.seen.filter(({ headers }) => headers["idempotency-key"] === name);
  const released = new Promise((resolve) => {
    origin.handle = async (request, response) => {
      if (request.headers["idempotency-key"] !== beside) return answerRaw(request, switching);
      resolve(() => origin.done(request, response));
    };
  });
  const slow = call(stack.gate, "/orders", { key: beside });
  const answer = await released;
  const first = await call(stack.gate, "/orders", { key });
  const again = await call(stack.gate, "/orders", { key });
  assert.deepEqual([first.status, first.json().code, first.says], [502, "outcome_unknown", "unknown"]);
  assert.deepEqual([again.status, again.json().code, again.says], [409, "outcome_unknown", "unknown"]);
  assert.equal(asked(key).length, 1);
  const read = await call(stack.gate, "/page", { method: "GET" });
  assert.deepEqual([read.status, read.json().code], [502, "origin_unreachable"]);
  answer();
  assert.deepEqual([(await slow).status, (await slow).says], [201, "executed"]);
  assert.doesNotMatch(await readFile(join(stack.folder, "gate.log"), "utf8"), /panicked/);
});
