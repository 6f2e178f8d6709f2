// `oncegate/form` in Chromium: what a form sends. What other engines make of it is in tests/engines/forms.test.mjs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { arrived, browser, button, FORM, inFormPage, isFree, page, settled, shop } from "./form-page.mjs";
import { executeAndDrop, hold, later, ready, until } from "./pages.mjs";

inFormPage();

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
    const tab = await browser.newPage();
    await tab.addInitScript((isUnbound) => (window.isUnbound = isUnbound), isUnbound);
    await tab.goto(shop.url);
    await ready(tab);
    await tab.fill("textarea", "one\ntwo\n");
    const before = shop.arrivals.length;
    await tab.getByText(name).click();
    await arrived(before + 1);
    await tab.close();
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

test("Enter in a field sends the form with its first button", async () => {
  await page.focus("input");
  await page.keyboard.press("Enter");
  await settled();
  assert.equal(shop.arrivals[0].body, "mugs=2&pay=now");
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
