// `oncegate/form` in Chromium: what a form sends, what its customer sees and hears meanwhile, and what
// becomes of the answer. Test names that quote a complaint are about reports from other projects.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clicks, executeAndDrop, executeAndHold, hold, html, inOnePage, later, ready, redirect, refuse, throttle, unavailable, until } from "./pages.mjs";

const FORM = `<form id="order" action="/orders" method="post">
  <label>Mugs <input name="mugs" value="2" required></label>
  <button name="pay" value="now"><b>Pay</b> 12 €</button>
</form><p id="told"></p>`;

const PAGE = `
  import { bindForm } from "oncegate/form";
  import { createOncegate } from "oncegate";
  window.form = document.querySelector("form");
  window.client = createOncegate({ backoff: { baseMs: 5, capMs: 10 }, maxAttempts: 3, quietMs: 0 });
  window.results = [];
  addEventListener("oncegate:result", (event) => {
    if (window.takeOver) event.preventDefault();
    results.push({ outcome: event.detail.outcome, changed: event.detail.changed, form: event.target.id });
  });
  window.bind = (options) => (window.unbind = bindForm(form, { client, ...options }));
  if (!window.isUnbound) bind(window.options);
  window.ready = true;`;

let shop;
let browser;
let page;

inOnePage(PAGE, (met) => ({ shop, browser, page } = met), FORM);

const button = "form button";
const arrived = (count = 1) => until(() => shop.arrivals.length >= count);
const settled = (count = 1) => page.waitForFunction((count) => results.length >= count, count);
const isFree = () => page.waitForFunction(() => !form.hasAttribute("aria-busy"));

test("what arrives is what the browser itself would have sent", async () => {
  shop.body = `<form id="order" action="/orders?from=shop" method="post">
    <input name="a b" value="1 + ü&=%"><input name="action" value="clobbers"><input name="method" value="get"><input name="elements">
    <input type="checkbox" name="box" checked><input type="checkbox" name="unchecked">
    <select name="many" multiple><option selected>x<option selected>y</select>
    <input disabled name="off" value="off"><input type="hidden" name="_charset_">
    <textarea name="note" dirname="note.dir"></textarea>
    <button name="how" value="card">Card</button><button name="how" value="bank" formaction="/bank">Bank</button>
    </form><button form="order" name="how" value="outside">Outside</button>`;
  const sent = async (isUnbound, name) => {
    await page.context().close();
    page = await browser.newPage();
    await page.addInitScript((isUnbound) => (window.isUnbound = isUnbound), isUnbound);
    await page.goto(shop.url);
    await ready(page);
    await page.fill("textarea", "one\ntwo\n");
    const before = shop.arrivals.length;
    await page.getByText(name).click();
    await arrived(before + 1);
    const { url, body, type, headers } = shop.arrivals.at(-1);
    return { url, body, type: type.replace(/;charset=UTF-8$/, ""), accept: headers.accept.includes("text/html,application/xhtml+xml") };
  };
  for (const name of ["Card", "Bank", "Outside"]) {
    const [native, ours] = [await sent(true, name), await sent(false, name)];
    assert.deepEqual(ours, native, name);
    assert.match(ours.body, new RegExp(`how=${name.toLowerCase()}`));
    assert.equal(shop.arrivals.at(-2).key, undefined);
    assert.ok(shop.arrivals.at(-1).key);
  }
});

test("text/plain forms arrive as the browser sends them", async () => {
  shop.body = '<form action="/orders" method="post"><input name="a" value="1"><textarea name="b">x\ny</textarea><button formenctype="text/plain">Pay</button></form>';
  await page.reload();
  await ready(page);
  await page.click(button);
  await arrived();
  assert.equal(shop.arrivals[0].body, "a=1\r\nb=x\r\ny\r\n");
  assert.match(shop.arrivals[0].type, /^text\/plain/);
});

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

test("Enter in a field sends the form with its first button", async () => {
  await page.focus("input");
  await page.keyboard.press("Enter");
  await settled();
  assert.equal(shop.arrivals[0].body, "mugs=2&pay=now");
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

test("a field that is not valid sends nothing, and the browser says why", async () => {
  await page.fill("input", "");
  await page.click(button);
  assert.equal(await page.evaluate(() => form.matches(":has(input:focus:invalid)")), true);
  assert.equal(shop.arrivals.length, 0);
  await page.fill("input", "3");
  await page.click(button);
  await settled();
  assert.equal(shop.arrivals.length, 1);
});

test("a submission that the page has cancelled stays cancelled", async () => {
  await page.evaluate(() => {
    unbind();
    form.addEventListener("submit", (event) => event.preventDefault());
    bind();
  });
  await page.click(button);
  await page.waitForTimeout(100);
  assert.equal(shop.arrivals.length, 0);
});

test("GET forms and dialogs stay with the browser", async () => {
  shop.body = '<dialog open><form action="/search" method="get"><input name="q" value="mug"><button formmethod="dialog" id="close">Close</button><button id="search">Search</button></form></dialog>';
  await page.reload();
  await ready(page);
  await page.click("#close");
  assert.equal(await page.$eval("dialog", (dialog) => dialog.open), false);
  await page.$eval("dialog", (dialog) => dialog.show());
  await page.click("#search");
  await page.waitForURL("**/search?q=mug");
});

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

test("files are sent, by the encoding that is made for them, and the same form again is the same order", async () => {
  shop.body = '<form action="/orders" method="post" enctype="multipart/form-data"><input name="n" value="1"><input type="file" name="file"><button name="b" value="2">Pay</button></form>';
  await page.reload();
  await ready(page);
  await page.setInputFiles("[type=file]", { name: "ü.txt", mimeType: "text/plain", buffer: Buffer.from("bytes") });
  shop.script = [executeAndDrop, executeAndDrop];
  await page.click(button);
  await settled();
  await isFree();
  await page.click(button);
  await settled(2);
  const [{ type, body }] = shop.arrivals;
  const [, boundary] = type.match(/^multipart\/form-data; ?boundary=(.+)$/);
  const parts = body.split(`--${boundary}`).slice(1, -1).map((part) => part.replace(/\r\n/g, "|"));
  assert.deepEqual(parts, [
    '|Content-Disposition: form-data; name="n"||1|',
    '|Content-Disposition: form-data; name="file"; filename="ü.txt"|Content-Type: text/plain||bytes|',
    '|Content-Disposition: form-data; name="b"||2|',
  ]);
  assert.deepEqual([shop.orders.size, shop.keys().length, (await page.evaluate("results")).map(({ outcome }) => outcome)], [1, 1, ["done", "done"]]);
});

test("a field that changes from one attempt to the next is named, and the form is the same order", async () => {
  shop.body = FORM.replace("<form", '<form data-oncegate-ignore="csrf captcha"').replace("<label>", '<input type="hidden" name="csrf" value="one"><label>');
  await page.reload();
  await ready(page);
  shop.script = [hold];
  await page.click(button);
  await arrived();
  await page.reload();
  await ready(page);
  await page.getByText("Do not pay again").waitFor();
  await page.evaluate(() => (results.length = 0));
  await page.evaluate(() => (form.elements.csrf.value = "two"));
  await page.click(button);
  await settled();
  assert.deepEqual(await page.evaluate("results"), [{ outcome: "done", changed: false, form: "order" }]);
  assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
  assert.match(shop.arrivals.at(-1).body, /csrf=two/);
});

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

test("a mistake in the request is the page's error, and gives the button back", async () => {
  await page.evaluate(() => (unbind(), bind({ headers: { "Idempotency-Key": "own" } })));
  await page.click(button);
  await until(() => page.errors.length);
  assert.match(page.errors[0], /leave Idempotency-Key out of headers/);
  await isFree();
});

test("unbinding gives the form back at once; what was sent goes on, and the browser sends what comes then", async () => {
  shop.script = [later(200)];
  await page.click(button);
  await arrived();
  await page.evaluate("unbind()");
  assert.deepEqual(await page.evaluate(() => [form.hasAttribute("aria-busy"), form.querySelector("button").textContent]), [false, "Pay 12 €"]);
  await until(() => shop.orders.size === 1);
  assert.deepEqual(await page.evaluate("results"), []);
  await page.click(button);
  await page.waitForURL("**/orders");
  assert.equal(shop.arrivals.at(-1).key, undefined);
});
