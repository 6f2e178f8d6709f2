// K6: what an origin is told with a request, what of a forged one reaches it, and requests that come back.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { after, before, beforeEach, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { call, connect } from "../support/raw.mjs";
import { startStack } from "../support/stack.mjs";

const ROUTES = `[
  { name = "pay", methods = ["POST"], path = "/pay", origin = "none" },
  { name = "book", methods = ["POST"], path = "/book/:id", origin = "ledger", client_timeout_ms = 2000, wait_ms = 1000 },
]`.replaceAll("\n", " ");
let [origin, books] = [];
let stack;
let key;

before(async () => {
  [origin, books] = [await startOrigin(), await startOrigin()];
  const table = [`{ path = "/book/*", url = "${books.url}" }`, `{ path = "/self/*", service = "COURIER" }`];
  stack = await startStack({ ROUTES, ORIGINS: `[${table}]` }, origin);
});
after(async () => {
  await stack?.stop();
  await Promise.all([origin?.stop(), books?.stop()]);
});
beforeEach(() => {
  key = randomUUID();
  origin.clear();
  books.clear();
});

const pay = (headers = {}, path = "/pay") => call(stack.gate, path, { key, headers });
const host = () => new URL(stack.gate).host;

test("k6 forged header fields of the gate never reach an origin, in no spelling, protected or not", async () => {
  const forged = {
    "oncegate-attempt": "9",
    "oncegate-operation": "op_forged",
    "oncegate-key-kind": "generated",
    "oncegate-fingerprint": "f".repeat(64),
    "oncegate-message": "{}",
    "oncegate-seal": "0".repeat(64),
    "oncegate-fields": "[]",
    oncegate_attempt: "9",
    "Oncegate-Anything": "x",
    idempotency_key: "other",
    "idempotency-outcome": "executed",
    "idempotency-status": "executed",
    x_forwarded_for: "6.6.6.6",
    x_forwarded_host: "evil.example",
  };
  for (const path of ["/pay", "/free"]) {
    assert.equal((await pay(forged, path)).status, 201);
  }
  const [paid, free] = origin.seen;
  assert.equal(paid.headers["oncegate-attempt"], "1");
  assert.match(paid.headers["oncegate-operation"], /^op_[\w-]{43}$/);
  assert.equal(paid.headers["oncegate-key-kind"], "client");
  for (const { rawHeaders } of [paid, free]) {
    const values = rawHeaders.filter((_, index) => index % 2 === 1);
    for (const value of ["9", "op_forged", "f".repeat(64), "{}", "x", "other", "executed", "6.6.6.6", "evil.example"]) {
      assert.ok(!values.includes(value), value);
    }
  }
  assert.equal(free.headers["oncegate-signature"], undefined);
});

test("k6 a field that an origin may take for another one of the request does not pass beside it", async () => {
  await pay({ "x-tenant": "a", x_tenant: "b", "x.tenant": "b", x_only: "c" });
  const { headers } = origin.seen[0];
  assert.deepEqual([headers["x-tenant"], headers.x_tenant, headers["x.tenant"], headers.x_only], ["a", undefined, undefined, "c"]);
});

test("k6 a field that no origin reads does not have the request refused", async () => {
  const socket = await connect(stack.gate, `POST /pay HTTP/1.1\r\nHost: ${host()}\r\nConnection: close\r\nIdempotency-Key: ${key}\r\nX-Name: a\u0001b\r\nContent-Length: 2\r\n\r\n{}`);
  const [text] = await once(socket, "data");
  assert.match(text.toString(), /^HTTP\/1.1 201 /);
  assert.equal(origin.seen[0].headers["x-name"], undefined);
});

test("k6 a client cannot give its request another path or another way", async () => {
  const misleading = {
    "x-original-url": "/pay",
    "X-Rewrite-URL": "/pay",
    x_original_url: "/pay",
    forwarded: "for=6.6.6.6;host=evil.example",
    "x-forwarded-port": "6666",
    "x-forwarded-prefix": "/evil",
    "x-forwarded-server": "evil",
  };
  for (const path of ["/free", "/pay"]) {
    assert.equal((await pay(misleading, path)).status, 201);
    const names = Object.keys(origin.seen.at(-1).headers);
    for (const name of Object.keys(misleading)) assert.ok(!names.includes(name.toLowerCase()), `${path}: ${name}`);
  }
});

test("k6 a signature is the gate's own or none", async () => {
  const forged = { "oncegate-signature": `t=${Date.now()}, kid=local, v1=${"0".repeat(64)}` };
  assert.equal((await pay(forged)).status, 201);
  assert.equal(origin.seen[0].rawHeaders.filter((name) => /^oncegate-signature$/i.test(name)).length, 1);
  assert.notEqual(origin.seen[0].headers["oncegate-signature"], forged["oncegate-signature"]);
});

// Those that Connection names never arrive here: tests/workerd has them.
test("k6 hop-by-hop header fields, conditions and ranges stay here", async () => {
  const hops = {
    "proxy-authorization": "Basic x",
    "keep-alive": "timeout=5",
    te: "trailers",
    "if-match": '"a"',
    "if-none-match": "*",
    "if-unmodified-since": "Thu, 01 Jan 1970 00:00:00 GMT",
    range: "bytes=0-1",
    "accept-encoding": "br",
    "x-kept": "1",
  };
  assert.equal((await pay(hops)).status, 201);
  const { headers } = origin.seen[0];
  for (const name of Object.keys(hops).filter((name) => !["x-kept", "accept-encoding"].includes(name))) {
    assert.equal(headers[name], undefined, name);
  }
  assert.deepEqual([headers["x-kept"], headers["accept-encoding"]], ["1", "identity"]);
});

test("k6 an origin hears where the request came from, and the client's word is not the last", async () => {
  await pay({ "x-forwarded-for": "6.6.6.6", "x-forwarded-host": "evil.example", "x-forwarded-proto": "gopher" });
  const { headers } = origin.seen[0];
  assert.equal(headers["x-forwarded-for"], "6.6.6.6, 127.0.0.1");
  assert.deepEqual([headers["x-forwarded-host"], headers["x-forwarded-proto"]], [host(), "http"]);
  await pay({}, "/free");
  assert.equal(origin.seen[1].headers["x-forwarded-for"], "127.0.0.1");
});

test("k6 a trace is passed on, and one begins where there is none", async () => {
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await pay({ traceparent, tracestate: "a=b" }, "/free");
  await pay({ traceparent: "00-evil", tracestate: "a=b" }, "/free");
  await pay({}, "/free");
  const [kept, replaced, made] = origin.seen.map(({ headers }) => headers);
  assert.deepEqual([kept.traceparent, kept.tracestate], [traceparent, "a=b"]);
  for (const { traceparent, tracestate } of [replaced, made]) {
    assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    assert.equal(tracestate, undefined);
  }
  assert.notEqual(replaced.traceparent, made.traceparent);
});

test("k6 a request that has passed this gate is a loop, whether it was protected or not", async () => {
  for (const path of ["/pay", "/free"]) {
    await pay({}, path);
    const { method, url, headers } = origin.seen.at(-1);
    const { host: _, "content-length": __, ...passed } = headers;
    const back = await call(stack.gate, url, { method, headers: passed });
    assert.deepEqual([back.status, back.json().code], [508, "loop_detected"], path);
  }
  assert.equal(origin.seen.length, 2);
});

test("k6 a request that goes round through other gates is a loop, too", async () => {
  await call(stack.gate, "/free", { key, headers: { "oncegate-via": "0123456789abcdef, forged" } });
  const via = origin.seen[0].headers["oncegate-via"];
  assert.match(via, /^0123456789abcdef, [0-9a-f]{16}$/);
  for (const passed of [`${via.split(", ")[1]}, fedcba9876543210`, Array(8).fill("0123456789abcdef").join(", ")]) {
    const back = await call(stack.gate, "/free", { key, headers: { "oncegate-via": passed } });
    assert.deepEqual([back.status, back.json().code], [508, "loop_detected"], passed);
  }
});

test("k6 the gate's own valid signature alone is a loop; one for another request is none", async () => {
  await pay();
  const { headers } = origin.seen[0];
  const names = ["idempotency-key", "oncegate-attempt", "oncegate-operation", "oncegate-key-kind", "oncegate-fingerprint", "oncegate-signature"];
  const signed = Object.fromEntries(names.map((name) => [name, headers[name]]));
  const back = await call(stack.gate, "/pay", { headers: signed });
  assert.deepEqual([back.status, back.json().code], [508, "loop_detected"]);
  const moved = await call(stack.gate, "/free", { headers: signed });
  assert.equal(moved.status, 201);
});

test("k6 an origin that is the gate itself ends after one round", async () => {
  const answer = await call(stack.gate, "/self/x", { key });
  assert.deepEqual([answer.status, answer.json().code], [508, "loop_detected"]);
  assert.equal(origin.seen.length, 0);
});

test("each path has its origin, and its ledger is the one that is asked to cancel", async () => {
  await call(stack.gate, "/book/1", { key });
  await pay({}, "/free");
  assert.deepEqual([books.seen.length, origin.seen.length], [1, 1]);
  assert.equal(books.seen[0].url, "/book/1");

  // Open at its ledger; cancelled in the name of a route with another origin.
  key = randomUUID();
  books.handle = (_, response) => response.writeHead(500).end();
  assert.equal((await call(stack.gate, "/book/2", { key })).says, "unknown");
  books.handle = (_, response) => response.writeHead(200, { "idempotency-outcome": "cancelled" }).end();
  const cancelled = await call(stack.gate, "/.oncegate/v1/operations/cancel?route=pay", { key });
  assert.equal(cancelled.json().state, "cancelled");
  assert.equal(books.seen.at(-1).url, "/.oncegate/ledger/cancel");
  assert.equal(origin.seen.length, 1);
});
