// The page goes away in mid-payment and comes back: reloads, closed tabs, the back/forward cache, other sites.
// Killed browsers, and the killed page of WebKit, are in killed.test.mjs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { anotherClickPaysNothing, inEveryEngine, paid, payWithoutAnswer, ready, says, world } from "../support/engines/index.mjs";
import { until } from "../support/stack.mjs";

const settings = { fingerprint: '"json"', fingerprint_ignore: '["/at"]' };

inEveryEngine((engine) => {
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
    await anotherClickPaysNothing();
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

  // WebKit's driver ends its session with the page's process.
  if (engine !== "webkit") {
    test("the tab crashes in mid-payment, and the shop is opened in another one", async () => {
      const other = await world.customer.tab();
      await world.openShop(other);
      await payWithoutAnswer(() => other.click("#pay"));
      assert.ok((await world.customer.crash(other)) > 0);
      await until(() => other.run(() => window.isReady === true).catch(() => false), (isThere) => !isThere);
      world.door.letGo();
      await world.openShop();
      await paid();
      assert.equal(world.door.keys.size, 1);
    });
  }

  test("left in mid-payment, and back again", async () => {
    await world.openShop();
    await payWithoutAnswer();
    await world.tab.open(`${world.door.url}/pages/elsewhere.html`);
    world.door.letGo();
    await world.tab.back();
    await ready(world.tab);
    await paid();
    assert.equal(world.door.keys.size, 1);
    // Firefox keeps no page that waits for an answer. Where a page is kept, no answer will come to what it has sent: it sends again at once.
    const { wasKept, said } = await world.tab.run(() => ({ wasKept: window.wasKept === true, said: said.map(({ type, send }) => `${type} ${send}`) }));
    assert.equal(wasKept, engine !== "firefox");
    assert.equal(said.includes("network-error 1"), wasKept);
  });

  // The others show a new page, with a new deadline.
  if (engine !== "firefox") {
    test("away for longer than the deadline, in mid-payment: the time in which the page was put away does not count", async () => {
      const deadline = 4_000;
      await world.openShop(world.tab, { deadline });
      await payWithoutAnswer();
      await world.tab.open(`${world.door.url}/pages/elsewhere.html`);
      world.door.letGo();
      await new Promise((resolve) => setTimeout(resolve, deadline));
      await world.tab.back();
      await ready(world.tab);
      await paid();
      assert.equal(await world.tab.run(() => said.filter(({ type }) => type === "settled").length), 1);
    });
  }

  test("left after the payment, and back again: the browser's cache shows the truth, and a click pays nothing", async () => {
    await world.openShop();
    await world.tab.click("#pay");
    await paid();
    await world.tab.open(`${world.door.url}/pages/elsewhere.html`);
    await world.tab.back();
    await ready(world.tab);
    await paid();
    assert.equal(await world.tab.run(() => window.wasKept), true);
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
