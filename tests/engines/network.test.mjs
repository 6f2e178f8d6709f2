// The network fails. WebKit has no offline emulation: there the door shuts, which every engine is tried with.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inEveryEngine, paid, world } from "../support/engines/index.mjs";
import { until } from "../support/stack.mjs";

const failed = () => world.tab.wait(() => said.some(({ type }) => type === "network-error"));

/** So many that their first repetitions are more than a page may make at once. */
const ORDERS = 30;

/** How many repetitions a page may make at once, and how long it takes until one more is allowed: the budget of core/src/attempt. */
const AT_ONCE = 20;
const REFILL_MS = 3_000;

/** How often the page has sent, by its own count. */
const sends = () => world.tab.run(() => said.filter(({ type }) => type === "send").length);

inEveryEngine((engine) => {
  if (engine !== "webkit") {
    test("offline before the click, then online", async () => {
      await world.openShop();
      await world.customer.offline(world.tab, true);
      await world.tab.click("#pay");
      await world.tab.wait(() => said.some(({ type }) => type === "wait" || type === "network-error"));
      await world.customer.offline(world.tab, false);
      await paid();
      assert.equal(world.door.keys.size, 1);
    });
  }

  test("the server cannot be reached, then it can", async () => {
    await world.openShop();
    await world.door.shut();
    await world.tab.click("#pay");
    await failed();
    await world.door.reopen();
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("the connection breaks in mid-payment, then there is one again", async () => {
    await world.openShop();
    world.door.acts = ["hold"];
    await world.tab.click("#pay");
    await until(() => world.stack.rows().orders, (orders) => orders === 1);
    await world.door.shut();
    await failed();
    await world.door.reopen();
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("a server that is ill is not stormed: whatever a page has under way shares one budget of repetitions", async () => {
    await world.openShop();
    const startedMs = performance.now();
    await world.stack.faults(...Array(400).fill("unavailable"));
    await world.tab.run((count) => {
      for (let order = 1; order <= count; order += 1) void og.submit({ intent: `cart-b${order}`, url: "/orders", body: { order } });
    }, ORDERS);
    // Neither this page's backoff nor the gate asks for as much: these wait because the others have used the budget up.
    await world.tab.wait(() => said.filter(({ type, waitMs }) => type === "wait" && waitMs > 2_000).length >= 5);
    await world.door.arrived(ORDERS + AT_ONCE);
    const repeated = world.door.arrivals.length - ORDERS;
    assert.ok(repeated <= AT_ONCE + (performance.now() - startedMs) / REFILL_MS, `${repeated} repetitions`);
    assert.equal(world.door.keys.size, ORDERS);
  });

  test("the server executes and drops the connection: what the browser itself sends again carries the same key", async (t) => {
    await world.openShop();
    // Over a connection that has been used: only those are taken for stale.
    await world.tab.run(async () => void (await fetch("/catalog")).text());
    world.door.acts = ["lose", "lose"];
    await world.tab.click("#pay");
    await paid();
    t.diagnostic(`${world.door.arrivals.length} arrivals, ${await sends()} sends by the page`);
    assert.ok(world.door.arrivals.length >= 3);
    assert.equal(world.door.keys.size, 1);
  });
});
