// A form that can be sent once, in Chromium against the gate: its token is fetched ahead, and is what the gate's record hangs on.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { newCustomer, startBrowser } from "../support/browser.mjs";
import { startOrigin } from "../support/origin.mjs";
import { startStack, until } from "../support/stack.mjs";

const root = new URL("../../", import.meta.url);
const TTL_S = 4;
const ROUTES = `[{ name = "pay", methods = ["POST"], path = "/pay", origin = "none", token = "required", token_ttl_s = ${TTL_S} }]`;
const FORM = `<!doctype html><html lang="en"><title>Pay</title><link rel="icon" href="data:,">
  <form data-oncegate="cart-42" data-oncegate-token action="/pay" method="post"><input name="mugs" value="2"><button>Pay</button></form>
  <script type="module" src="/page.js"></script></html>`;

let origin;
let stack;
let browser;
let customer;
let script;
let paid;
let issued;

before(async () => {
  script = await bundled('import "oncegate/auto"; addEventListener("oncegate:result", ({ detail }) => (window.told = detail.outcome));');
  origin = await startOrigin();
  [stack, browser] = await Promise.all([startStack({ ROUTES, TOKEN_SECRETS: "s1=0123456789abcdef" }, origin), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await stack?.stop();
  await origin?.stop();
});
beforeEach(async () => {
  [paid, issued] = [[], []];
  origin.handle = serve;
  customer = await newCustomer(browser);
  customer.context.on("response", async (response) => {
    if (new URL(response.url()).pathname === "/.oncegate/v1/tokens") issued.push((await response.json()).token);
  });
});
afterEach(() => customer.context.close());

async function bundled(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(root) },
    alias: Object.fromEntries(["", "/form", "/auto", "/tokens"].map((entry) => [`oncegate${entry}`, fileURLToPath(new URL(`sdk/dist/${entry.slice(1) || "index"}.js`, root))])),
    external: ["./engine-js.js"],
    bundle: true,
    write: false,
    format: "esm",
  });
  return outputFiles[0].text;
}

/** The service: a form, its script, and what takes the money. */
function serve({ method, url, headers }, response) {
  if (method === "POST") {
    paid.push(headers["idempotency-key"]);
    return response.writeHead(201, { "content-type": "application/json" }).end("{}");
  }
  if (url === "/page.js") return response.writeHead(200, { "content-type": "text/javascript" }).end(script);
  return response.writeHead(200, { "content-type": "text/html" }).end(FORM);
}

async function open(page = customer.page) {
  await page.goto(`${stack.gate}/form`);
  return page;
}

const ahead = (count = 1) => until(() => issued.length, (length) => length >= count);
const done = (page) => page.waitForFunction(() => window.told === "done");
const isOnce = (token) => assert.deepEqual(paid, [token]);

test("the token is there before the first click, and two clicks pay once", async () => {
  const page = await open();
  await ahead();
  await page.locator("button").dblclick();
  await done(page);
  isOnce(issued[0]);
  assert.equal(issued.length, 1);
});

test("a page that was left open overnight, whose timers slept, pays with a new token", async () => {
  await customer.page.clock.install();
  const page = await open();
  await page.clock.runFor(1_000);
  await ahead();
  await page.clock.setSystemTime(Date.now() + 9 * 3_600_000);
  // Not by a gesture, with which the page would look after its token first.
  await page.evaluate(() => document.querySelector("form").requestSubmit());
  await ahead(2);
  await until(() => paid.length, (length) => length > 0);
  isOnce(issued[1]);
});

test("a token that the gate says has expired is followed by another one, and the customer hears nothing of it", async () => {
  await customer.page.clock.setFixedTime(Date.now());
  const page = await open();
  await ahead();
  await new Promise((resolve) => setTimeout(resolve, TTL_S * 1_000 + 500));
  await page.evaluate(() => document.querySelector("form").requestSubmit());
  await done(page);
  isOnce(issued[1]);
});

test("a reload in mid-payment asks under the token that was sent, and two tabs have one", async () => {
  const page = await open();
  await ahead();
  let answer;
  origin.handle = (request, response) => (request.method === "POST" ? (answer = () => serve(request, response)) : serve(request, response));
  await page.locator("button").click();
  await until(() => answer, Boolean);
  await page.reload();
  const other = await open(await customer.context.newPage());
  answer();
  await until(() => paid.length, (length) => length === 1);
  await page.locator("button").click();
  await other.locator("button").click();
  await Promise.all([done(page), done(other)]);
  isOnce(issued[0]);
  assert.equal(issued.length, 1);
});
