// The package as it is shipped: import, size, texts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { messages } from "../dist/index.js";

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

test("the package is one file and its types", () => {
  assert.deepEqual(readdirSync(dist).sort(), ["index.d.ts", "index.js"]);
  assert.doesNotMatch(readFileSync(new URL("index.js", dist), "utf8"), /\bimport\.meta\b|\bawait import\b/);
});

test("the package stays below its size", (t) => {
  const size = gzipSync(readFileSync(new URL("index.js", dist)), { level: 9 }).length;
  t.diagnostic(`dist/index.js: ${size} bytes with gzip`);
  assert.ok(size < 28 * 1024, `${size} bytes`);
});

test("every entry of package.json exists", () => {
  const root = new URL("../", import.meta.url);
  const description = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const { types, import: esm, default: fallback } = description.exports["."];
  for (const path of [types, esm, fallback, description.main, description.module, description.types]) {
    assert.ok(readFileSync(new URL(path, root)).length > 0, path);
  }
});

test("every case has a text in both languages that says what to do", () => {
  for (const name of ["pending", "done", "changed", "failed", "refused", "cancelled", "unknown", "unsent", "key_too_old"]) {
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
