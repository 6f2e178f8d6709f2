// The two encodings of the engine: which one runs, and that nobody notices but by the event.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import http from "node:http";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { startBrowser } from "../../tests/support/browser.mjs";
import { gate, memoryStorage, network, ORDER } from "./support.mjs";

const dist = new URL("../dist/", import.meta.url);
const TYPES = { js: "text/javascript", wasm: "application/wasm" };

let server;
let shop;
let browser;
before(async () => {
  server = http.createServer(serve).listen(0, "127.0.0.1");
  await once(server, "listening");
  shop = `http://127.0.0.1:${server.address().port}`;
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  server?.close();
  server?.closeAllConnections();
});

/** A page of which the address says by which policy and with which script; the package's files; an order. */
async function serve(request, response) {
  const { pathname, searchParams } = new URL(request.url, "http://shop");
  if (pathname === "/hold") return;
  if (request.method === "POST") {
    return response.writeHead(201, { "idempotency-status": "executed", "idempotency-key-lifetime": "604800" }).end("{}");
  }
  if (pathname === "/page") {
    if (searchParams.has("policy")) response.setHeader("content-security-policy", searchParams.get("policy"));
    return response.setHeader("content-type", "text/html").end(`<!doctype html><link rel="icon" href="data:,">${searchParams.get("script") ?? ""}`);
  }
  const file = pathname.split("/").pop();
  response.setHeader("content-type", TYPES[file.split(".").pop()]);
  response.end(await readFile(new URL(file, dist)));
}

/** Opens a page, has it order once, and tells what became of it. */
async function order({ entry = "index.js", policy, script }, run = orderIn) {
  const page = await browser.newPage();
  const address = new URL("/page", shop);
  if (policy) address.searchParams.set("policy", policy);
  if (script) address.searchParams.set("script", script);
  try {
    await page.goto(address.href);
    return await page.evaluate(run, entry);
  } finally {
    await page.close();
  }
}

async function orderIn(entry) {
  const { createOncegate, init } = entry.endsWith(".min.js") ? window.oncegate : await import(`/dist/${entry}`);
  const heard = [];
  const client = createOncegate({ onEvent: ({ type, reason }) => heard.push({ type, reason }) });
  const first = client.submit({ intent: "cart-42", url: "/orders", body: "{}" });
  const isShared = first === client.submit({ intent: "cart-42", url: "/orders", body: "{}" });
  const { outcome, sends, key } = await first;
  await client.ready;
  const blocked = heard.find(({ type }) => type === "wasm-blocked");
  return { outcome, sends, isShared, sameKey: client.state("cart-42").key === key, blocked: blocked?.reason, inits: typeof init };
}

const DONE = { outcome: "done", sends: 1, isShared: true, sameKey: true };
const STRICT = "script-src 'self'";

function isDone({ blocked, inits, ...result }) {
  assert.deepEqual(result, DONE);
}

test("WebAssembly runs where a page allows it", async () => {
  for (const policy of [undefined, "script-src 'self' 'wasm-unsafe-eval'"]) {
    const result = await order({ policy });
    isDone(result);
    assert.equal(result.blocked, undefined);
  }
});

for (const entry of ["index.js", "wasm.js"]) {
  test(`${entry}: plain JavaScript takes over where a policy forbids WebAssembly, and an event tells`, async () => {
    const result = await order({ entry, policy: STRICT });
    isDone(result);
    assert.match(result.blocked, /CompileError|Content Security Policy/);
  });
}

test("the script without a module loads plain JavaScript from its own folder", async () => {
  const script = `<script src="/dist/oncegate.min.js" crossorigin="anonymous"></script>`;
  isDone(await order({ entry: "oncegate.min.js", script }));
  const result = await order({ entry: "oncegate.min.js", script, policy: STRICT });
  isDone(result);
  assert.match(result.blocked, /CompileError|Content Security Policy/);
});

test("oncegate/js needs no permission and no second file", async () => {
  const result = await order({ entry: "js.js", policy: STRICT });
  isDone(result);
  assert.equal(result.blocked, undefined);
});

test("oncegate/wasm is compiled from the file beside it, and from whatever init is given", async () => {
  const result = await order({ entry: "wasm.js" });
  isDone(result);
  assert.deepEqual([result.blocked, result.inits], [undefined, "function"]);
  const given = await order({ entry: "wasm.js" }, async () => {
    const load = () => import(`/dist/wasm.js?${Math.random()}`);
    const sources = [
      "/dist/oncegate.wasm",
      new URL("/dist/oncegate.wasm", location.href),
      fetch("/dist/oncegate.wasm"),
      await (await fetch("/dist/oncegate.wasm")).arrayBuffer(),
      await WebAssembly.compileStreaming(fetch("/dist/oncegate.wasm")),
    ];
    const keys = [];
    for (const source of sources) {
      const { createOncegate, init } = await load();
      await init(source);
      keys.push(createOncegate().state("cart-42").key);
    }
    return keys;
  });
  assert.equal(given.length, 5);
  assert.equal(new Set(given).size, 1, "one install, one key");
});

test("while the engine is on its way, what is stored can be read, and nothing is ended", async () => {
  const result = await order({ policy: STRICT }, async () => {
    const { createOncegate } = await import("/dist/index.js");
    const earlier = createOncegate();
    await earlier.submit({ intent: "paid", url: "/orders", body: "{}" });
    const aborted = AbortSignal.timeout(20);
    await earlier.submit({ intent: "open", url: "/hold", body: "{}", signal: aborted });
    const { createOncegate: createAnew } = await import("/dist/index.js?loaded-anew");
    const client = createAnew();
    const look = () => [client.pending().map(({ intent }) => intent), client.state("paid").phase, client.state("new").phase, client.state("new").key.length];
    const before = [...look(), client.end("paid")];
    await client.ready;
    return { before, after: [...look(), client.end("paid")] };
  });
  assert.deepEqual(result.before, [["open"], "executed", "none", 0, false]);
  assert.deepEqual(result.after, [["open"], "executed", "none", 36, true]);
});

test("a WebAssembly that is not there is replaced by plain JavaScript as well", async () => {
  const blocked = await order({ entry: "wasm.js" }, async () => {
    const { createOncegate, init } = await import("/dist/wasm.js");
    await init(fetch("/page").then(() => Response.error()));
    let reason;
    const client = createOncegate({ onEvent: (event) => (reason = event.reason) });
    await client.ready;
    return `${client.state("x").phase}: ${reason}`;
  });
  assert.match(blocked, /^none: Error: oncegate: /);
});

test("both encodings give an intent the same key, and read each other's records", async () => {
  const storage = memoryStorage();
  const sent = network(gate("executed", { status: 201 }));
  const modules = await Promise.all(["index.js", "js.js"].map((file) => import(new URL(file, dist))));
  const [wasm, script] = modules.map(({ createOncegate }) => createOncegate({ storage }));
  assert.equal(wasm.state("cart-42").key, script.state("cart-42").key);
  const { outcome } = await script.submit(ORDER);
  assert.equal(outcome, "done");
  assert.equal(wasm.state("cart-42").phase, "executed");
  assert.equal(wasm.end("cart-42"), true);
  assert.equal(script.state("cart-42").epoch, 1);
  assert.equal(sent.length, 1);
});

test("memory that has grown is read and written where it is now, in both encodings", async () => {
  for (const file of ["index.js", "js.js"]) {
    const { createOncegate } = await import(new URL(file, dist));
    const storage = memoryStorage();
    network(gate("executed", { status: 201 }));
    const client = createOncegate({ storage });
    const keys = [];
    for (let length = 1_000; length <= 16_000_000; length *= 40) {
      const intent = "x".repeat(length);
      const { outcome, key } = await client.submit({ ...ORDER, intent, body: new Uint8Array(length) });
      assert.deepEqual([outcome, client.state(intent).key], ["done", key], file);
      keys.push(key);
    }
    assert.equal(new Set(keys).size, keys.length);
  }
});

test("require gives the same as import", () => {
  const require = createRequire(import.meta.url);
  for (const entry of ["index", "js", "wasm"]) {
    const { createOncegate, messages } = require(`../dist/${entry}.cjs`);
    assert.equal(messages("done").title, "Your payment went through.");
    if (entry !== "wasm") assert.equal(createOncegate({ storage: null }).state("cart-42").phase, "none");
  }
});

test("a runtime without WebAssembly gets plain JavaScript", () => {
  const script = `
    delete globalThis.WebAssembly;
    const { createOncegate } = await import(${JSON.stringify(new URL("index.js", dist).href)});
    const client = createOncegate({ storage: null, onEvent: ({ type, reason }) => console.log(type, reason) });
    await client.ready;
    console.log(client.state("cart-42").phase);`;
  const said = execFileSync(process.execPath, ["--no-warnings", "--input-type=module", "--eval", script]);
  assert.match(String(said), /^wasm-blocked ReferenceError[^\n]*\nnone\n$/);
});
