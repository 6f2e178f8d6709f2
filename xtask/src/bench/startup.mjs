// What a page pays for the SDK, in Chromium, in a fresh context each time, from a server on loopback that lets nothing be kept.
//
// *Start-up* is the time from the import of an entry to a client with its engine: fetched, compiled, evaluated, created, and the first key
// made. The page has loaded a script of its own before, as every page has that imports something: what a browser takes for the first request of
// a page is not the SDK's. The first answer to a click stands beside a bare `fetch` in the same page, and everything beside an
// empty module and a library in plain JavaScript, in turns, so that what else the machine does falls on all alike.
//
// The budget is held by the median. One start is made slow on purpose, and must break it: else the measure is wrong.

import { argv } from "node:process";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";

import { startBrowser } from "./devtools.mjs";
import { openShop } from "./startup-shop.mjs";
import * as steps from "./startup-steps.mjs";

/** Start-up of the default entry, in milliseconds. */
const BUDGET_MS = 10;

/** How long a page stands before it is measured: a browser that has just opened one starts the process of the next, on the processor that is measured. */
const REST_MS = 500;

/** What an empty module may take at most, so that the rest can be told from the machine. */
const QUIET_MS = 5;

const EMPTY = "an empty module";
const RIVAL = "ky, which is plain JavaScript";
const DEFAULT = "oncegate";
const SLOW = "oncegate, made slow on purpose";
const WAYS = [
  { name: EMPTY, entry: "empty.js", alsoFirst: true },
  { name: RIVAL, entry: "rival.js", alsoFirst: true },
  { name: DEFAULT, entry: "index.js", alsoFirst: true },
  { name: "oncegate, WebAssembly forbidden", entry: "index.js", policy: "script-src 'self'" },
  { name: "oncegate/js", entry: "js.js" },
  { name: "oncegate/wasm", entry: "wasm.js" },
  { name: SLOW, entry: "slow.js", onlyStarts: true },
];

const { values } = parseArgs({ args: argv.slice(2), options: { dist: { type: "string" }, rounds: { type: "string" } } });

async function restedPage(browser, address) {
  const page = await browser.freshPage(address);
  await setTimeout(REST_MS);
  return page;
}

async function startOnce(browser, shop, { entry, policy, alsoFirst, onlyStarts }) {
  const measured = {};
  const page = await restedPage(browser, shop.page({ policy }));
  const before = await page.worked();
  Object.assign(measured, await page.run(steps.start, entry));
  measured.worked = (await page.worked()) - before;
  if (!onlyStarts) Object.assign(measured, await page.run(steps.answers));
  await page.close();
  if (!alsoFirst) return measured;
  const bare = await restedPage(browser, shop.page({ bare: "yes" }));
  measured.first = (await bare.run(steps.start, entry)).whole;
  await bare.close();
  return measured;
}

async function measure() {
  const measured = new Map(WAYS.map(({ name }) => [name, []]));
  const shop = await openShop(values.dist, BUDGET_MS);
  const browser = await startBrowser();
  try {
    // The first round warms the browser up.
    for (let round = 0; round <= Number(values.rounds); round += 1) {
      for (const way of WAYS) {
        const times = await startOnce(browser, shop, way);
        if (round > 0) measured.get(way.name).push(times);
      }
    }
  } finally {
    await browser.stop();
    shop.close();
  }
  return measured;
}

/** In the order of their times, the run at this share of all. */
const at = (times, share) => times.toSorted((a, b) => a - b)[Math.floor(times.length * share)];

function print(measured) {
  const of = (name, part) => measured.get(name).map((times) => times[part]);
  const said = (name, part, share = 0.5) => (of(name, part)[0] === undefined ? "" : at(of(name, part), share).toFixed(1));
  /** What a run takes beyond the empty module of its round. */
  const beyond = (name, part) => at(of(name, part).map((time, round) => time - of(EMPTY, part)[round]), 0.5).toFixed(1);
  table(["start-up, ms", "median", "quickest quarter", "beyond an empty module", "its engine alone", "on the page's thread", "as the page's first request"],
    WAYS.map(({ name }) => [name, said(name, "whole"), said(name, "whole", 0.25), beyond(name, "whole"), said(name, "engine"), said(name, "worked"), said(name, "first")]));
  table(["answers, ms", "a bare fetch", "the first submit", "beyond the fetch", "the second submit", "beyond the fetch"],
    WAYS.filter(({ onlyStarts }) => !onlyStarts).map(({ name }) => {
      const more = (part) => at(of(name, part).map((time, round) => time - of(name, "bare")[round]), 0.5).toFixed(1);
      return [name, said(name, "bare"), said(name, "answer"), more("answer"), said(name, "again"), more("again")];
    }));
}

function table(head, rows) {
  const line = (cells) => console.log(`| ${cells.join(" | ")} |`);
  line(head);
  line(head.map(() => "---"));
  rows.forEach(line);
  console.log();
}

function judge(measured) {
  const median = (name) => at(measured.get(name).map(({ whole }) => whole), 0.5);
  const ms = (name) => `${median(name).toFixed(1)} ms`;
  if (median(SLOW) <= BUDGET_MS) return `${SLOW} takes only ${ms(SLOW)}: what is measured here is not what a page pays`;
  if (median(DEFAULT) <= BUDGET_MS) return undefined;
  const cause = median(EMPTY) > QUIET_MS ? `; but ${EMPTY} takes ${ms(EMPTY)}: the machine is too busy to measure on` : "";
  return `oncegate takes ${ms(DEFAULT)} to start, and may take ${BUDGET_MS}${cause}`;
}

const measured = await measure();
print(measured);
const fault = judge(measured);
if (fault) console.error(fault);
else console.log(`oncegate starts within its ${BUDGET_MS} ms; what was made slow does not, as it must.`);
process.exitCode = fault ? 1 : 0;
