// How large the package's files are, what each may be at most, and the hash for pages that load its script by address.
// `cargo xtask build` prints it; sdk/tests/package.test.mjs holds it.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/** In bytes, compressed with gzip. */
export const BUDGETS = {
  "index.js": 27_648,
  "engine-js.js": 23_552,
  "js.js": 32_768,
  "oncegate.min.js": 27_648,
  "form.js": 4_096,
  "auto.js": 512,
  "element.js": 1_024,
  "tokens.js": 2_560,
  "claims.js": 1_536,
  "fetch.js": 1_024,
  "axios.js": 512,
  "ky.js": 512,
  "lock.js": 2_048,
  "react.js": 1_024,
  "vue.js": 1_024,
  "svelte.js": 1_024,
  "panel.js": 4_096,
};

const read = (file) => readFileSync(new URL(`dist/${file}`, import.meta.url));

export const size = (file) => gzipSync(read(file), { level: 9 }).length;

export const integrity = () => `sha384-${createHash("sha384").update(read("oncegate.min.js")).digest("base64")}`;

function print() {
  const number = (bytes) => bytes.toLocaleString("en").padStart(7);
  for (const [file, most] of Object.entries(BUDGETS)) {
    console.log(`sdk/dist/${file.padEnd(16)}${number(size(file))} of at most${number(most)} bytes with gzip`);
  }
  console.log(`sdk/dist/oncegate.min.js integrity="${integrity()}"`);
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  if (argv[2] === "--integrity") console.log(integrity());
  else print();
}
