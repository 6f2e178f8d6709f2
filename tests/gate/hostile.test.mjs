// Requests that no client of good will sends. Whatever comes, the gate goes on, and nothing reaches a protected path of the origin
// without having been claimed. (What stands in front of the gate here may refuse a request itself, with a status of its own.)

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { call, connect } from "../support/raw.mjs";
import { gateWith, key, origin, stack } from "../support/scripted.mjs";

const ROUTES = `[
  { name = "pay", methods = ["POST", "PUT"], path = "/pay/:id", origin = "none" },
  { name = "form", methods = ["POST"], path = "/form", origin = "none", key = "generated", key_from = { form = "no" } },
  { name = "json", methods = ["POST"], path = "/json", origin = "none", key = "generated", key_from = { json = "/no" }, fingerprint = "json" },
]`.replaceAll("\n", " ");
gateWith({ ROUTES });

/** Sends bytes and waits until the connection ends. */
async function raw(bytes) {
  const socket = await connect(stack.gate, bytes);
  socket.resume();
  await new Promise((resolve) => socket.on("close", resolve));
}

const request = (line, fields = [], body = "") =>
  [line, `Host: ${new URL(stack.gate).host}`, "Connection: close", ...fields, "", body].join("\r\n");

/** Nothing was executed that was not claimed, and the gate goes on. */
async function standsFirm(what) {
  for (const { method, url, headers } of origin.seen) {
    const isProtected = /^\/(pay\/|form|json)/i.test(decodeURIComponent(url)) && ["POST", "PUT"].includes(method);
    assert.ok(!isProtected || headers["oncegate-operation"], `${what}: ${method} ${url}`);
  }
  assert.equal((await call(stack.gate, `/pay/${randomUUID()}`, { key: randomUUID() })).status, 201, `after ${what}`);
}

test("request lines that are not in order", async () => {
  const lines = [
    "post /pay/1 HTTP/1.1",
    "Post /pay/1 HTTP/1.1",
    "POST http://evil.example/pay/1 HTTP/1.1",
    "POST //evil.example/pay/1 HTTP/1.1",
    "POST /pay/1?a=%zz&%= HTTP/1.1",
    "POST /pay/%ff%fe HTTP/1.1",
    "POST /pay/1%0d%0aIdempotency-Key:%20x HTTP/1.1",
    "POST /pay/1#/../free HTTP/1.1",
    `POST /pay/${"a".repeat(9_000)} HTTP/1.1`,
    `POST ${"/x/..".repeat(2_000)}/pay/1 HTTP/1.1`,
    "POST * HTTP/1.1",
    "POST pay/1 HTTP/1.1",
    "POST /pay/1 HTTP/1.0",
    "PROPFIND /pay/1 HTTP/1.1",
    "TRACE /pay/1 HTTP/1.1",
    "CONNECT /pay/1 HTTP/1.1",
    "POST /.oncegate/courier HTTP/1.1",
    "POST /.oncegate/v1/../../pay/1 HTTP/1.1",
    "POST /.oncegate/%2e%2e/pay/1 HTTP/1.1",
    "POST /%2eoncegate/courier HTTP/1.1",
  ];
  for (const line of lines) {
    origin.clear();
    await raw(request(line, [`Idempotency-Key: ${key}`, "Content-Length: 0"]));
    await standsFirm(line);
  }
});

test("header fields that are not in order", async () => {
  const fields = [
    ["Content-Length: 5", "Transfer-Encoding: chunked"],
    ["Content-Length: 5", "Content-Length: 6"],
    ["Content-Length: -1"],
    ["Content-Length: 1e3"],
    ["Transfer-Encoding: chunked, identity", "Content-Length: 3"],
    ["Transfer-Encoding: xchunked"],
    ["Idempotency-Key: \u0000"],
    ["Idempotency-Key: é"],
    ["Idempotency-Key : a"],
    [" Idempotency-Key: a"],
    ["Content-Type: multipart/form-data; boundary="],
    [`Content-Type: multipart/form-data; boundary=${"b".repeat(300)}`],
    ["Content-Type: application/json; charset=utf-7", "Content-Type: text/plain"],
    ["Content-Encoding: gzip"],
    ["Expect: 100-continue"],
    ["Upgrade: websocket", "Connection: upgrade", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="],
    ["Authorization: Bearer " + "a".repeat(9_000)],
    ["Origin: null", "Access-Control-Request-Method: POST"],
  ];
  for (const more of fields) {
    origin.clear();
    const carried = more.some((field) => /Idempotency-Key/.test(field)) ? [] : [`Idempotency-Key: ${randomUUID()}`];
    const length = more.some((field) => /Content-Length|Transfer-Encoding/.test(field)) ? [] : ["Content-Length: 5"];
    await raw(request("POST /pay/1 HTTP/1.1", [...carried, ...length, ...more], "hello"));
    await standsFirm(more.join(" | "));
  }
});

test("bodies that are not what they say", async () => {
  const form = "application/x-www-form-urlencoded";
  const multipart = "multipart/form-data; boundary=x";
  const bodies = [
    ["/form", form, ""],
    ["/form", form, "&=&%&no"],
    ["/form", form, "no=1&no=2"],
    ["/form", form, "no=1&No=2"],
    ["/form", form, "no=1&no[]=2"],
    ["/form", form, "no=1&[no]=2"],
    ["/form", form, "no=1;no=2"],
    ["/form", `${form}; charset=utf-7`, "no=1"],
    ["/form?no=2", form, "no=1"],
    ["/form", form, "no=%ff"],
    ["/form", multipart, "--x"],
    ["/form", multipart, '--x\r\nContent-Disposition: form-data; name="no"\r\n\r\n1'],
    ["/form", multipart, '--x\r\nContent-Disposition: form-data; name="no"; name="other"\r\n\r\n1\r\n--x--'],
    ["/form", "application/json", '{"no":1}'],
    ["/json", "application/json", ""],
    ["/json", "application/json", "\ufeff{}"],
    ["/json", "application/json", "[".repeat(100_000)],
    ["/json", "application/json", '{"no":"\\ud800"}'],
    ["/json", "application/json", '{"no":1,"\\u006eo":2}'],
    ["/json", "application/json", '{"no":1,"NO":2}'],
    ["/json", "application/json", '{"no":1.0}'],
    ["/json", form, '{"no":1,"a":"&no=2&"}'],
    ["/json", "application/json", '{"no":"a,b"}'],
    ["/json", "application/json", `{"no":"${"n".repeat(256)}"}`],
    ["/json", "application/json", '{"__proto__":{"no":1}}'],
  ];
  for (const [path, type, body] of bodies) {
    origin.clear();
    const { status, bytes } = await call(stack.gate, path, { headers: { "content-type": type }, body });
    assert.ok([400, 413].includes(status), `${body.slice(0, 60)}: ${status} ${bytes}`);
    assert.equal(origin.seen.length, 0, body.slice(0, 60));
    await standsFirm(body.slice(0, 60));
  }
});

test("nothing of it has shaken the gate", async () => {
  const log = await readFile(join(stack.folder, "gate.log"), "utf8");
  const shaken = log.split("\n").filter((line) => /panicked|RuntimeError|"level":"error"/.test(line));
  assert.deepEqual(shaken, []);
});
