// `oncegate/panel` in Chromium: what it shows, in which language, and under a strict policy.

import assert from "node:assert/strict";
import { test } from "node:test";

import { executeAndDrop, hold, inOnePage, later, ready, refuse, until } from "./pages.mjs";

const PAGE = `
  import { createOncegate } from "oncegate";
  import "oncegate/panel";
  window.client = createOncegate({ backoff: { baseMs: 5, capMs: 10 }, quietMs: 0 });
  window.panel = document.querySelector("oncegate-panel");
  panel.client = client;
  window.pay = (intent, more) => client.submit({ intent, url: "/orders", body: "secret payload", ...more });
  window.violations = [];
  document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => violations.push(violatedDirective));
  window.ready = true;`;

let shop;
let browser;
let page;

inOnePage(PAGE, (met) => ({ shop, browser, page } = met), "<oncegate-panel></oncegate-panel>");

const text = () => page.evaluate(() => [...panel.shadowRoot.children].map((part) => part.innerText).join("\n"));
const details = (intent) => page.locator(`oncegate-panel details[data-intent="${intent}"]`);

test("before anything has happened it says so", async () => {
  assert.match(await text(), /0 intents\s+Nothing has been sent yet\./);
});

test("each intent has its state, the line for support and its events; the latest is the first, and no payload is shown", async () => {
  shop.script = [executeAndDrop];
  await page.evaluate(() => Promise.all([pay("cart-1"), pay("cart-1")]));
  shop.script = [refuse()];
  await page.evaluate(() => pay("cart-2"));
  shop.script = [hold];
  await page.evaluate(() => void pay("cart-3"));
  await page.locator("details[data-intent=cart-3][data-state=running]").waitFor();
  assert.deepEqual(await page.locator("oncegate-panel .intent").allInnerTexts(), ["cart-3", "cart-2", "cart-1"]);
  assert.deepEqual(await page.locator("oncegate-panel .state").allInnerTexts(), ["under way", "failed", "done"]);
  assert.equal(await details("cart-1").locator(".line").innerText(), await page.evaluate(() => client.log("cart-1").line));
  await details("cart-1").locator("summary").click();
  const events = await details("cart-1").locator(".events span").allInnerTexts();
  assert.match(events.join("\n"), /^another click: held\nsend 1\n(.*\n)*done, replayed$/);
  assert.doesNotMatch(await text(), /secret/);
});

test("a reload shows what is open; an opened intent stays open and keeps the focus while more happens", async () => {
  shop.script = [hold];
  await page.evaluate(() => void pay("cart-1"));
  await until(() => shop.arrivals.length);
  await page.reload();
  await ready(page);
  await details("cart-1").locator("summary").focus();
  await page.keyboard.press("Enter");
  shop.script = [later(100)];
  await page.evaluate(() => pay("cart-1"));
  assert.equal(await details("cart-1").getAttribute("data-state"), "done");
  assert.equal(await details("cart-1").evaluate((details) => details.open && details.getRootNode().activeElement === details.querySelector("summary")), true);
});

test("the log is copied as support reads it", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate(() => pay("cart-1"));
  await details("cart-1").locator("summary").click();
  await details("cart-1").getByRole("button", { name: "Copy log" }).click();
  await details("cart-1").getByText("Copied").waitFor();
  const [line, first] = (await page.evaluate(() => navigator.clipboard.readText())).split("\n");
  assert.match(line, /^cart-1: 1 send, 1 execution/);
  assert.equal(JSON.parse(first).type, "send");
});

test("it speaks Chinese, and changes its language with the attribute", async () => {
  await page.evaluate(() => pay("cart-1"));
  await page.evaluate(() => (panel.lang = "zh-CN"));
  assert.match(await text(), /1 个意图[\s\S]*已完成/);
  await page.evaluate(() => panel.removeAttribute("lang"));
  assert.match(await text(), /1 intent\s[\s\S]*done/);
});

test("a policy that forbids inline styles takes nothing from it", async () => {
  shop.policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src data:";
  await page.reload();
  await ready(page);
  await page.evaluate(() => pay("cart-1"));
  assert.equal(await details("cart-1").locator(".dot").evaluate((dot) => getComputedStyle(dot).borderRadius), "50%");
  assert.deepEqual(await page.evaluate("violations"), []);
});
