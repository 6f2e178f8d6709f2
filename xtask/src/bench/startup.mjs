// How long a page waits for the SDK: from its import to a client that has answered, in Chromium, in a fresh profile each time.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import { argv, env } from "node:process";
import { parseArgs } from "node:util";

import { chromium } from "playwright-core";

/** For the default entry, in milliseconds. */
const BUDGET_MS = 10;

const { values } = parseArgs({ args: argv.slice(2), options: { dist: { type: "string" }, rounds: { type: "string" } } });
const TYPES = { js: "text/javascript", wasm: "application/wasm" };
const ways = [
  { name: "oncegate", entry: "index.js" },
  { name: "oncegate, WebAssembly forbidden", entry: "index.js", policy: "script-src 'self'" },
  { name: "oncegate/js", entry: "js.js" },
  { name: "oncegate/wasm", entry: "wasm.js" },
];

function serve(request, response) {
  const { pathname, searchParams } = new URL(request.url, "http://shop");
  response.setHeader("cache-control", "no-store");
  if (pathname === "/") {
    if (searchParams.get("policy")) response.setHeader("content-security-policy", searchParams.get("policy"));
    return response.setHeader("content-type", "text/html").end(`<!doctype html><link rel="icon" href="data:,">`);
  }
  response.setHeader("content-type", TYPES[pathname.split(".").pop()]);
  return response.end(readFileSync(`${values.dist}${pathname}`));
}

/** Runs in the page. */
async function measure(entry) {
  const begun = performance.now();
  const { createOncegate } = await import(`/${entry}`);
  const imported = performance.now();
  const client = createOncegate();
  let { key } = client.state("cart-42");
  if (key === "") {
    await client.ready;
    ({ key } = client.state("cart-42"));
  }
  const answered = performance.now();
  if (!/^[0-9a-f-]{36}$/.test(key)) throw new Error(`${entry} has no key`);
  return { all: answered - begun, start: answered - imported };
}

async function startOnce(browser, url, { entry, policy = "" }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${url}/?policy=${encodeURIComponent(policy)}`);
  const measured = await page.evaluate(measure, entry);
  await context.close();
  return measured;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

const server = http.createServer(serve).listen(0, "127.0.0.1");
await once(server, "listening");
const browser = await chromium.launch({ executablePath: env.ONCEGATE_CHROMIUM, args: ["--disable-gpu", "--no-first-run"] });
const measured = new Map(ways.map(({ name }) => [name, []]));
try {
  // In turns, so that what else the machine does falls on all alike.
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const way of ways) measured.get(way.name).push(await startOnce(browser, `http://127.0.0.1:${server.address().port}`, way));
  }
} finally {
  await browser.close();
  server.close();
}
console.log(`| entry | import to first answer, ms | of it after the import, ms |\n| --- | --- | --- |`);
for (const [name, times] of measured) {
  const of = (part) => median(times.map((time) => time[part])).toFixed(1);
  console.log(`| ${name} | ${of("all")} | ${of("start")} |`);
}
const spent = median(measured.get(ways[0].name).map(({ all }) => all));
if (spent > BUDGET_MS) {
  console.error(`oncegate takes ${spent.toFixed(1)} ms to start, and may take ${BUDGET_MS}`);
  process.exitCode = 1;
}
