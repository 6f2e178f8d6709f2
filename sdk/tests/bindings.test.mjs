// `oncegate/react`, `/vue` and `/svelte` with the real frameworks in Chromium: the same customer, three times.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { compile } from "svelte/compiler";

import { bundle, clicks, hold, later, openPage, ready, refuse, startBrowser, startShop, throttle, unavailable, until } from "./pages.mjs";

const CLIENT = `
  import { createOncegate } from "oncegate";
  const client = createOncegate({ backoff: { baseMs: 5, capMs: 10 }, quietMs: 0 });
  const order = { url: "/orders", headers: { "content-type": "application/json" }, body: '{"mug":1}' };
  window.results = [];
  const keep = ({ outcome }) => results.push(outcome);`;

const REACT = `${CLIENT}
  import { createElement as el, StrictMode, useState } from "react";
  import { createRoot } from "react-dom/client";
  import { useOncegate } from "oncegate/react";
  function Pay() {
    const { submit, end, state, busy, result, messages } = useOncegate("cart-1", { client, lang: document.documentElement.lang });
    return el("div", null,
      el("button", { id: "pay", "aria-disabled": busy, onClick: () => submit(order).then(keep) }, busy ? "Sending" : "Pay"),
      el("button", { id: "end", onClick: end }, "New order"),
      el("output", { "data-state": state, "data-key": result?.key }, messages?.title));
  }
  function App() {
    const [isShown, show] = useState(true);
    return el("main", null, el("button", { id: "toggle", onClick: () => show(!isShown) }, "Toggle"), isShown && el(Pay));
  }
  createRoot(document.querySelector("#app")).render(el(StrictMode, null, el(App)));
  window.ready = true;`;

const VUE = `${CLIENT}
  import { createApp, h, ref } from "vue";
  import { useOncegate } from "oncegate/vue";
  const Pay = {
    setup() {
      const { submit, end, state, busy, result, messages } = useOncegate(() => "cart-1", { client, lang: document.documentElement.lang });
      return () => h("div", [
        h("button", { id: "pay", "aria-disabled": busy.value, onClick: () => submit(order).then(keep) }, busy.value ? "Sending" : "Pay"),
        h("button", { id: "end", onClick: end }, "New order"),
        h("output", { "data-state": state.value, "data-key": result.value?.key }, messages.value?.title),
      ]);
    },
  };
  createApp({
    setup() {
      const isShown = ref(true);
      return () => h("main", [h("button", { id: "toggle", onClick: () => (isShown.value = !isShown.value) }, "Toggle"), isShown.value && h(Pay)]);
    },
  }).mount("#app");
  window.ready = true;`;

const SVELTE = `${CLIENT}
  import { mount } from "svelte";
  import App from "./App.svelte";
  mount(App, { target: document.querySelector("#app"), props: { client, order, keep } });
  window.ready = true;`;

const COMPONENTS = {
  "./App.svelte": `<script>
    import Pay from "./Pay.svelte";
    let props = $props();
    let isShown = $state(true);
  </script>
  <main><button id="toggle" onclick={() => (isShown = !isShown)}>Toggle</button>{#if isShown}<Pay {...props} />{/if}</main>`,
  "./Pay.svelte": `<script>
    import { useOncegate } from "oncegate/svelte";
    let { client, order, keep } = $props();
    const pay = useOncegate("cart-1", { client, lang: document.documentElement.lang });
  </script>
  <div><button id="pay" aria-disabled={$pay.busy} onclick={() => pay.submit(order).then(keep)}>{$pay.busy ? "Sending" : "Pay"}</button>
  <button id="end" onclick={pay.end}>New order</button>
  <output data-state={$pay.state} data-key={$pay.result?.key}>{$pay.messages?.title}</output></div>`,
};

const components = {
  name: "components",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.svelte$/ }, ({ path }) => ({ path, namespace: "component" }));
    onLoad({ filter: /.*/, namespace: "component" }, ({ path }) => ({
      contents: compile(COMPONENTS[path], { generate: "client", filename: path }).js.code,
      resolveDir: import.meta.dirname,
    }));
  },
};

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

const frameworks = { React: [REACT], Vue: [VUE], Svelte: [SVELTE, { plugins: [components] }] };
for (const [name, [source, options]] of Object.entries(frameworks)) {
  const open = async () => {
    shop.page = await bundle(source, options);
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

  test(`${name}: a component that goes in mid-payment and comes again finds its payment`, async () => {
    await open();
    shop.script = [hold];
    await page.click("#pay");
    await until(() => shop.arrivals.length);
    await page.click("#toggle");
    await page.locator("#pay").waitFor({ state: "detached" });
    await page.click("#toggle");
    await state("sending");
    await page.click("#pay");
    shop.arrivals[0].socket.destroy();
    await state("done");
    await page.waitForFunction(() => results.length === 2);
    assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
    assert.deepEqual(page.errors, []);
  });

  test(`${name}: a component that goes in mid-payment and does not come again: the payment is made`, async () => {
    await open();
    shop.script = [hold];
    await page.click("#pay");
    await until(() => shop.arrivals.length);
    await page.click("#toggle");
    shop.arrivals[0].socket.destroy();
    await page.waitForFunction(() => results.length === 1);
    assert.equal(shop.orders.size, 1);
    assert.deepEqual(page.errors, []);
  });

  test(`${name}: after a reload in mid-payment the component says that it is open`, async () => {
    await open();
    shop.script = [hold];
    await page.click("#pay");
    await until(() => shop.arrivals.length);
    await page.reload();
    await ready(page);
    await state("unknown");
    await page.click("#pay");
    await state("done");
    assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
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
