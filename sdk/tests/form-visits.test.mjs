// `oncegate/form` in Chromium: a form's intent, when its page is loaded anew. Test names that quote a complaint are about reports from other projects.

import assert from "node:assert/strict";
import { test } from "node:test";

import { arrived, button, FORM, inFormPage, isFree, page, settled, shop } from "./form-page.mjs";
import { executeAndHold, ready } from "./pages.mjs";

inFormPage();

test("after a reload the form says that it is still open, and finds out by itself what became of it", async () => {
  shop.body = FORM.replace("<form", '<form data-oncegate-messages="told"');
  shop.script = [executeAndHold];
  await page.reload();
  await ready(page);
  await page.click(button);
  await arrived();
  await page.reload();
  await page.locator("#told").getByText("went through").waitFor();
  assert.deepEqual(await page.evaluate("results"), [{ outcome: "done", changed: false, form: "order" }]);
  assert.equal(shop.arrivals.length, 1);
});

test("\"reload before the answer, pay again -> second order\": a reload repeats, with the same key", async () => {
  shop.script = [executeAndHold];
  await page.click(button);
  await arrived();
  await page.reload();
  await ready(page);
  await page.click(button);
  await settled();
  assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
  await page.reload();
  await ready(page);
  await page.click(button);
  await settled();
  assert.equal(shop.orders.size, 1);
});

test("who opens the page anew, or empties the form, can order again; a named intent only the page ends", async () => {
  const order = async () => {
    await page.click(button);
    await settled();
    await isFree();
  };
  await order();
  await page.goto(`${shop.url}/elsewhere`);
  await page.goto(shop.url);
  await ready(page);
  await order();
  assert.equal(shop.orders.size, 2);
  await page.evaluate(() => ((results.length = 0), form.reset()));
  await order();
  assert.equal(shop.orders.size, 3);
  for (let visit = 0; visit < 2; visit += 1) {
    await page.goto(shop.url);
    await ready(page);
    await page.evaluate(() => form.setAttribute("data-oncegate", "cart-7"));
    await order();
    await page.evaluate(() => form.reset());
  }
  assert.equal(shop.orders.size, 4);
});
