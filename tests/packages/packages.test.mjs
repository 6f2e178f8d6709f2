// The package as it is packed and installed, in every tool that it should work in. Each project orders once and says so:
// done, by one send under one key. Where the page forbids WebAssembly, the other encoding says the same.
//
// `cargo xtask test packages` puts this folder, its tools and the package into target/packages and names it.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startBrowser } from "../support/browser.mjs";
import { startOrigin } from "../support/origin.mjs";
import { startStack } from "../support/stack.mjs";
import { run, startServer, startShop, titleOf } from "./support.mjs";

const place = process.env.ONCEGATE_PACKAGES;
const project = (name) => join(place, name);
const README = readFileSync(join(place, "node_modules/oncegate/README.md"), "utf8");

/** A page for projects that make none: the script that they have bundled. */
const WITH_MODULE = `<!doctype html><script type="module" src="/main.js"></script>`;
const WITH_SCRIPT = `<!doctype html><script src="/single/main.js" defer></script>`;
const STRICT = "script-src 'self'";

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

/** One order, with and without WebAssembly. */
async function orders(name, options, path = "/", policy = STRICT) {
  for (const [encoding, rule] of [["wasm", undefined], ["js", policy]]) {
    const shop = await startShop({ ...options, policy: rule });
    try {
      isOrdered(await titleOf(browser, shop.url + path), encoding, shop.keys, name);
    } finally {
      await shop.stop();
    }
  }
}

/** A strict policy for a page with an import map: that is inline, so that its hash has to be named. */
function strictWithMap(file) {
  const [, map] = readFileSync(file, "utf8").match(/<script type="?importmap"?>(.*?)<\/script>/);
  return `${STRICT} 'sha256-${createHash("sha256").update(map).digest("base64")}'`;
}

function isOrdered(word, encoding, keys, name) {
  assert.equal(word, `done, once, ${encoding}: Your payment went through.`, name);
  assert.equal(keys.length, 1, `${name}: ${keys.length} sends`);
  assert.match(keys[0], /^[0-9a-f-]{36}$/, name);
}

test("html: a module in a page without a bundler", () => {
  return orders("html", { folder: place }, "/html/module.html", strictWithMap(join(place, "html/module.html")));
});

test("html: the script tag of the README, with its hash", () => {
  const tag = README.match(/<script src="\/oncegate\/[^>]*>\s*<\/script>/)[0].replace("/oncegate/", "/node_modules/oncegate/dist/");
  const page = readFileSync(join(place, "html/script.html"), "utf8").replace(/<!-- .* -->/, tag);
  return orders("html", { folder: place, pages: { "/html/page.html": page } }, "/html/page.html");
});

test("html: another script than the one of the hash is not run", async () => {
  const tag = README.match(/<script src="\/oncegate\/[^>]*>\s*<\/script>/)[0].replace("/oncegate/oncegate.min.js", "/html/script.js");
  const shop = await startShop({ folder: place, pages: { "/": `<!doctype html>${tag}` } });
  const page = await browser.newPage();
  try {
    const said = page.waitForEvent("console", { predicate: (message) => /integrity/.test(message.text()), timeout: 10_000 });
    await page.goto(shop.url);
    assert.match((await said).text(), /integrity/);
  } finally {
    await page.close();
    await shop.stop();
  }
});

for (const [name, pages] of Object.entries({ vite: {}, webpack: { "/": WITH_MODULE }, rollup: { "/": WITH_MODULE } })) {
  test(`${name}: a build`, async () => {
    await run(project(name), "build.mjs");
    await orders(name, { folder: join(project(name), "out"), pages });
  });
}

test("parcel: a build, which names its chunks in an import map", async () => {
  await run(project("parcel"), "build.mjs");
  const folder = join(project("parcel"), "out");
  await orders("parcel", { folder }, "/", strictWithMap(join(folder, "index.html")));
});

test("esbuild: a build with code splitting, and one in a single file", async () => {
  await run(project("esbuild"), "build.mjs");
  const folder = join(project("esbuild"), "out");
  await orders("esbuild", { folder, pages: { "/": WITH_MODULE } });
  await orders("esbuild, single", { folder, pages: { "/": WITH_SCRIPT } });
});

test("vite: the development server", async () => {
  const { createServer } = await import(join(place, "node_modules/vite/dist/node/index.js"));
  const vite = await createServer({ root: place, configFile: false, logLevel: "warn", server: { middlewareMode: true, ws: false } });
  try {
    await orders("vite dev", { serve: (request, response) => vite.middlewares(request, response) }, "/vite/index.html");
  } finally {
    await vite.close();
  }
});

test("next: a page that is drawn on the server and in the browser", async () => {
  await run(project("next"), "build.mjs");
  // Its pages begin with inline scripts.
  await orders("next", { folder: join(project("next"), "out") }, "/", `${STRICT} 'unsafe-inline'`);
});

test("node: import, require, and every entry", async () => {
  for (const script of ["import.mjs", "require.cjs"]) {
    const shop = await startShop({ folder: place });
    isOrdered(await run(project("node"), script, `${shop.url}/orders`), "wasm", shop.keys, script);
    await shop.stop();
  }
  const said = await run(project("node"), "every-entry.mjs");
  const { exports } = JSON.parse(readFileSync(join(place, "node_modules/oncegate/package.json"), "utf8"));
  const entries = Object.keys(exports).filter((path) => typeof exports[path] === "object");
  assert.deepEqual(said.split("\n"), entries.map((path) => `${path.replace(".", "oncegate")} twice the same`));
});

/** What a job says when its lock and its claims have done what they are for. */
const WORKED = "lock_busy; done, done: sent";
const SECRET = "0123456789abcdef";

/** A gate with nothing behind it that matters here. */
async function withGate(work) {
  const origin = await startOrigin();
  const stack = await startStack({ LOCKS_SECRETS: `jobs=${SECRET}`, CLAIMS_SECRETS: `jobs=${SECRET}` }, origin);
  try {
    await work(stack.gate);
  } finally {
    await stack.stop();
    await origin.stop();
  }
}

test("node, esbuild, workerd: a lock and claims at a gate; a Worker that orders", () =>
  withGate(async (gate) => {
    assert.equal(await run(project("node"), "../job-main.js", gate, SECRET, "node"), WORKED);
    await run(project("esbuild"), "build.mjs");
    assert.equal(await run(project("esbuild"), "out/job.mjs", gate, SECRET, "esbuild"), WORKED);
    const shop = await startShop({ folder: place });
    const wrangler = new URL("../../node_modules/wrangler/bin/wrangler.js", import.meta.url).pathname;
    const variables = Object.entries({ SHOP: `${shop.url}/orders`, GATE: gate, SECRET }).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
    const parameters = [wrangler, "dev", "--port", "0", "--inspector-port", "0", "--ip", "127.0.0.1", ...variables];
    const worker = await startServer(process.execPath, parameters, project("workerd"));
    try {
      isOrdered(await (await fetch(worker.url)).text(), "wasm", shop.keys, "workerd");
      assert.equal(await (await fetch(`${worker.url}/job`)).text(), WORKED);
    } finally {
      await worker.stop();
      await shop.stop();
    }
  }));

for (const [name, ...parameters] of [["publint", "--strict"], ["attw", "--profile", "node16", "--exclude-entrypoints", "oncegate.wasm", "oncegate.min.js"]]) {
  test(`${name} finds nothing to mend`, async () => {
    const tool = realpathSync(join(place, "node_modules/.bin", name));
    await run(place, tool, "oncegate.tgz", ...parameters);
  });
}
