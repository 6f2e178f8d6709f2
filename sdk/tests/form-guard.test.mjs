// `oncegate/form` in Chromium: a form that is sent is busy, is sent once, and is given back whatever becomes of it. Test names that quote a complaint
// are about reports from other projects.

import assert from "node:assert/strict";
import { test } from "node:test";

import { arrived, button, inFormPage, isFree, page, settled, shop } from "./form-page.mjs";
import { clicks, hold, later, ready, refuse, throttle, unavailable } from "./pages.mjs";

inFormPage();

for (const rate of [1, 20]) {
  for (const gapMs of [0, 80]) {
    test(`a double click, ${gapMs} ms apart, processor slowed down ${rate} times, is one order`, async () => {
      await throttle(page, rate);
      await clicks(page, button, { gapMs });
      await settled();
      await page.waitForTimeout(200);
      assert.equal(shop.orders.size, 1);
      assert.equal(shop.keys().length, 1);
    });
  }
}

test("two submissions in one task, ten clicks, and Enter held down are one order", async () => {
  shop.script = [later(300)];
  await page.evaluate(() => (form.requestSubmit(), form.requestSubmit()));
  await clicks(page, button, { times: 10, gapMs: 20 });
  await page.focus("input");
  for (let press = 0; press < 3; press += 1) await page.keyboard.press("Enter");
  await settled();
  assert.equal(shop.arrivals.length, 1);
});

test("\"createOrder twice within the same ms\": two listeners for one form send one order", async () => {
  await page.evaluate(() => {
    bind();
    form.addEventListener("submit", () => client.submit({ intent: "cart-1", url: "/orders", body: "mugs=2&pay=now" }));
    form.setAttribute("data-oncegate", "cart-1");
  });
  await page.click(button);
  await settled();
  assert.equal(shop.arrivals.length, 1);
});

test("while it is sent: aria-busy, aria-disabled, never disabled, the focus stays, the label says so", async () => {
  shop.script = [later(400)];
  await page.focus(button);
  await page.keyboard.press("Space");
  await arrived();
  const state = () =>
    page.evaluate(() => {
      const button = form.querySelector("button");
      return [form.getAttribute("aria-busy"), button.getAttribute("aria-disabled"), button.disabled, document.activeElement === button, button.innerHTML];
    });
  assert.deepEqual(await state(), ["true", "true", false, true, "Sending …"]);
  assert.match(await page.locator("form").ariaSnapshot(), /button "Sending …" \[disabled\]/);
  await page.keyboard.press("Space");
  await settled();
  assert.deepEqual(await state(), [null, null, false, true, "<b>Pay</b> 12 €"]);
  assert.equal(shop.arrivals.length, 1);
});

test("the label comes from an attribute, an option or the language, and input buttons have one too", async () => {
  shop.body = `<div lang="zh-CN"><form action="/orders" method="post"><input type="submit" id="a"><input type="submit" id="b" value="Pay" data-oncegate-label="Hold on"><button id="c" data-oncegate-label="">Pay</button></form></div>`;
  await page.reload();
  await ready(page);
  const whileSending = async (selector) => {
    shop.script = [later(150)];
    await page.click(selector);
    const text = await page.$eval(selector, (button) => button.value || button.textContent);
    await isFree();
    const after = await page.$eval(selector, (button) => button.getAttribute("value") ?? button.textContent);
    return [text, after];
  };
  assert.deepEqual(await whileSending("#a"), ["正在提交……", ""]);
  assert.deepEqual(await whileSending("#b"), ["Hold on", "Pay"]);
  assert.deepEqual(await whileSending("#c"), ["Pay", "Pay"]);
});

test("\"button dead after Back\": a page from the back/forward cache has its button, and pays once", async (t) => {
  shop.script = [hold];
  await page.click(button);
  await arrived();
  await page.evaluate(() => addEventListener("pageshow", ({ persisted }) => (window.thawed = persisted)));
  await page.evaluate((url) => (location.href = url), `${shop.url}/elsewhere`);
  await page.locator("h1").waitFor();
  shop.arrivals[0].socket.destroy();
  await page.evaluate(() => history.back());
  await page.locator("form").waitFor();
  await ready(page);
  t.diagnostic(`the page came from the cache: ${await page.evaluate("window.thawed === true")}`);
  await isFree();
  await page.evaluate(() => (results.length = 0));
  await page.click(button);
  await settled();
  await isFree();
  assert.equal((await page.evaluate("results"))[0].outcome, "done");
  assert.equal(await page.textContent(button), "Pay 12 €");
  assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
});

test("\"button never re-enabled after reject\": every way out gives the button back", async () => {
  shop.script = [unavailable, refuse()];
  for (const outcome of ["unknown", "failed", "done"]) {
    await page.evaluate(() => (results.length = 0));
    await page.click(button);
    await settled();
    await isFree();
    assert.equal((await page.evaluate("results"))[0].outcome, outcome);
    assert.equal(await page.$eval(button, (button) => button.getAttribute("aria-disabled")), null);
  }
});
