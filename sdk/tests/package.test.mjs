// The package as it is shipped: import, size, texts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { transform } from "esbuild";

import { messages } from "../dist/index.js";
import { reference, written } from "../api.mjs";
import { BUDGETS, integrity, size } from "../size.mjs";

const dist = new URL("../dist/", import.meta.url);

test("importing it on a server does nothing: no fetch, no compilation, no globals of a page", () => {
  const script = `
    for (const name of ["fetch", "localStorage", "WebAssembly", "crypto", "performance"])
      Object.defineProperty(globalThis, name, { get() { throw new Error(name + " was touched"); } });
    const { createOncegate, messages } = await import(${JSON.stringify(new URL("index.js", dist).href)});
    createOncegate();
    console.log(typeof messages("done").title);`;
  const said = execFileSync(process.execPath, ["--no-warnings", "--input-type=module", "--eval", script]);
  assert.equal(String(said).trim(), "string");
});

/** What package.json says of the package. */
const description = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** Every path that `exports` names, however deep. */
const paths = (target) => (typeof target === "string" ? [target] : Object.values(target).flatMap(paths));

test("every file that package.json names exists, and dist/ holds nothing that nobody names", () => {
  const { main, module, types, unpkg, jsdelivr, exports } = description;
  const named = new Set([main, module, types, unpkg, jsdelivr, ...paths(exports)]);
  // Loaded by the entries themselves, relative to their own place.
  const files = [...readdirSync(dist), "../package.json"].map((file) => new URL(file, dist));
  const loaded = new URL("engine-js.js", dist).href;
  const expected = [...named].map((path) => new URL(`../${path}`, import.meta.url).href).concat(loaded);
  assert.deepEqual(files.map(({ href }) => href).sort(), expected.sort());
});

test("every condition has its types, and they come first", () => {
  const conditions = (target) => (target.default ? [target] : Object.values(target).flatMap(conditions));
  for (const target of Object.values(description.exports).filter((target) => typeof target === "object")) {
    for (const condition of conditions(target)) assert.deepEqual(Object.keys(condition), ["types", "default"]);
  }
});

test("exactly the entries that look for a page when they are imported are named as acting, and none of them needs one", () => {
  const entries = Object.keys(description.exports).filter((path) => description.exports[path].import);
  const script = `
    await Promise.all([import("react"), import("vue")]);
    const touched = new Set();
    for (const name of ["localStorage", "sessionStorage", "WebAssembly", "crypto", "performance", "document", "navigator", "HTMLElement", "customElements", "addEventListener"])
      Object.defineProperty(globalThis, name, { get() { touched.add(name); } });
    const acting = [];
    for (const [entry, file] of ${JSON.stringify(entries.map((entry) => [entry, new URL(`../${description.exports[entry].import.default}`, import.meta.url).href]))}) {
      touched.clear();
      await import(file);
      if (touched.size > 0) acting.push(entry);
    }
    console.log(JSON.stringify(acting));`;
  const said = execFileSync(process.execPath, ["--no-warnings", "--input-type=module", "--eval", script], { cwd: fileURLToPath(dist) });
  const acting = JSON.parse(said);
  assert.deepEqual(acting, ["./auto", "./element", "./panel"]);
  assert.deepEqual(description.sideEffects, acting.flatMap((entry) => ["js", "cjs"].map((kind) => `./dist/${entry.slice(2)}.${kind}`)));
});

test("no script waits at its top, and only those that lie beside a file of their own know their address", async () => {
  for (const file of readdirSync(dist).filter((file) => /js$/.test(file))) {
    const text = readFileSync(new URL(file, dist), "utf8");
    // A script that waits at its top cannot be one for `require`.
    await transform(text, { format: "cjs", define: { "import.meta.url": "undefined" } });
    assert.equal(/\bimport\.meta\b/.test(text), file === "wasm.js", file);
  }
  await assert.rejects(transform("await 1; export {};", { format: "cjs", logLevel: "silent" }), /Top-level await/);
});

for (const [file, most] of Object.entries(BUDGETS)) {
  test(`${file} stays below its size`, (t) => {
    t.diagnostic(`dist/${file}: ${size(file)} bytes with gzip`);
    assert.ok(size(file) <= most, `${size(file)} of ${most} bytes`);
  });
}

test("the package that is published holds its documents and dist/, and names its script by its hash", () => {
  const target = fileURLToPath(new URL("../../target/package/", import.meta.url));
  const packed = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: target }));
  const [{ files }] = Array.isArray(packed) ? packed : Object.values(packed);
  const expected = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json", ...readdirSync(dist).map((file) => `dist/${file}`)];
  assert.deepEqual(files.map(({ path }) => path).sort(), expected.sort());
  assert.ok(readFileSync(`${target}README.md`, "utf8").includes(`integrity="${integrity()}"`));
});

test("the API reference is made of these types", () => {
  assert.ok(written() === reference(), "docs/sdk/api.md is not what the types say: run `cargo xtask build`");
});

test("every case has a text in both languages that says what to do", () => {
  for (const name of ["pending", "waiting", "checking", "cancelling", "done", "changed", "failed", "refused", "cancelled", "unknown", "unsent", "key_too_old"]) {
    const [en, zh] = [messages(name), messages(name, "zh-CN")];
    assert.match(en.title, /^[ -~…]+$/);
    assert.match(zh.title, /[\u4e00-\u9fff]/);
    assert.ok(en.text && zh.text);
  }
  assert.equal(messages("unknown").title, "We are checking your payment. Do not pay again.");
  assert.equal(messages("unknown", "fr").title, messages("unknown", "en-GB").title);
});

test("a result finds its text", () => {
  const title = (result) => messages(result).title;
  assert.equal(title({ outcome: "done", changed: false }), messages("done").title);
  assert.equal(title({ outcome: "done", changed: true }), messages("changed").title);
  assert.equal(title({ outcome: "failed", reason: "cancelled" }), messages("cancelled").title);
  assert.equal(title({ outcome: "unknown", reason: "deadline", sends: 3 }), messages("unknown").title);
  assert.equal(title({ outcome: "unknown", reason: "aborted", sends: 0 }), messages("unsent").title);
  assert.equal(title({ outcome: "unknown", reason: "key_too_old", sends: 3 }), messages("key_too_old").title);
});
