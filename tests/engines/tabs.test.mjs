// Several tabs of one browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inEveryEngine, paid, ready, says, world } from "../support/engines/index.mjs";
import { until } from "../support/stack.mjs";

/** The SDK's lock for the shop's cart; the event `tab-wait` proves that it is this one. */
const LOCK = "oncegate:cart-1";

/** A press in a tab that lies behind another one: no mouse gets there. */
const press = (tab) => tab.run(() => void document.getElementById("pay").click());

/** A shop that nobody sees. */
const hidden = {
  // Without a head, no tab lies behind another one; a window can be put away.
  async chromium() {
    await world.openShop();
    await world.customer.hide(world.tab);
    return world.tab;
  },
  // What is left is hidden.
  async firefox() {
    await world.openShop();
    await world.customer.tab();
    return world.tab;
  },
  // The driver hides tabs that it opens later, for good.
  async webkit() {
    const tab = await world.customer.tab();
    await world.openShop(tab);
    return tab;
  },
};

inEveryEngine((engine) => {
  for (const without of ["", "locks"]) {
    test(`two tabs at once${without && ", without Web Locks"}`, async () => {
      await world.stack.faults({ delay_before: 300 });
      const other = await world.customer.tab();
      for (const tab of [world.tab, other]) await world.openShop(tab, { without });
      assert.equal(await other.run(() => "locks" in navigator), without === "");
      await Promise.all([press(world.tab), press(other)]);
      for (const tab of [world.tab, other]) await paid(tab);
      assert.equal(world.door.keys.size, 1);
    });
  }

  test("a tab is duplicated in mid-payment", async () => {
    await world.openShop();
    await world.tab.run(() => (sessionStorage.setItem("mark", "of this tab"), history.replaceState("of this tab", "")));
    world.door.acts = ["hold"];
    await world.tab.click("#pay");
    await until(() => world.stack.rows().orders, (orders) => orders === 1);
    const copy = await world.customer.duplicate(world.tab);
    await ready(copy);
    const [mark, count, state] = await copy.run(() => [sessionStorage.getItem("mark"), sessionStorage.length, history.state]);
    assert.equal(mark, "of this tab", "it is a duplicate, and no second tab");
    assert.equal(count, 1, "the SDK keeps nothing in the session storage");
    if (engine !== "webkit") assert.equal(state, "of this tab");
    await copy.wait(() => said.some(({ type }) => type === "tab-wait"));
    world.door.letGo();
    for (const tab of [world.tab, copy]) await paid(tab);
    await press(copy);
    await paid(copy);
    assert.equal(world.door.keys.size, 1);
  });

  test("another tab holds every lock for ever: the payment goes on under the same key", async () => {
    const other = await world.customer.tab();
    await world.openShop(other);
    await world.openShop();
    await other.run((name) => void navigator.locks.request(name, () => new Promise(() => {})), LOCK);
    await other.wait(async (name) => (await navigator.locks.query()).held.some((lock) => lock.name === name), LOCK);
    await world.tab.click("#pay");
    await paid();
    assert.equal(await world.tab.run(() => said.some(({ type }) => type === "tab-wait")), true);
  });

  test("the tab is hidden while it must send again", async () => {
    await world.stack.faults("unavailable", "unavailable");
    const tab = await hidden[engine]();
    assert.equal(await tab.run(() => document.visibilityState), "hidden");
    await press(tab);
    await paid(tab);
    assert.ok(world.door.arrivals.length >= 3);
    assert.equal(world.door.keys.size, 1);
  });

  test("one tab pays, the other one shows the cart from before and pays as well", async () => {
    const other = await world.customer.tab();
    await world.openShop(other);
    await world.openShop();
    await world.tab.click("#pay");
    await says("done");
    await press(other);
    await paid(other);
    assert.equal(world.door.keys.size, 1);
  });
});
