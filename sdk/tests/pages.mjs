// What the tests of forms and pages share: Chromium, a page made of a script, and a shop that executes once
// per key, as a gate does.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import http from "node:http";
import { basename } from "node:path";
import { after, before, beforeEach } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The package's entries as they are shipped. */
const entries = {
  name: "entries",
  setup({ onResolve }) {
    onResolve({ filter: /^oncegate(\/.*)?$/ }, ({ path }) => {
      const [, entry = "index"] = path.split("/");
      return { path: `${ROOT}dist/${entry}.js` };
    });
  },
};

/** One script for a page, made as an application's bundler makes it. */
export async function bundle(contents, { plugins = [], define } = {}) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: ROOT },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"development"', ...define },
    jsx: "automatic",
    plugins: [entries, ...plugins],
  });
  return outputFiles[0].text;
}

const document = (body) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,">${body}<script type="module" src="/page.js"></script></html>`;

/**
 * A shop behind a gate. `script` says what happens to the next orders, one each: a function of
 * (request, response, answer), where `answer` sends what the shop answers anyway. `body` is the page's
 * markup and `page` its script; the package's files lie under /oncegate/.
 */
export async function startShop() {
  const shop = { arrivals: [], tokens: [], orders: new Map(), script: [], body: "", page: "", policy: "", answer: json };
  const server = http.createServer(async (request, response) => {
    request.body = Buffer.concat(await request.toArray());
    const { pathname } = new URL(request.url, "http://shop");
    if (pathname === "/.oncegate/v1/tokens") return issue(shop, response);
    if (["POST", "PUT"].includes(request.method)) return order(shop, request, response);
    if (pathname === "/page.js") return response.setHeader("content-type", "text/javascript").end(shop.page);
    if (pathname.startsWith("/oncegate/")) return response.setHeader("content-type", "text/javascript").end(await readFile(`${ROOT}dist/${basename(pathname)}`));
    if (pathname === "/.oncegate/v1/operations") return lookUp(shop, request, response);
    if (shop.policy) response.setHeader("content-security-policy", shop.policy);
    response.setHeader("content-type", "text/html");
    return response.end(pathname === "/" ? document(shop.body) : `<!doctype html><title>${pathname}</title><h1>${pathname}</h1>`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(shop, {
    url: `http://127.0.0.1:${server.address().port}`,
    clear: () => Object.assign(shop, { arrivals: [], tokens: [], orders: new Map(), script: [], policy: "", answer: json }),
    keys: () => [...new Set(shop.arrivals.map(({ key }) => key))],
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function order(shop, request, response) {
  const key = request.headers["idempotency-key"];
  const { url, headers, body, socket } = request;
  shop.arrivals.push({ key, url, headers, body: String(body), type: headers["content-type"], socket });
  const answer = () => {
    const replayed = shop.orders.has(key);
    if (!replayed) shop.orders.set(key, { id: shop.orders.size + 1, body: String(body) });
    const said = { "idempotency-status": replayed ? "replayed" : "executed", "idempotency-key-lifetime": "604800" };
    for (const [name, value] of Object.entries(said)) response.setHeader(name, value);
    return shop.answer(request, response, shop.orders.get(key));
  };
  const next = shop.script.shift();
  return next ? next(request, response, answer) : answer();
}

/** A token that nobody has. */
function issue({ tokens }, response) {
  tokens.push(`t1.s1.${tokens.length}.tag`);
  return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ token: tokens.at(-1), expires_in_ms: 300_000 }));
}

/** What the gate knows of a key. */
function lookUp(shop, request, response) {
  const known = shop.orders.has(request.headers["idempotency-key"]);
  response.writeHead(known ? 200 : 404, { "content-type": "application/json", "idempotency-status": known ? "executed" : "not_executed" });
  return response.end(JSON.stringify(known ? { state: "executed", executed: true } : { state: "absent", executed: false }));
}

export const json = (_, response, { id }) => response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ id }));
export const html = (status, markup) => (_, response) => response.writeHead(status, { "content-type": "text/html" }).end(markup);
export const redirect = (_, response, { id }) => response.writeHead(303, { location: `/orders/${id}` }).end();

/** Ways in which an order can go wrong. */
export const later = (ms) => (_request, _response, answer) => setTimeout(answer, ms);
export const hold = () => {};
export const drop = (request) => request.socket.destroy();
export const executeAndDrop = (request, response, answer) => {
  response.end = () => request.socket.destroy();
  answer();
};
export const executeAndHold = (request, response, answer) => {
  response.end = () => response;
  answer();
};
export const refuse = (body = "{}", type = "application/json") => (_, response) =>
  response.writeHead(402, { "content-type": type, "idempotency-status": "refused", "idempotency-key-lifetime": "604800" }).end(body);
export const unavailable = (_, response) => response.writeHead(404, {}).end("somebody else's");

export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.ONCEGATE_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
  });
}

/** A customer's page, opened when its script has run (it sets `window.ready`). */
export async function openPage(browser, shop, path = "/") {
  const page = await (await browser.newContext()).newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  await page.goto(shop.url + path);
  await ready(page);
  return page;
}

export const ready = (page) => page.waitForFunction(() => window.ready);

/** Real gestures, `gapMs` apart, as a hand makes them. */
export async function clicks(page, selector, { times = 2, gapMs = 0 } = {}) {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  for (let click = 1; click <= times; click += 1) {
    if (click > 1 && gapMs > 0) await new Promise((resolve) => setTimeout(resolve, gapMs));
    await page.mouse.down({ clickCount: click });
    await page.mouse.up({ clickCount: click });
  }
}

/** Slows the page's processor down. */
export async function throttle(page, rate) {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate });
}

export async function until(ask, limitMs = 20_000) {
  for (const end = Date.now() + limitMs; ; await new Promise((resolve) => setTimeout(resolve, 10))) {
    const value = await ask();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${limitMs} ms in vain for ${ask}`);
  }
}

/** A file whose tests all begin with a new page of one script: `meet` gets shop, browser and page before each; `body` is the page's. */
export function inOnePage(script, meet, body) {
  let shop;
  let browser;
  let page;
  before(async () => {
    [shop, browser] = await Promise.all([startShop(), startBrowser()]);
    shop.page = await bundle(script);
  });
  after(async () => {
    await browser?.close();
    await shop?.stop();
  });
  beforeEach(async () => {
    shop.clear();
    if (body) shop.body = body;
    await page?.context().close();
    page = await openPage(browser, shop);
    meet({ shop, browser, page });
  });
}
