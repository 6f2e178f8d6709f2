// The page goes away in mid-payment and comes back: reloads, closed tabs, the back/forward cache, other sites.
//
// A crash is tried as a closed tab, of which the page hears nothing either. A killed process cannot be tried: chromedriver and WebKitWebDriver end
// the session, and with it the browser and all that it stored, when a tab has crashed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inEveryEngine, paid, ready, says, world } from "../support/engines/index.mjs";
import { until } from "../support/stack.mjs";

const settings = { fingerprint: '"json"', fingerprint_ignore: '["/at"]' };

/** Presses Pay; the order has been executed, and its answer does not come. */
async function payWithoutAnswer() {
  world.door.acts = ["hold"];
  await world.tab.click("#pay");
  await until(() => world.stack.rows().orders, (orders) => orders === 1);
}

inEveryEngine(() => {
  test("a reload straight after the click, and another click", async () => {
    await world.stack.faults({ delay_before: 400 });
    await world.openShop();
    await world.tab.click("#pay");
    await world.tab.reload();
    await ready(world.tab);
    await world.tab.click("#pay");
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("a reload while the order is on its way: the page finds out by itself", async () => {
    await world.stack.faults({ delay_before: 400 });
    await world.openShop();
    await world.tab.click("#pay");
    await world.door.arrived(1);
    await world.tab.reload();
    await ready(world.tab);
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("a reload after the execution and before the answer, and another click", async () => {
    await world.openShop();
    await payWithoutAnswer();
    await world.tab.reload();
    await ready(world.tab);
    await world.tab.click("#pay");
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("a reload after the answer pays nothing again, and neither does a click then", async () => {
    await world.openShop();
    await world.tab.click("#pay");
    await paid();
    await world.tab.reload();
    await ready(world.tab);
    await paid();
    await world.tab.click("#pay");
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("a payload that is built anew after the reload, with another time in it, is the same order", async () => {
    await world.openShop(world.tab, { stamped: "" });
    await payWithoutAnswer();
    await world.tab.reload();
    await ready(world.tab);
    await paid();
    assert.equal(world.door.keys.size, 1);
    assert.equal(await world.tab.run(() => window.outcome.changed), false);
  });

  test("the tab is closed in mid-payment, and the shop is open in another one", async () => {
    const other = await world.customer.tab();
    await world.openShop();
    await payWithoutAnswer();
    await world.tab.close();
    await world.openShop(other);
    await paid(other);
    assert.equal(world.door.keys.size, 1);
    world.tab = other;
  });

  test("left in mid-payment, and back again", async (t) => {
    await world.openShop();
    await payWithoutAnswer();
    await world.tab.open(`${world.door.url}/pages/elsewhere.html`);
    world.door.letGo();
    await world.tab.back();
    await ready(world.tab);
    await paid();
    t.diagnostic(`the page was kept: ${await world.tab.run(() => window.wasKept === true)}`);
    assert.equal(world.door.keys.size, 1);
  });

  test("left after the payment, and back again: the browser's cache shows the truth, and a click pays nothing", async (t) => {
    await world.openShop();
    await world.tab.click("#pay");
    await paid();
    await world.tab.open(`${world.door.url}/pages/elsewhere.html`);
    await world.tab.back();
    await ready(world.tab);
    await paid();
    t.diagnostic(`the page was kept: ${await world.tab.run(() => window.wasKept === true)}`);
    await world.tab.click("#pay");
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  for (const when of ["in mid-payment", "after the payment"]) {
    test(`to the bank's page ${when}, and back by its form`, async () => {
      await world.openShop();
      if (when === "in mid-payment") await payWithoutAnswer();
      else await world.tab.click("#pay").then(() => says("done"));
      const bank = `${world.door.url.replace("127.0.0.1", "localhost")}/pages/bank.html?${new URLSearchParams({ back: world.shop() })}`;
      await world.tab.open(bank);
      await world.tab.click("button");
      await ready(world.tab);
      // Chromium keeps the page that was left, with its request open.
      world.door.letGo();
      await paid();
      assert.equal(world.door.keys.size, 1);
    });
  }
}, settings);
