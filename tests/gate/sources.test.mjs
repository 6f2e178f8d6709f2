// Where a route takes its key from, other than the header: each source names one operation, whatever else the request says.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { call } from "../support/raw.mjs";
import { gateWith, key, origin, stack } from "../support/scripted.mjs";
import { lookUp } from "../support/stack.mjs";

const METRICS = "fedcba9876543210";
const generated = (name, path, from) => `{ name = "${name}", methods = ["POST"], path = "${path}", origin = "none", key = "generated", key_from = ${from} }`;
const ROUTES = `[
  ${generated("path", "/orders/:no/pay", '{ path = "no" }')},
  ${generated("query", "/refunds", '{ query = "no" }')},
  ${generated("form", "/payments", '{ form = "pay_no" }')},
  { name = "upload", methods = ["PUT"], path = "/upload", origin = "none" },
  { name = "optional", methods = ["POST"], path = "/optional", origin = "none", key = "optional" },
]`.replaceAll(/\n */g, " ");
gateWith({ ROUTES, METRICS_SECRETS: `page=${METRICS}` });

const FORM = "application/x-www-form-urlencoded";

/** A multipart form; each part is a name, a value, and more of its disposition. */
function multipart(boundary, parts) {
  const written = parts.map(([name, value, more = ""]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`);
  return { headers: { "content-type": `multipart/form-data; boundary=${boundary}` }, body: `${written.join("")}--${boundary}--\r\n` };
}

/** The first of these requests is executed, the others are replays of it: the origin is called once, under the key. */
async function isOne(requests) {
  const answers = [];
  for (const [path, options] of requests) answers.push(await call(stack.gate, path, options));
  assert.deepEqual(answers.map(({ says }) => says), ["executed", ...Array(requests.length - 1).fill("replayed")]);
  assert.deepEqual(origin.seen.map(({ headers }) => [headers["idempotency-key"], headers["oncegate-key-kind"]]), [[key, "generated"]]);
}

async function isRefused(path, options, reason) {
  origin.clear();
  const answer = await call(stack.gate, path, options);
  assert.deepEqual([answer.status, answer.json().code, origin.seen.length], [400, "key_missing", 0], path);
  assert.match(answer.json().detail, reason);
}

test("k2 a segment of the path is the key", async () => {
  const path = `/orders/${key}/pay`;
  await isOne([[path, {}], [path, { key: "another" }]]);
  assert.equal((await lookUp(stack, key, "path")).state, "executed");
  const other = await call(stack.gate, `/orders/${key}0/pay`);
  assert.equal(other.says, "executed", "another number is another operation");
});

test("k2 a parameter of the query is the key", async () => {
  await isOne([[`/refunds?no=${key}`, {}], [`/refunds?no=${key}`, { key: "another" }]]);
  const other = await call(stack.gate, `/refunds?no=${key}&why=late`);
  assert.deepEqual([other.status, other.json().code], [422, "key_reused"], "the query is what is asked for, too");
  await isRefused("/refunds", {}, /'no' is missing/);
  await isRefused("/refunds?no=", {}, /'no' is (missing|empty)/);
  await isRefused(`/refunds?no=${key}&no=${key}`, {}, /'no' occurs twice/);
});

test("k2 a field of a form is the key, however the form is coded", async () => {
  const form = (body) => ({ headers: { "content-type": FORM }, body });
  await isOne([["/payments", form(`pay_no=${key}&amount=7`)], ["/payments", form(`pay_no=${key}&amount=7`)]]);
  const parts = [["pay_no", key], ["amount", "7"]];
  const coded = await call(stack.gate, "/payments", multipart("x", parts));
  assert.deepEqual([coded.status, coded.json().code], [422, "key_reused"], "the same operation, and another request");
  await isRefused("/payments", form("amount=7"), /'pay_no' is missing/);
  await isRefused("/payments", multipart("x", [["amount", "7"]]), /'pay_no' is missing/);
});

test("k3 a multipart form is one request under every boundary, and another one with other parts", async () => {
  const form = (boundary, file) => ({ key, method: "PUT", ...multipart(boundary, [["note", "a"], ["file", file, '; filename="a.bin"']]) });
  const first = await call(stack.gate, "/upload", form("----one", "\u0001--two"));
  const again = await call(stack.gate, "/upload", form("----two", "\u0001--two"));
  const other = await call(stack.gate, "/upload", form("----one", "\u0002--two"));
  assert.deepEqual([first.says, again.says, other.status, other.json().code], ["executed", "replayed", 422, "key_reused"]);
  assert.equal(origin.seen.length, 1);
  assert.equal(origin.seen[0].body.toString(), form("----one", "\u0001--two").body, "the bytes are the client's");
});

test("k2 where the key is optional, a request without one passes as on any other path, and is counted", async () => {
  const answers = [await call(stack.gate, "/optional"), await call(stack.gate, "/optional")];
  assert.deepEqual(answers.map(({ status, says }) => [status, says]), Array(2).fill([201, undefined]));
  assert.deepEqual(origin.seen.map(({ headers }) => headers["oncegate-operation"]), [undefined, undefined]);
  const named = randomUUID();
  const protectedOnes = [await call(stack.gate, "/optional", { key: named }), await call(stack.gate, "/optional", { key: named })];
  assert.deepEqual(protectedOnes.map(({ says }) => says), ["executed", "replayed"]);
  assert.equal((await call(stack.gate, "/optional", { key: "a b" })).json().code, "key_invalid", "what is no key does not pass as none");
  const page = await fetch(`${stack.gate}/.oncegate/v1/metrics`, { headers: { authorization: `Bearer ${METRICS}` } });
  assert.match(await page.text(), /^oncegate_decisions_total\{route="optional",mode="enforce",decision="passed",state=""\} 2$/m);
});
