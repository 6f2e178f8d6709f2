// `oncegate/form` in Chromium: what becomes of the answer, and what the customer reads. Test names that quote a complaint are about reports from
// other projects.

import assert from "node:assert/strict";
import { test } from "node:test";

import { button, FORM, inFormPage, page, settled, shop } from "./form-page.mjs";
import { html, later, ready, redirect, refuse, unavailable } from "./pages.mjs";

inFormPage();

test("progress and result are events of the form; who takes the result over gets it unfollowed", async () => {
  shop.answer = html(201, "<h1>Thank you</h1>");
  await page.evaluate(() => {
    window.takeOver = true;
    window.progress = [];
    document.addEventListener("oncegate:progress", ({ detail, target }) => progress.push(`${target.id} ${detail.type}`));
  });
  await page.click(button);
  await settled();
  assert.deepEqual(await page.evaluate("progress"), ["order send", "order answer", "order settled"]);
  assert.deepEqual(await page.evaluate("results"), [{ outcome: "done", changed: false, form: "order" }]);
  assert.equal(await page.locator("h1").count(), 0);
  assert.equal(await page.locator("[role=status]").count(), 0);
});

test("a page as the answer is shown as a browser shows it, its scripts run, and a reload sends nothing", async () => {
  shop.answer = html(201, '<title>Thanks</title><h1>Thank you</h1><script>window.scripted = (window.scripted ?? 0) + 1;</script><script type="module" src="/page.js"></script>');
  await page.click(button);
  await page.locator("h1").waitFor();
  assert.deepEqual(await page.evaluate(() => [document.title, document.forms.length, window.scripted, location.pathname]), ["Thanks", 0, 1, "/"]);
  await page.reload();
  await ready(page);
  assert.equal(shop.arrivals.length, 1);
});

test("\"form resubmission\": a redirect as the answer is followed, the gate having said that it was done; Back and a reload send nothing", async () => {
  shop.answer = redirect;
  await page.click(button);
  await page.waitForURL("**/orders/1");
  assert.equal(await page.textContent("h1"), "/orders/1");
  await page.reload();
  await page.evaluate(() => history.back());
  await page.locator("form").waitFor();
  await ready(page);
  await page.reload();
  await ready(page);
  assert.equal(shop.arrivals.length, 1);
  await page.click(button);
  await page.getByRole("status").getByText("went through").waitFor();
  assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
});

test("a redirect that comes from before the gate, as a login's, is not taken for the answer", async () => {
  shop.script = [(_, response) => response.writeHead(303, { location: "/login" }).end()];
  await page.click(button);
  await page.getByRole("status").getByText("Do not pay again").waitFor();
  assert.equal(new URL(page.url()).pathname, "/");
  await page.click(button);
  await page.getByRole("status").getByText("went through").waitFor();
  assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
});

test("a refusal's page is shown too, and its form can be sent again under a new key", async () => {
  const again = '<html lang="en"><form id="order" action="/orders" method="post" data-again><input name="mugs" aria-invalid="true" value="1"><button>Pay</button></form>';
  shop.script = [refuse(again, "text/html")];
  await page.click(button);
  await page.locator("form[data-again]").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.name), "mugs");
  await page.evaluate(() => ((window.form = document.querySelector("form")), bind()));
  await page.click(button);
  await settled(2);
  assert.deepEqual([shop.orders.size, shop.keys().length], [1, 2]);
});

test("what is not known is told in a status line, with what to do, and the next click asks under the same key", async () => {
  shop.script = [unavailable];
  await page.click(button);
  const status = page.getByRole("status");
  await status.getByText("Do not pay again").waitFor();
  assert.equal(await status.getAttribute("data-outcome"), "unknown");
  await page.click(button);
  await status.getByText("went through").waitFor();
  assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
});

test("a status line that is asked for is there from the start and speaks the page's language", async () => {
  shop.body = `<main lang="zh-CN">${FORM.replace("<form", '<form data-oncegate-messages="told"')}</main>`;
  shop.script = [later(300), refuse()];
  await page.reload();
  await ready(page);
  const told = page.locator("#told");
  assert.equal(await told.getAttribute("role"), "status");
  await page.click(button);
  await told.getByText("正在提交订单").waitFor();
  await told.getByText("支付成功").waitFor();
  await page.evaluate(() => form.reset());
  await page.click(button);
  await told.getByText("订单未被接受").waitFor();
});

test("the page's own words stand in for the package's", async () => {
  await page.evaluate(() => {
    unbind();
    bind({ messages: true, texts: (result) => ({ title: result.outcome ?? result, text: "." }) });
  });
  await page.click(button);
  await page.getByRole("status").getByText("done .").waitFor();
});
