// What a shard stores of a sealed route nobody can read who has the database and not the secret.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { call } from "../support/raw.mjs";
import { startStack, until } from "../support/stack.mjs";

const secret = () => randomBytes(32).toString("base64");
const [FIRST, SECOND] = [secret(), secret()];
const SAID = "only-the-customer-may-read-this";
const ASKED = "only-the-shop-may-read-this";
let origin;
let stack;

const routes = `[
  { name = "sealed", methods = ["POST"], path = "/sealed", origin = "ledger", finish = true, wait_ms = 2000, seal = true },
  { name = "plain", methods = ["POST"], path = "/plain", origin = "ledger", finish = true },
]`.replaceAll("\n", " ");

before(async () => {
  origin = await startOrigin();
  stack = await startStack({ ROUTES: routes, SEALING_SECRETS: `"old=${FIRST}"` }, origin);
});
after(async () => {
  await stack?.stop();
  await origin?.stop();
});

const send = (path, key, options = {}) => call(stack.gate, path, { key, body: JSON.stringify({ ASKED }), ...options });

function answer(response, status = 201) {
  response.writeHead(status, { "content-type": "text/plain", location: `/${SAID}`, "idempotency-outcome": "executed" });
  response.end(SAID);
}

/** Whether any file of the gate's storage contains the text. */
async function isStored(text) {
  const files = await readdir(join(stack.folder, "gate"), { recursive: true, withFileTypes: true });
  const contents = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name))),
  );
  return contents.some((content) => content.includes(text));
}

/** Starts the gate again with other secrets. */
async function restart(secrets) {
  await stack.tell("kill-gate");
  const file = join(stack.folder, "wrangler.toml");
  const settings = await readFile(file, "utf8");
  await writeFile(file, settings.replace(/^SEALING_SECRETS = .*$/m, `SEALING_SECRETS = "${secrets}"`));
  await stack.tell("start-gate");
}

test("a sealed answer is replayed as it was, to duplicates in flight too, and lies in no file", async () => {
  origin.handle = async (_, response) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    answer(response);
  };
  const key = randomUUID();
  const [first, waited] = await Promise.all([send("/sealed", key), send("/sealed", key)]);
  const again = await send("/sealed", key);
  assert.deepEqual([first.says, waited.says].sort(), ["executed", "replayed"]);
  assert.equal(again.says, "replayed");
  for (const given of [first, waited, again]) {
    assert.deepEqual([given.status, given.bytes.toString()], [201, SAID]);
    assert.deepEqual([given.headers.location, given.headers["content-type"]], [`/${SAID}`, "text/plain"]);
    assert.equal(given.headers["oncegate-sealed"], undefined, "nobody is told how it was stored");
  }
  assert.equal(origin.seen[0].body.toString(), JSON.stringify({ ASKED }));
  assert.deepEqual([await isStored(SAID), await isStored(ASKED)], [false, false]);
  origin.clear();
});

test("the test would find what is not sealed", async () => {
  origin.handle = (_, response) => answer(response);
  await send("/plain", randomUUID());
  assert.equal(await isStored(SAID), true);
  origin.clear();
});

test("a sealed request is finished by the gate itself", async () => {
  const key = randomUUID();
  let refused = 0;
  origin.handle = (request, response) => {
    refused += 1;
    if (refused === 1) return request.socket.destroy();
    answer(response);
  };
  assert.equal((await send("/sealed", key)).json().code, "outcome_unknown");
  const again = await until(() => origin.seen.length, (count) => count > 1, 60_000);
  assert.ok(again > 1);
  for (const request of origin.seen.filter((request) => request.url === "/sealed")) {
    assert.equal(request.body.toString(), JSON.stringify({ ASKED }));
    assert.equal(request.headers["oncegate-sealed"], undefined);
  }
  origin.clear();
});

test("a request whose secret is gone is not sent, and no attempt is opened for it; with its secret it is finished", async () => {
  let last = 0;
  origin.handle = (request) => {
    last = Number(request.headers["oncegate-attempt"]);
    request.socket.destroy();
  };
  assert.equal((await send("/sealed", randomUUID())).says, "unknown");
  await restart(`new=${SECOND}`);
  const log = () => readFile(join(stack.folder, "gate.log"), "utf8");
  await until(log, (text) => /none is named 'old'.*"event":"not_settled"/.test(text), 60_000);
  const sent = last;
  origin.handle = (request, response) => {
    last = Number(request.headers["oncegate-attempt"]);
    answer(response);
  };
  await restart(`new=${SECOND}, old=${FIRST}`);
  await until(() => last, (number) => number !== sent, 60_000);
  assert.equal(last, sent + 1);
  await restart(`old=${FIRST}`);
  origin.clear();
});

test("sealed answers outlive a rotation, and without their secret they are 503 and never garbage", async () => {
  origin.handle = (_, response) => answer(response);
  const [before, between] = [randomUUID(), randomUUID()];
  await send("/sealed", before);
  await restart(`new=${SECOND}, old=${FIRST}`);
  assert.equal((await send("/sealed", before)).bytes.toString(), SAID);
  await send("/sealed", between);
  await restart(`new=${SECOND}`);
  assert.equal((await send("/sealed", between)).bytes.toString(), SAID, "the first one seals");
  const lost = await send("/sealed", before);
  assert.deepEqual([lost.status, lost.json().code, lost.json().executed], [503, "gate_unavailable", null]);
  await restart(`old=${SECOND}`);
  assert.equal((await send("/sealed", before)).status, 503, "another secret of the same name opens nothing");
  assert.equal(origin.seen.length, 2);
});
