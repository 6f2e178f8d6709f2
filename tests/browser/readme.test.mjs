// The lines that the READMEs show work as they stand: pasted into a page, in Chromium, against the gate.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { startBrowser } from "../support/browser.mjs";
import { order, startStack } from "../support/stack.mjs";

const root = new URL("../../", import.meta.url);
let stack;
let browser;

before(async () => {
  [stack, browser] = await Promise.all([startStack(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await stack?.stop();
});

/** The first block of JavaScript in a document. */
const example = (file) => readFileSync(new URL(file, root), "utf8").match(/```js\n([^]*?)```/)[1];

/** What a page with these lines becomes in an application's build. What they take from the page stands before them. */
async function pasted(lines) {
  const contents = `const cart = { id: 42 }; const order = ${order()};\n${lines}\nwindow.told = { outcome: result.outcome, status: result.response.status };`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(root) },
    alias: { oncegate: fileURLToPath(new URL("sdk/dist/index.js", root)) },
    external: ["./engine-js.js"],
    bundle: true,
    write: false,
    format: "esm",
  });
  return outputFiles[0].text;
}

for (const file of ["README.md", "README.zh-CN.md"]) {
  test(`the lines of ${file} place one order, and once more they get its answer`, async () => {
    await stack.clear();
    const lines = example(file);
    assert.ok(lines.trim().split("\n").length <= 5);
    const context = await browser.newContext({ bypassCSP: true });
    const script = await pasted(lines);
    for (let load = 0; load < 2; load += 1) {
      const page = await context.newPage();
      await page.goto(`${stack.gate}/`);
      await page.addScriptTag({ type: "module", content: script });
      await page.waitForFunction(() => window.told);
      assert.deepEqual(await page.evaluate("told"), { outcome: "done", status: 201 });
    }
    await context.close();
    assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
  });
}
