// The package in Chromium, over HTTP: a page without a bundler, the browser's own silent resend,
// reloads, the back/forward cache, and Content-Security-Policy.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import { after, before, beforeEach, test } from "node:test";

import { chromium } from "playwright-core";

const PAGE = `<!doctype html><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,">
<button>Pay</button><script type="module">
import { createOncegate } from "/index.js";
window.events = [];
window.client = createOncegate({ onEvent: (event) => events.push(event), backoff: { baseMs: 20, capMs: 40 }, quietMs: 0 });
const order = { intent: "cart-1", url: "/orders", body: '{"mug":1}', headers: { "content-type": "application/json" } };
window.pay = async () => {
  const { response, ...result } = await client.submit(order);
  return { ...result, id: response && (await response.json()).id };
};
document.querySelector("button").onclick = () => (window.paid = pay());
if (location.hash === "#pay") window.paid = pay();
</script>`;

const module = readFileSync(new URL("../dist/index.js", import.meta.url));
const shop = { arrivals: [], orders: new Map(), script: [] };
let server;
let browser;
let page;

/** Executes once per key, as a gate does, and answers by the script: answer | drop | hold. */
function order(request, response) {
  const key = request.headers["idempotency-key"];
  const replayed = shop.orders.has(key);
  if (!replayed) shop.orders.set(key, shop.orders.size + 1);
  shop.arrivals.push({ key, body: request.body, socket: request.socket });
  const act = shop.script.shift() ?? "answer";
  if (act === "drop") return request.socket.destroy();
  if (act === "hold") return undefined;
  const headers = {
    "idempotency-status": replayed ? "replayed" : "executed",
    "idempotency-key-lifetime": "604800",
    "content-type": "application/json",
  };
  return response.writeHead(201, headers).end(JSON.stringify({ id: shop.orders.get(key) }));
}

async function handle(request, response) {
  request.body = Buffer.concat(await request.toArray()).toString();
  if (request.url.startsWith("/.oncegate/v1/operations?")) {
    const state = shop.orders.has(request.headers["idempotency-key"]) ? "executed" : "absent";
    return response.setHeader("content-type", "application/json").end(JSON.stringify({ state, safe_new_key: false }));
  }
  if (request.url === "/orders") return order(request, response);
  if (request.url === "/index.js") return response.setHeader("content-type", "text/javascript").end(module);
  const body = request.url === "/elsewhere" ? "<!doctype html>elsewhere" : PAGE;
  return response.setHeader("content-type", "text/html").end(body);
}

const ready = () => page.waitForFunction(() => window.client);

before(async () => {
  server = http.createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  browser = await chromium.launch({
    executablePath: process.env.ONCEGATE_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
  });
});
after(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
});
beforeEach(async () => {
  Object.assign(shop, { arrivals: [], orders: new Map(), script: [] });
  await page?.context().close();
  page = await (await browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await ready();
});

test("one import works in a page without a bundler", async () => {
  const result = await page.evaluate("pay()");
  assert.deepEqual([result.outcome, result.id, result.replayed], ["done", 1, false]);
  assert.equal(shop.arrivals.length, 1);
  assert.equal(shop.arrivals[0].body, '{"mug":1}');
});

test("a double click is one operation", async () => {
  await page.dblclick("button");
  const result = await page.evaluate("paid");
  assert.equal(result.outcome, "done");
  assert.equal(shop.orders.size, 1);
});

test("the browser's own silent resend carries the same key", async () => {
  shop.script = ["drop"];
  const result = await page.evaluate("pay()");
  assert.equal(result.outcome, "done");
  assert.equal(result.replayed, true);
  assert.ok(shop.arrivals.length >= 2);
  assert.equal(shop.orders.size, 1);
  // The page was loaded over the connection that was dropped: the second arrival was Chromium's.
  assert.equal(result.sends, 1);
});

test("sends, and the browser's resends of them, all carry one key", async () => {
  shop.script = ["drop", "drop", "drop", "drop"];
  const result = await page.evaluate("pay()");
  assert.equal(result.outcome, "done");
  assert.ok(result.sends >= 2);
  assert.ok(shop.arrivals.length > result.sends);
  assert.equal(new Set(shop.arrivals.map(({ key }) => key)).size, 1);
});

test("a reload before the answer: the same key, no second order", async () => {
  shop.script = ["hold"];
  await page.click("button");
  await page.waitForFunction(() => events.some(({ type }) => type === "send"));
  while (shop.arrivals.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await page.reload();
  await ready();
  assert.equal((await page.evaluate("client.pending()")).length, 1);
  const result = await page.evaluate("pay()");
  assert.deepEqual([result.outcome, result.id, result.replayed, result.sends], ["done", 1, true, 2]);
  assert.equal(shop.orders.size, 1);
});

test("a second tab has the same key", async () => {
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForFunction(() => window.client);
  const results = await Promise.all([page.evaluate("pay()"), other.evaluate("pay()")]);
  assert.deepEqual(results.map(({ outcome, id }) => [outcome, id]), [["done", 1], ["done", 1]]);
  assert.equal(shop.orders.size, 1);
});

test("two tabs that are opened at once, for the first time ever, have one key", async () => {
  for (let round = 1; round <= 6; round += 1) {
    const context = await browser.newContext();
    const tabs = await Promise.all([context.newPage(), context.newPage()]);
    await Promise.all(tabs.map((tab) => tab.goto(`${new URL(page.url()).origin}/#pay`)));
    const results = await Promise.all(tabs.map((tab) => tab.evaluate("paid")));
    await context.close();
    assert.deepEqual(results.map(({ outcome }) => outcome), ["done", "done"]);
    assert.equal(shop.orders.size, round);
  }
});

test("a page that comes back from the back/forward cache gets its result", async (t) => {
  shop.script = ["hold"];
  await page.click("button");
  while (shop.arrivals.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await page.evaluate("addEventListener('pageshow', ({ persisted }) => (window.thawed = persisted))");
  await page.goto(new URL("/elsewhere", page.url()).href);
  shop.arrivals[0].socket.destroy();
  await page.goBack({ waitUntil: "commit" });
  await ready();
  const thawed = await page.evaluate("window.thawed === true");
  const result = await page.evaluate("window.paid ?? pay()");
  t.diagnostic(`the page came from the cache: ${thawed}`);
  assert.deepEqual([result.outcome, result.id, result.replayed], ["done", 1, true]);
  assert.equal(shop.orders.size, 1);
});

test("what an idle page rehearses is seen by nobody: nothing sent, nothing stored, nothing told, no lock kept", async () => {
  await page.addInitScript(() => {
    window.locked = [];
    const { request } = LockManager.prototype;
    LockManager.prototype.request = function (name, ...rest) {
      locked.push(name);
      return request.call(this, name, ...rest);
    };
  });
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.reload();
  await ready();
  await page.waitForFunction(() => locked.length > 0);
  await page.waitForFunction(async () => (await navigator.locks.query()).held.length === 0);
  assert.deepEqual(await page.evaluate(() => [locked, Object.keys(localStorage), events]), [["oncegate:"], ["oncegate:secret"], []]);
  assert.deepEqual(asked, ["/", "/index.js"]);
  assert.equal((await page.evaluate("pay()")).outcome, "done");
});
