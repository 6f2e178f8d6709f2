// What happens before a claim, against an origin that keeps what it receives: which requests are protected, under which key, and what
// of a hostile one gets as far as the origin.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import net from "node:net";
import { test } from "node:test";

import { call } from "../support/raw.mjs";
import { gateWith, key, origin, stack } from "../support/scripted.mjs";
import { json } from "../support/stack.mjs";

const ROUTES = `[
  { name = "pay", methods = ["POST"], path = "/pay", origin = "none", key_headers = ["Idempotency-Key", "X-Request-Id"] },
  { name = "void", methods = ["DELETE"], path = "/pay/:id", origin = "none" },
  { name = "slow", methods = ["POST"], path = "/slow", origin = "none", in_flight = "reject" },
  { name = "exact", methods = ["POST"], path = "/Exact", origin = "none", case_sensitive_path = true },
]`.replaceAll("\n", " ");
gateWith({ ROUTES });

/** Sends a request and reads the answer; a problem's code is in `code`. */
async function ask(path, { method = "POST", headers = {}, body = method === "GET" ? undefined : "{}" } = {}) {
  const response = await fetch(`${stack.gate}${path}`, { method, headers: { ...json, ...headers }, body, redirect: "manual" });
  const text = await response.text();
  const problem = response.headers.get("content-type") === "application/problem+json" ? JSON.parse(text) : {};
  return { status: response.status, says: response.headers.get("idempotency-status"), headers: response.headers, text, ...problem };
}

/** Sends bytes as they are: clients that are well behaved cannot send most of what is tested here. */
function raw(lines, body = "") {
  const { hostname, port } = new URL(stack.gate);
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), hostname);
    let answer = "";
    socket.on("data", (data) => (answer += data));
    socket.on("error", reject);
    socket.on("close", () => resolve({ status: Number(answer.split(" ")[1]), text: answer }));
    const length = `Content-Length: ${Buffer.byteLength(body)}`;
    socket.write([...lines, `Host: ${hostname}:${port}`, length, "Connection: close", "", body].join("\r\n"));
  });
}

test("k1 further header names carry the key, and two that differ carry none", async () => {
  const first = await ask("/pay", { headers: { "x-request-id": key } });
  assert.deepEqual([first.status, first.says], [201, "executed"]);
  assert.equal(origin.seen[0].headers["idempotency-key"], key);
  const both = await ask("/pay", { headers: { "x-request-id": key, "idempotency-key": `"${key}"` } });
  assert.deepEqual([both.status, both.says], [201, "replayed"]);
  const two = await ask("/pay", { headers: { "x-request-id": key, "idempotency-key": `${key}2` } });
  assert.deepEqual([two.status, two.code], [400, "key_invalid"]);
  assert.match(two.detail, /idempotency-key and x-request-id carry different keys/);
  assert.equal(origin.seen.length, 1);
  const seen = await ask("/.oncegate/v1/operations?route=pay", { method: "GET", headers: { "x-request-id": key } });
  assert.equal(JSON.parse(seen.text).state, "executed");
});

test("k1 what is no key is refused with its place, and reaches nobody", async () => {
  for (const wrong of ["a b", "a,b", "a, b", "", '"a', '"a" x', "é", "a;b=1", "x".repeat(256), '"' + "x".repeat(256) + '"']) {
    const lines = ["POST /pay HTTP/1.1", "Content-Type: application/json", `Idempotency-Key: ${wrong}`];
    const { status, text } = await raw(lines, "{}");
    assert.equal(status, 400, wrong);
    assert.match(text, /"code":"key_invalid"/, wrong);
  }
  const twice = await raw(["POST /pay HTTP/1.1", "Idempotency-Key: a", "Idempotency-Key: a"]);
  assert.match(twice.text, /one request carries one key/);
  assert.equal(origin.seen.length, 0);
});

test("k5 other spellings of a protected path are refused", async () => {
  const spellings = [
    "/pay/",
    "//pay",
    "/%70ay",
    "/%2570ay",
    "/PAY",
    "/pay;x=1",
    "/pay%2f",
    "/x%2f..%2fpay",
    "/pay%00",
    "/Exact/",
  ];
  for (const path of spellings) {
    const { status, text } = await raw([`POST ${path} HTTP/1.1`, `Idempotency-Key: ${key}`]);
    assert.equal(status, 400, path);
    assert.match(text, /"code":"path_not_canonical"/, path);
  }
  assert.equal(origin.seen.length, 0);
});

test("k5 dot segments are refused, or removed before the gate sees them: in no spelling does the path pass unprotected", async () => {
  for (const path of ["/./pay", "/x/../pay", "/x/%2e%2e/pay", "/pay/.", "/\\pay", "/pay/x/.%2e"]) {
    const { status, text } = await raw([`POST ${path} HTTP/1.1`, `Idempotency-Key: ${key}`]);
    const is_protected = /^idempotency-status: /im.test(text);
    assert.ok(is_protected || (status === 400 && text.includes("path_not_canonical")), `${path}: ${text}`);
  }
  assert.ok(origin.seen.length <= 1);
});

test("k5 where case counts, another case is another path", async () => {
  const other = await raw(["POST /exact HTTP/1.1"]);
  assert.equal(other.status, 201);
  assert.equal(origin.seen[0].url, "/exact");
  assert.equal((await ask("/Exact")).code, "key_missing");
});

test("k5 a method override on a protected path is refused, in header fields, query and form", async () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const part = "multipart/form-data; boundary=x";
  const multipart = (name) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nDELETE\r\n--x--\r\n`;
  const tricks = [
    ["/pay", { headers: { "x-http-method-override": "DELETE" } }],
    ["/pay", { headers: { x_http_method: "DELETE" } }],
    ["/pay?_method=DELETE", {}],
    ["/pay?a=1&%5fmethod=DELETE", {}],
    ["/pay", { headers: form, body: "a=1&_method=DELETE" }],
    ["/pay", { headers: { "content-type": `${form["content-type"]}; charset=utf-16` }, body: "a=1" }, /send it as UTF-8/],
    ["/pay", { headers: { "content-type": part }, body: multipart("_method") }],
    ["/pay", { headers: { ...form, "content-encoding": "gzip" }, body: "whatever" }],
    // Not protected as a POST, and a framework could read a DELETE.
    ["/pay/1", { headers: form, body: "_method=DELETE" }],
    ["/pay/1", { body: '{"_method":"DELETE"}' }],
    ["/pay/1", { headers: { "content-type": part }, body: multipart("_method") }],
    ["/pay/1?_method=DELETE", {}],
    ["/pay/1", { headers: { "x-method-override": "DELETE" } }],
  ];
  for (const [path, init, says = /./] of tricks) {
    const { status, code, detail } = await ask(path, { ...init, headers: { "idempotency-key": key, ...init.headers } });
    assert.deepEqual([status, code], [400, "path_not_canonical"], JSON.stringify([path, init]));
    assert.match(detail, says);
  }
  assert.equal(origin.seen.length, 0);
});

test("k5 what looks like an override and is none passes with its bytes", async () => {
  const form = "application/x-www-form-urlencoded";
  const plain = [
    ["/pay", { headers: { "idempotency-key": randomUUID(), "content-type": form }, body: "pay_method=card&a=_method" }],
    ["/pay", { headers: { "idempotency-key": randomUUID() }, body: '{"_method":"DELETE"}' }],
    ["/pay/1", { headers: { "content-type": form }, body: "method=DELETE&b=%20" }],
    ["/pay/1", { headers: { "content-type": "text/plain" }, body: "_method=DELETE" }],
    ["/elsewhere?_method=DELETE", { body: "_method" }],
  ];
  for (const [path, init] of plain) {
    const { status } = await ask(path, init);
    const seen = origin.seen.at(-1);
    assert.deepEqual([status, seen.method, seen.url, seen.body.toString()], [201, "POST", path, init.body]);
  }
});

test("in_flight = reject turns a duplicate away at once", async () => {
  let arrive;
  const arrived = new Promise((resolve) => (arrive = resolve));
  let go;
  const gone = new Promise((resolve) => (go = resolve));
  origin.handle = async (request, response) => {
    arrive();
    await gone;
    origin.done(request, response);
  };
  const first = ask("/slow", { headers: { "idempotency-key": key } });
  await arrived;
  const second = await ask("/slow", { headers: { "idempotency-key": key } });
  assert.deepEqual([second.status, second.code, second.executed], [409, "in_progress", null]);
  go();
  assert.equal((await first).status, 201);
});

test("a host with a dot at its end is the same tenant", async () => {
  const { port } = new URL(stack.gate);
  const once = (host) => call(stack.gate, "/pay", { key, headers: { host: `${host}:${port}` } });
  assert.equal((await once("shop.example")).says, "executed");
  assert.equal((await once("SHOP.example.")).says, "replayed");
  assert.equal((await once("other.example")).says, "executed");
});

test("k4 bodies and header fields that are too large are refused before anything is claimed", async () => {
  const headers = { "idempotency-key": key };
  const large = await ask("/pay", { headers, body: "x".repeat(1024 * 1024 + 1) });
  assert.deepEqual([large.status, large.code], [413, "request_too_large"]);
  const many = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`x-${index}`, "1"]));
  const fields = await ask("/pay", { headers: { ...headers, ...many } });
  assert.deepEqual([fields.status, fields.code], [431, "headers_too_large"]);
  assert.equal(origin.seen.length, 0);
  assert.equal((await ask("/pay", { headers })).says, "executed");
});
