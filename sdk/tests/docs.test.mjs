// The code that the documents of the SDK show works as it stands: every block is pasted into a page, in both languages, and its customer pays
// once, however often he clicks.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, afterEach, before, describe, test } from "node:test";

import { compile } from "svelte/compiler";
import { compileScript, parse } from "vue/compiler-sfc";

import { bundle, clicks, hold, openPage, startBrowser, startShop, until } from "./pages.mjs";

const ROOT = new URL("../../", import.meta.url);
const DIST = new URL("../dist/", import.meta.url);
const READY = "window.ready = true;";
const TWICE = 'document.querySelector("button").click(); document.querySelector("button").click();';

/** What the customer reads in the end. */
const DONE = { en: "Your payment went through.", zh: "支付成功。" };

/** The blocks of code in a document, in order: language and text. */
const blocks = (file) => [...readFileSync(new URL(file, ROOT), "utf8").matchAll(/^```(\w+)\n([^]*?)^```/gm)].map(([, language, text]) => ({ language, text }));

let shop;
let browser;
let page;

before(async () => {
  [shop, browser] = await Promise.all([startShop(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await shop?.stop();
});
afterEach(async () => {
  await page?.context().close();
  shop.clear();
});

/** Components, as the frameworks' own compilers make them of what a document shows. */
const compilers = {
  jsx: (contents) => ({ contents, loader: "jsx" }),
  svelte: (text) => ({ contents: compile(text, { generate: "client", filename: "Pay.svelte" }).js.code }),
  vue: (text) => ({ contents: compileScript(parse(text).descriptor, { id: "pay", inlineTemplate: true }).content }),
};
const MOUNT = {
  jsx: `import { createElement } from "react"; import { createRoot } from "react-dom/client"; import { Pay } from "./Pay.jsx";
    createRoot(document.querySelector("#app")).render(createElement(Pay, props));`,
  svelte: 'import { mount } from "svelte"; import Pay from "./Pay.svelte"; mount(Pay, { target: document.querySelector("#app"), props });',
  vue: 'import { createApp } from "vue"; import Pay from "./Pay.vue"; createApp(Pay, props).mount("#app");',
};
const component = ({ language, text }) => ({
  name: "component",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/Pay\./ }, ({ path }) => ({ path, namespace: "component" }));
    onLoad({ filter: /.*/, namespace: "component" }, () => ({ ...compilers[language](text), resolveDir: import.meta.dirname }));
  },
});

/** A page with this script, or with this markup, and the package's files beside it. */
async function open({ script = READY, body = "", options }) {
  shop.page = await bundle(script, options);
  shop.body = body;
  page = await openPage(browser, shop);
}

/** What a document's lines find in the page that they are pasted into. */
const run = (lines, { given = "", then = "", ...more } = {}) => open({ script: `${given}\n${lines}\n${then}\n${READY}`, ...more });

const once = async (path = "/orders") => {
  assert.deepEqual([shop.orders.size, shop.keys().length, new URL(shop.arrivals[0].url, shop.url).pathname], [1, 1, path]);
  assert.match(shop.arrivals[0].key, /^[0-9a-f-]{36}$/);
  assert.deepEqual(page.errors, []);
};
const says = (text) => page.locator(`[role=status]:has-text("${text}")`).waitFor({ state: "attached" });
const FORM = '<form id="order" method="post" action="/orders"><input name="mug" value="1"><button>Pay</button></form>';

for (const [lang, suffix] of [["en", ""], ["zh", ".zh-CN"]]) {
  describe(`docs/sdk/guide${suffix}.md`, () => {
    const [submit, bind, html, listener, tokens, fetch, ...more] = blocks(`docs/sdk/guide${suffix}.md`);

    test("six blocks, and each is run here", () => assert.deepEqual(more, []));

    test("submit: an outcome, once", async () => {
      await run(submit.text, { then: "window.told = [result.outcome, typeof messages(result, 'en').title];" });
      assert.deepEqual(await page.evaluate("told"), ["done", "string"]);
      await once();
    });

    test("a form that is bound with one line", async () => {
      await run(bind.text, { body: FORM });
      await clicks(page, "button");
      await page.waitForFunction(() => document.querySelector("form").ariaBusy !== "true");
      await once();
    });

    test("a form that is bound with none", async () => {
      await open({ body: html.text.replace("…", "<button>Pay</button>").replace("<form", `<html lang="${lang}"><form`) });
      shop.script = [hold];
      await clicks(page, "button");
      await page.locator("form [role=status]:not(:empty)").waitFor();
      await until(() => shop.arrivals.length === 1);
    });

    test("a result that the page handles itself", async () => {
      const given = 'const form = document.querySelector("form"); const show = ({ outcome }) => (window.shown = outcome);';
      await run(`${bind.text}\n${listener.text}`, { given, body: FORM });
      await clicks(page, "button");
      await page.waitForFunction(() => window.shown === "done");
      await once();
    });

    test("one-time tokens", async () => {
      await run(tokens.text, { then: "window.told = result.outcome;" });
      assert.equal(await page.evaluate("told"), "done");
      assert.deepEqual([shop.orders.size, shop.keys()], [1, [shop.tokens[0]]]);
    });

    test("fetch", async () => {
      await run(fetch.text, { then: "window.told = response.status;" });
      assert.equal(await page.evaluate("told"), 201);
      await once();
    });
  });

  describe(`docs/sdk/recipes${suffix}.md`, () => {
    const [html, react, vue, svelte, axios, interceptor, ky, panel, ...more] = blocks(`docs/sdk/recipes${suffix}.md`);

    test("eight blocks, and each is run here", () => assert.deepEqual(more, []));

    test("plain HTML", async () => {
      await open({ body: html.text });
      shop.answer = (_, response) => response.writeHead(303, { location: "/thanks" }).end();
      await page.fill("[name=email]", "ada@example.com");
      await clicks(page, "button");
      await page.waitForURL("**/thanks");
      await once();
    });

    for (const block of [react, vue, svelte]) {
      test(block.language, async () => {
        const given = 'const props = { cart: 42, order: { mug: 1 } };';
        await run(MOUNT[block.language], { given, body: '<div id="app"></div>', options: { plugins: [component(block)] } });
        await page.locator("button").waitFor();
        await page.evaluate(TWICE);
        await says(DONE[lang]);
        await once();
      });
    }

    test("axios", async () => {
      await run(axios.text, { given: "const cart = 42; const order = { mug: 1 };" });
      await once("/api/orders");
    });

    test("axios, in the place of an interceptor against repeated submission", async () => {
      const then = 'await Promise.all([1, 2].map(() => service({ url: "/system/order", method: "post", data: { mug: 1 }, intent: "order-1" })));';
      const define = { "import.meta.env.VITE_APP_BASE_API": '"/prod-api"' };
      await run(interceptor.text, { given: 'import axios from "axios";', then, options: { define } });
      await once("/prod-api/system/order");
    });

    test("ky", async () => {
      await run(ky.text, { given: "const order = { mug: 1 };" });
      await once();
    });

    test("the panel, while developing", async () => {
      await run(panel.text);
      await page.locator("oncegate-panel").waitFor();
      assert.deepEqual(page.errors, []);
    });
  });

  test(`docs/sdk/csp${suffix}.md: what the page reports`, async () => {
    const [report, ...more] = blocks(`docs/sdk/csp${suffix}.md`);
    shop.policy = "script-src 'self'";
    await run(report.text, { given: 'import { createOncegate } from "oncegate"; const report = (reason) => (window.reported = reason);' });
    assert.match(await page.evaluate("reported"), /CompileError/);
    assert.deepEqual([page.errors, more], [[], []]);
  });
}

test("\"a new key for every request\": no document asks for that, and the guide tells a repetition from a new attempt", () => {
  const files = ["README.md", "sdk/README.md", ...["guide", "recipes", "csp", "browsers", "api"].map((name) => `docs/sdk/${name}.md`)];
  for (const file of files) assert.doesNotMatch(readFileSync(new URL(file, ROOT), "utf8"), /(unique|new) (key|id) (for|per|on|with) (every|each|any) (request|call|send)/i, file);
  const guide = readFileSync(new URL("docs/sdk/guide.md", ROOT), "utf8");
  for (const said of ["Name what the customer wants, not the request", "*retry* and *new attempt* are never mixed up"]) assert.ok(guide.includes(said), said);
});

describe("sdk/README.md", () => {
  const [lines, module, script, ...more] = blocks("sdk/README.md");

  test("three blocks, and each is run here", () => assert.deepEqual(more, []));

  test("the lines of its beginning", async () => {
    await run(lines.text, { given: "const order = { mug: 1 }; const show = ({ title }) => (window.shown = title);" });
    assert.equal(await page.evaluate("shown"), DONE.en);
    await once();
  });

  test("without a bundler: as a module, and as a script that is named by its hash", async () => {
    const hash = createHash("sha384").update(readFileSync(new URL("oncegate.min.js", DIST))).digest("base64");
    await open({ body: module.text + script.text.replace("{{integrity}}", `sha384-${hash}`) });
    assert.equal(await page.evaluate("typeof client.submit"), "function");
    assert.deepEqual(page.errors, []);
  });
});
