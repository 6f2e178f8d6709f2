// What can be sent, and which payloads are the same. Titles that quote a complaint are about reports from other projects.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gate, lost, memoryStorage, network, ORDER, page } from "./support.mjs";

const bytes = (body) => (body instanceof Uint8Array ? new TextDecoder().decode(body) : body);

/** Sends a body twice, because the first answer is lost. */
async function send(body, headers) {
  const sent = network(lost, gate("executed"));
  const { client } = await page(memoryStorage(), { retryUnproven: true });
  const result = await client.submit({ intent: "cart-42", url: ORDER.url, body, headers });
  assert.equal(result.outcome, "done");
  assert.deepEqual(bytes(sent[0].body), bytes(sent[1].body));
  assert.equal(sent[0].type, sent[1].type);
  return { body: bytes(sent[0].body), type: sent[0].type };
}

/** Whether a second body counts as another payload than the first. */
async function isChanged(first, second, ignore) {
  network(gate("executed"));
  const { client } = await page(memoryStorage());
  await client.submit({ ...ORDER, headers: undefined, body: first(), ignore });
  return (await client.submit({ ...ORDER, headers: undefined, body: second(), ignore })).changed;
}

const form = (entries) => () => {
  const data = new FormData();
  for (const [name, value] of Object.entries(entries)) data.append(name, value);
  return data;
};

test("\"empty bodies on the second attempt\": every kind of body is read once and sent alike every time", async () => {
  assert.deepEqual(await send({ mug: 1, list: [null] }), { body: '{"mug":1,"list":[null]}', type: "application/json" });
  assert.deepEqual(await send([1]), { body: "[1]", type: "application/json" });
  assert.deepEqual(await send({ mug: 1 }, { "content-type": "application/vnd.shop+json" }), { body: '{"mug":1}', type: "application/vnd.shop+json" });
  assert.deepEqual(await send(new Blob(["a,b"], { type: "text/csv" })), { body: "a,b", type: "text/csv" });
});

test("\"second attempt with form-data hangs\": a form with a file has one boundary and all its bytes, twice", async () => {
  const { body, type } = await send(form({ name: "é", file: new File(["bytes"], "a.txt", { type: "text/plain" }) })());
  const [, boundary] = type.match(/^multipart\/form-data; ?boundary=(.+)$/);
  assert.ok(body.includes(boundary));
  for (const piece of ['name="name"', "é", 'filename="a.txt"', "bytes"]) assert.ok(body.includes(piece), piece);
});

test("a form is written as the platform writes it, quotes and line ends included", async () => {
  const data = form({ 'a "b"\n': "one\rtwo\r\n", file: new File(["\n"], 'ü "c"\r\n.txt'), photo: new File(["x"], "x.png", { type: "image/png" }) })();
  const marked = (type, body) => body.replaceAll(/boundary="?([^"]+)/.exec(type)[1], "boundary");
  const written = new Response(data);
  const { body, type } = await send(data);
  assert.equal(marked(type, body), marked(written.headers.get("content-type"), await written.text()));
});

test("a form is copied at once", async () => {
  const sent = network(gate("executed"));
  const { client } = await page(memoryStorage());
  const data = form({ mugs: "1" })();
  const running = client.submit({ ...ORDER, headers: undefined, body: data });
  data.set("mugs", "2");
  await running;
  assert.match(bytes(sent[0].body), /\r\n\r\n1\r\n/);
});

test("streams and strange objects are refused by type, before anything is sent", async () => {
  const sent = network(gate("executed"));
  const { client } = await page(memoryStorage());
  const rejects = (body, code, ignore) => assert.rejects(client.submit({ ...ORDER, headers: undefined, body, ignore }), { name: "OncegateError", code });
  await rejects(new Response("x").body, "body_is_stream");
  await rejects((async function* () {})(), "body_is_stream");
  await rejects(42, "body_unsupported");
  await rejects(new Map(), "body_unsupported");
  await rejects(new Response("x"), "body_unsupported");
  await rejects({ a: 1 }, "ignore_invalid", ["a"]);
  await rejects({ a: 1 }, "ignore_invalid", "/a");
  await rejects("text", "ignore_unsupported", ["a"]);
  const gone = Object.assign(new Blob(["x"]), { arrayBuffer: () => Promise.reject(new DOMException("gone", "NotReadableError")) });
  await rejects(gone, "body_unreadable");
  assert.equal(sent.length, 0);
  assert.equal(client.state("cart-42").phase, "none");
  assert.equal((await client.submit(ORDER)).outcome, "done");
});

test("a payload that is built again in another order is the same", async () => {
  assert.equal(await isChanged(() => ({ a: 1, b: { c: [1, 2], d: 2 } }), () => ({ b: { d: 2, c: [1, 2] }, a: 1 })), false);
  assert.equal(await isChanged(() => ({ a: [1, 2] }), () => ({ a: [2, 1] })), true);
  assert.equal(await isChanged(() => ({ a: 1 }), () => [["a", 1]]), true);
  assert.equal(await isChanged(form({ a: "1" }), form({ a: "1" })), false);
  assert.equal(await isChanged(form({ a: "1" }), form({ a: "2" })), true);
});

test("a file counts by its bytes", async () => {
  const file = (text) => form({ file: new File([text], "a.txt", { lastModified: 1 }) });
  assert.equal(await isChanged(file("one"), file("one")), false);
  assert.equal(await isChanged(file("one"), file("two")), true);
});

test("volatile fields make no other payload, and are sent", async () => {
  const order = (csrf, mug = 1) => () => ({ mug, csrf, meta: { at: csrf, "a/b": csrf } });
  const ignore = ["/csrf", "/meta/at", "/meta/a~1b"];
  assert.equal(await isChanged(order("x"), order("y"), ignore), false);
  assert.equal(await isChanged(order("x"), order("y", 2), ignore), true);
  assert.equal(await isChanged(order("x"), order("y"), ["/csrf"]), true);
  assert.equal(await isChanged(form({ csrf: "x", a: "1" }), form({ csrf: "y", a: "1" }), ["csrf"]), false);
  assert.equal(await isChanged(() => new URLSearchParams("csrf=x&a=1"), () => new URLSearchParams("csrf=y&a=1"), ["csrf"]), false);
  const sent = network(gate("executed"));
  const { client } = await page(memoryStorage());
  await client.submit({ ...ORDER, body: { csrf: "x" }, ignore });
  assert.equal(sent[0].body, '{"csrf":"x"}');
});
