// `oncegate/auto` and `oncegate/element` in Chromium: forms that are bound without code.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inOnePage, later, until } from "./pages.mjs";

const FORM = '<form action="/orders" method="post" data-oncegate="cart-1"><input name="a" value="1"><button>Pay</button></form>';
const PAGE = `
  import "oncegate/auto";
  import "oncegate/element";
  import { OncegateForm } from "oncegate/element";
  window.isDefined = customElements.get("oncegate-form") === OncegateForm;
  window.results = [];
  document.addEventListener("oncegate:result", ({ detail, target }) => results.push([detail.intent, detail.outcome, target.localName]));
  window.ready = true;`;

let shop;
let browser;
let page;

inOnePage(PAGE, (met) => ({ shop, browser, page } = met), FORM);

const results = (count = 1) => until(async () => (await page.evaluate("results")).length >= count).then(() => page.evaluate("results"));

test("a form with the attribute is bound without code, for the intent that it names", async () => {
  await page.dblclick("button");
  assert.deepEqual(await results(), [["cart-1", "done", "form"]]);
  assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
});

test("forms that come later, or get the attribute later, are bound; who loses it, is not", async () => {
  await page.evaluate((form) => {
    const later = new DOMParser().parseFromString(form.replace("cart-1", "cart-2"), "text/html").querySelector("form");
    later.id = "later";
    document.body.append(later);
  }, FORM);
  await page.click("#later button");
  assert.deepEqual(await results(), [["cart-2", "done", "form"]]);
  await page.evaluate(() => document.querySelectorAll("form").forEach((form) => form.removeAttribute("data-oncegate")));
  await page.click("#later button");
  await page.waitForURL("**/orders");
  assert.equal(shop.arrivals.at(-1).key, undefined);
});

test("the element binds the form that it holds, with its attributes as they are at the click, also in a shadow tree", async () => {
  await page.evaluate(() => {
    const host = document.body.appendChild(document.createElement("div"));
    const root = host.attachShadow({ mode: "open" });
    const element = document.createElement("oncegate-form");
    element.append(document.querySelector("form").cloneNode(true));
    element.querySelector("form").removeAttribute("data-oncegate");
    element.setAttribute("messages", "");
    root.append(element);
    element.intent = "cart-5";
    element.setAttribute("label", "Hold on");
    window.held = element;
  });
  assert.equal(await page.evaluate("isDefined"), true);
  shop.script = [later(200)];
  const button = page.locator("div button");
  await button.dblclick();
  await page.locator("div form[aria-busy=true] button", { hasText: "Hold on" }).waitFor();
  assert.deepEqual(await results(), [["cart-5", "done", "div"]]);
  await page.locator("div [role=status]", { hasText: "went through" }).waitFor();
  assert.equal(shop.arrivals.length, 1);
  await page.evaluate(() => held.remove());
  assert.equal(await page.evaluate(() => held.querySelector("form").hasAttribute("aria-busy")), false);
});

test("a form that a framework replaces inside the element is bound anew", async () => {
  await page.evaluate(() => {
    const element = document.createElement("oncegate-form");
    element.intent = "cart-6";
    document.body.append(element);
    const form = document.querySelector("form");
    form.removeAttribute("data-oncegate");
    element.append(form);
    const fresh = form.cloneNode(true);
    form.replaceWith(fresh);
  });
  await page.click("oncegate-form button");
  assert.deepEqual(await results(), [["cart-6", "done", "form"]]);
});
