// Processes are killed in mid-payment: a page's, or the whole browser's. No driver takes part: it would end the session, and what the browser has
// stored with it. The page presses Pay by itself and tells the door how it went; door and database are the judges.
//
// Browsers write `localStorage` to disk seconds after the page did (docs/sdk/browsers.md). What counts is that the install secret, which a page
// makes when it is opened, is there before somebody pays: then a payment whose record was lost has the same key again.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { inEveryBrowserAlone, world } from "../support/engines/index.mjs";
import { endGroup, killGroup, killMembers } from "../support/engines/processes.mjs";
import { until } from "../support/stack.mjs";

const told = (what) => until(() => world.door.told.includes(what), Boolean, 30_000);
const executed = () => until(() => world.stack.rows().orders, (orders) => orders === 1);
const PRESSES = { tells: "", presses: "" };

/** Whether a browser's storage on disk has the install secret. */
function isOnDisk(folder, stores) {
  const paths = readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).filter((path) => stores.test(path));
  return paths.some((path) => {
    try {
      return readFileSync(path).includes("oncegate:secret");
    } catch {
      return false; // A folder, or gone meanwhile.
    }
  });
}

/** Another start of the browser, at the shop's page. */
async function opened(browser, asked) {
  world.door.told = [];
  return browser.open(world.shop(asked));
}

/** A customer who was in the shop before, presses Pay; the order is executed, and its answer does not come. */
async function payWithoutAnswer(browser, folder) {
  const before = await opened(browser, { tells: "" });
  await told("ready");
  await until(() => isOnDisk(folder, browser.stores), Boolean);
  await killGroup(before);
  world.door.acts = ["hold"];
  const group = await opened(browser, PRESSES);
  await executed();
  return group;
}

/** The customer is back, and pays once more. */
async function comesBack(browser) {
  world.door.letGo();
  const group = await opened(browser, PRESSES);
  await told("done");
  await endGroup(group);
  assert.deepEqual(world.stack.rows(), { orders: 1, payments: 1 });
  assert.equal(world.door.keys.size, 1);
}

inEveryBrowserAlone((engine, folder) => {
  const alone = (tries) => async (t) => {
    const browser = await engine.alone(folder());
    t.after(() => browser.stop());
    await tries(browser);
  };

  const kill = alone(async (browser) => {
    await killGroup(await payWithoutAnswer(browser, folder()));
    await comesBack(browser);
  });
  test("the whole browser is killed in mid-payment, and started again", kill);

  // The others are crashed by their drivers, in returns.test.mjs.
  if (engine.name === "webkit") {
    const crash = alone(async (browser) => {
      const group = await payWithoutAnswer(browser, folder());
      assert.equal(killMembers(group, /WebKitWebProcess/), 1);
      await endGroup(group);
      await comesBack(browser);
    });
    test("the page's process is killed in mid-payment, and the browser opened again", crash);
  }
});
