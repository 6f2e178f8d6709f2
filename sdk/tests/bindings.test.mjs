// `oncegate/react`, `/vue` and `/svelte` with the real frameworks in Chromium: the same customer, three times. Components that come and go
// are in tests/engines/frameworks.test.mjs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { FRAMEWORKS, pageOf } from "./frameworks.mjs";
import { bundle, clicks, later, openPage, refuse, startBrowser, startShop, throttle, unavailable } from "./pages.mjs";

let shop;
let browser;
let page;

before(async () => {
  [shop, browser] = await Promise.all([startShop(), startBrowser()]);
  shop.body = '<div id="app"></div>';
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});
afterEach(async () => {
  await page?.context().close();
  shop.clear();
});

const state = (name) => page.locator(`output[data-state=${name}]`).waitFor({ state: "attached" });

for (const name of FRAMEWORKS) {
  const open = async () => {
    shop.page = await pageOf(name, '{"mug":1}');
    page = await openPage(browser, shop);
    await page.locator("#pay").waitFor();
  };

  for (const [rate, gapMs] of [[1, 0], [1, 80], [20, 0], [20, 80]]) {
    test(`${name}: a double click, ${gapMs} ms apart, processor slowed down ${rate} times, is one order`, async () => {
      await open();
      await throttle(page, rate);
      await clicks(page, "#pay", { gapMs });
      await page.waitForFunction(() => results.length === 2);
      assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
      await state("done");
    });
  }

  test(`${name}: two clicks in one task are one send, and one result for both`, async () => {
    await open();
    await page.$eval("#pay", (pay) => (pay.click(), pay.click()));
    await page.waitForFunction(() => results.length === 2);
    assert.equal(shop.arrivals.length, 1);
  });

  test(`${name}: the component shows each state, and says what to do`, async () => {
    await open();
    shop.script = [later(200), refuse(), unavailable];
    await state("idle");
    assert.equal(await page.textContent("output"), "");
    await page.click("#pay");
    await page.locator("#pay[aria-disabled=true]", { hasText: "Sending" }).waitFor();
    await state("sending");
    await page.getByText("Your payment went through.").waitFor();
    await page.click("#end");
    await state("idle");
    await page.click("#pay");
    await state("failed");
    await page.click("#pay");
    await state("unknown");
    await page.getByText("Do not pay again").waitFor();
    await page.click("#pay");
    await state("done");
    assert.deepEqual(await page.evaluate("results"), ["done", "failed", "unknown", "done"]);
    assert.equal(shop.orders.size, 2);
    assert.deepEqual(page.errors, []);
  });
}

test("the bindings render on a server, and make no client there", async (t) => {
  const script = await bundle(`
    import { createElement } from "react";
    import { renderToString } from "react-dom/server.browser";
    import { useOncegate as useReact } from "oncegate/react";
    import { useOncegate as useVue } from "oncegate/vue";
    import { useOncegate as useSvelte } from "oncegate/svelte";
    const Pay = () => createElement("p", null, JSON.stringify(useReact("cart-1")));
    const { state, messages } = useVue("cart-1");
    let store;
    useSvelte("cart-1").subscribe(({ state }) => (store = state))();
    console.log(renderToString(createElement(Pay)), state.value, messages.value, store, globalThis[Symbol.for("oncegate.client")]);
    process.exit();`);
  const folder = mkdtempSync(join(tmpdir(), "oncegate-server-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "server.mjs"), script);
  const said = execFileSync(process.execPath, [join(folder, "server.mjs")], { encoding: "utf8", timeout: 20_000 });
  assert.match(said, /^<p>\{.*idle.*null.*\}<\/p> idle null idle undefined\n$/);
});
