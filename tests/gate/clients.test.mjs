// Clients that leave, cut off, or take their time: nobody but themselves notices.

import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";

import { call, connect } from "../support/raw.mjs";
import { gateWith, key, origin, stack } from "../support/scripted.mjs";
import { lookUp, until } from "../support/stack.mjs";

gateWith({ origin: "none", wait_ms: 500, client_timeout_ms: 2_000 });

const BODY = JSON.stringify({ cart: [{ sku: "mug", quantity: 1 }], note: "x".repeat(1_000) });
const look = (of = key) => lookUp(stack, of);
const send = (options = {}) => call(stack.gate, "/orders", { key, body: BODY, ...options });
const settled = () => until(() => look(), (seen) => seen.unsettled === 0 && seen.attempts > 0);

function head(framing, of = key) {
  const { hostname, port } = new URL(stack.gate);
  const lines = ["POST /orders HTTP/1.1", `Host: ${hostname}:${port}`, "Content-Type: application/json", `Idempotency-Key: ${of}`, framing];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
const announced = (length = BODY.length) => `Content-Length: ${length}`;
const CHUNKED = "Transfer-Encoding: chunked";
const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** An origin whose answer the test releases. */
function held() {
  let arrived;
  let release;
  const came = new Promise((resolve) => (arrived = resolve));
  origin.handle = (request, response) => {
    release = () => {
      response.writeHead(201, { location: "/orders/17", "content-type": "text/plain" });
      response.end("made");
    };
    arrived();
  };
  return { came, release: () => release() };
}

test("a client that leaves while the origin works changes nothing: one effect, and its answer for who asks again", async () => {
  const { came, release } = held();
  const socket = await connect(stack.gate, `${head(announced())}${BODY}`);
  await came;
  socket.destroy();
  assert.equal((await send()).json().code, "in_progress");
  release();
  await settled();
  const again = await send();
  assert.deepEqual([again.status, again.says, again.headers.location], [201, "replayed", "/orders/17"]);
  assert.equal(again.bytes.toString(), "made");
  assert.equal(origin.seen.length, 1);
});

test("a client that leaves with its last byte changes nothing", async () => {
  const socket = await connect(stack.gate, `${head(announced())}${BODY}`);
  socket.destroy();
  // Whether the request arrived is the network's to say; that it is executed at most once is the gate's.
  const again = await send();
  assert.ok(["executed", "replayed"].includes(again.says) || again.json().code === "in_progress", again.says);
  await settled();
  assert.equal(origin.seen.length, 1);
});

test("a4 a client that hears in_progress and leaves is answered later, however long the origin takes", async () => {
  const { came, release } = held();
  const first = await send();
  assert.deepEqual([first.status, first.json().code], [409, "in_progress"]);
  await came;
  release();
  await settled();
  assert.deepEqual([(await send()).says, origin.seen.length], ["replayed", 1]);
});

const CUTS = {
  "announced, nothing sent": () => head(announced()),
  "announced, one byte missing": () => `${head(announced())}${BODY.slice(0, -1)}`,
  "announced longer than the JSON in it": () => `${head(announced(BODY.length + 10))}${BODY}`,
  "chunked, nothing sent": () => head(CHUNKED),
  "chunked, in the middle of a size": () => `${head(CHUNKED)}${BODY.length.toString(16)}`,
  "chunked, in the middle of a chunk": () => `${head(CHUNKED)}${chunk(BODY).slice(0, -20)}`,
  "chunked, whole JSON without the last chunk": () => `${head(CHUNKED)}${chunk(BODY)}`,
  "chunked, in the middle of the last chunk": () => `${head(CHUNKED)}${chunk(BODY)}0\r\n`,
};

for (const [name, upload] of Object.entries(CUTS)) {
  test(`a body that breaks off is never executed: ${name}`, async () => {
    const socket = await connect(stack.gate, upload());
    socket.end();
    await new Promise((resolve) => socket.on("close", resolve).resume());
    assert.equal((await send({ key: `${key}-next` })).says, "executed", "who comes after it is served");
    assert.equal((await look()).state, "absent");
    assert.equal(origin.seen.length, 1);
    assert.equal((await send()).says, "executed", "the key is as good as new");
  });
}

test("slow bodies hold nothing but their own request", async () => {
  const keys = Array.from({ length: 40 }, (_, index) => `${key}-${index}`);
  const sockets = await Promise.all(
    keys.map((of, index) => connect(stack.gate, index % 2 ? `${head(announced(), of)}${BODY.slice(0, 500)}` : `${head(CHUNKED, of)}${chunk(BODY.slice(0, 500))}`)),
  );
  for (let count = 0; count < 10; count += 1) assert.equal((await send({ key: `${key}-fast-${count}` })).says, "executed");
  assert.equal(origin.seen.length, 10, "none of the slow ones has got to the origin");
  sockets.forEach((socket, index) => socket.write(index % 2 ? BODY.slice(500) : `${chunk(BODY.slice(500))}0\r\n\r\n`));
  for (const of of keys) await until(() => look(of), (seen) => seen.state === "executed");
  sockets.forEach((socket) => socket.destroy());
  assert.equal(origin.seen.length, 50);
});

test("k3 the same body, chunked or announced, is one request", async () => {
  const first = await send({ headers: { "content-length": String(BODY.length) } });
  const again = await send({ headers: { "transfer-encoding": "chunked" } });
  assert.deepEqual([first.says, again.says], ["executed", "replayed"]);
  const pieces = await new Promise((resolve, reject) => {
    const options = { method: "POST", headers: { "content-type": "application/json", "idempotency-key": key }, agent: false };
    const request = http.request(`${stack.gate}/orders`, options, (response) => resolve(response.resume()));
    request.on("error", reject);
    for (const piece of BODY.match(/.{1,7}/g)) request.write(piece);
    request.end();
  });
  assert.equal(pieces.headers["idempotency-status"], "replayed");
  assert.deepEqual([origin.seen.length, origin.seen[0].body.toString()], [1, BODY]);
});

test("k6 a client that waits for 100 Continue is served, and the origin is not asked to say it", async () => {
  const socket = await connect(stack.gate, head(`${announced()}\r\nExpect: 100-continue`));
  let said = "";
  socket.on("data", (data) => (said += data));
  await until(() => said, (said) => said.startsWith("HTTP/1.1 100"));
  socket.write(BODY);
  await until(() => said, (said) => said.includes("HTTP/1.1 201"));
  socket.destroy();
  assert.equal(origin.seen[0].headers.expect, undefined);
});
