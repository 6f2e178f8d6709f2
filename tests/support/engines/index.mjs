// One suite in three engines: a file's tests run in each of them against one chain, every test as a customer with an empty browser.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe } from "node:test";

import { startStack, until } from "../stack.mjs";
import { chromium } from "./chromium.mjs";
import { openDoor } from "./door.mjs";
import { firefox } from "./firefox.mjs";
import { webkit } from "./webkit.mjs";

const ENGINES = [chromium, firefox, webkit];
const chosen = (process.env.ONCEGATE_ENGINES ?? ENGINES.map(({ name }) => name).join()).split(",");
const settings = { lease_ms: 2_000, wait_ms: 1_000, client_timeout_ms: 1_500 };

/** What a test works with: the chain, the door before it, a customer with an empty browser and the first tab. */
export const world = {
  stack: undefined,
  door: undefined,
  customer: undefined,
  tab: undefined,

  /** The address of the shop's page; `asked` is what the page reads from its query. */
  shop: (asked = {}) => `${world.door.url}/pages/shop.html?${new URLSearchParams(asked)}`,

  /** Opens the shop and waits until a customer could pay. */
  async openShop(tab = world.tab, asked = {}) {
    await tab.open(world.shop(asked));
    await ready(tab);
  },
};

export const ready = (tab) => tab.wait(() => window.isReady === true);

/** Waits until the page says how the payment ended. */
export const says = (outcome, tab = world.tab) => tab.wait((which) => document.getElementById("result")?.dataset.outcome === which, outcome);

/** The page says that it is paid; when nothing is under way any more, the database agrees, and the SDK knows where the cart stands. */
export async function paid(tab = world.tab, effects = 1) {
  await says("done", tab);
  await until(() => world.door.open, (open) => open === 0);
  assert.deepEqual(world.stack.rows(), { orders: effects, payments: effects });
  assert.equal(await tab.run(() => og.state(new URLSearchParams(location.search).get("cart") ?? "cart-1").phase), "executed");
}

/** Pays; the order has been executed, and its answer does not come. */
export async function payWithoutAnswer(press = () => world.tab.click("#pay")) {
  world.door.acts = ["hold"];
  await press();
  await until(() => world.stack.rows().orders, (orders) => orders === 1);
}

/** Clicks on what is paid: it stays so, and every request so far had the one key. */
export async function anotherClickPaysNothing() {
  await world.tab.click("#pay");
  await paid();
  assert.equal(world.door.keys.size, 1);
}

/** Defines the tests of a file, once for each engine, each with a customer that a driver plays. `changes` are settings of the route, or a function that makes them from the door. */
export function inEveryEngine(define, changes = {}) {
  forEveryEngine((engine) => {
    withBrowser(engine);
    define(engine.name);
  }, changes);
}

/** As `inEveryEngine`, with browsers that nobody drives: `define` gets the engine, and the folder that its programs may use. */
export function inEveryBrowserAlone(define, changes = {}) {
  forEveryEngine((engine) => {
    const folder = withFolder();
    beforeEach(clear);
    define(engine, folder);
  }, changes);
}

function forEveryEngine(define, changes) {
  before(async () => {
    world.door = await openDoor();
    const more = typeof changes === "function" ? changes(world.door) : changes;
    world.stack = await startStack({ ...settings, ...more });
    world.door.gate = world.stack.gate;
  });
  after(async () => {
    await world.stack?.stop();
    await world.door?.shut();
  });
  for (const engine of ENGINES.filter(({ name }) => chosen.includes(name))) {
    describe(engine.name, { timeout: 300_000 }, () => {
      define(engine);
    });
  }
}

/** A folder for each test's programs, which is there while the test runs. */
function withFolder() {
  let folder;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "oncegate-engine-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return () => folder;
}

async function clear() {
  world.door.clear();
  await world.stack.clear();
}

function withBrowser(engine) {
  let folder;
  let browser;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "oncegate-engine-"));
    browser = await engine.start(folder);
  });
  after(async () => {
    await browser?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  beforeEach(async () => {
    await clear();
    world.customer = await browser.customer();
    world.tab = await world.customer.first();
  });
  afterEach(async (test) => {
    if (!test.passed) await keepEvidence(`${engine.name} ${test.name}`).catch((error) => console.error(`no evidence: ${error.message}`));
    await world.customer.close();
  });
}

/** A picture of the first tab, and what page and door know, in target/xtask/engines. */
async function keepEvidence(name) {
  const folder = new URL("../../../target/xtask/engines/", import.meta.url).pathname;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name.replaceAll(/[^a-z0-9]+/gi, "-"));
  const { arrivals, open } = world.door;
  const page = await world.tab.run(() => ({ url: location.href, text: document.body.innerText, said: window.said })).catch(String);
  await writeFile(`${file}.json`, JSON.stringify({ page, door: { arrivals, open }, rows: world.stack.rows() }, null, 2));
  await writeFile(`${file}.png`, Buffer.from(await world.tab.driver.picture(), "base64"));
  console.error(`what was seen: ${file}.json, ${file}.png; the gate's log is gone with its folder`);
}
