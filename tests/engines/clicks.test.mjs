// Clicks and keys, as a mouse and a keyboard make them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inEveryEngine, paid, world } from "../support/engines/index.mjs";

inEveryEngine(() => {
  test("one click", async () => {
    await world.openShop();
    await world.tab.click("#pay");
    await paid();
    assert.equal(world.door.arrivals.length, 1);
  });

  test("two clicks in one task", async () => {
    await world.openShop();
    await world.tab.run(() => (document.getElementById("pay").click(), document.getElementById("pay").click()));
    await paid();
    assert.equal(world.door.arrivals.length, 1);
  });

  for (const gapMs of [0, 80, 150]) {
    test(`a double click, ${gapMs} ms apart`, async () => {
      await world.stack.faults({ delay_before: 400 });
      await world.openShop();
      await world.tab.run(() => document.addEventListener("dblclick", () => (window.isDouble = true)));
      await world.tab.click("#pay", { times: 2, gapMs });
      await paid();
      assert.equal(await world.tab.run(() => window.isDouble), true, "the browser itself calls it a double click");
      assert.equal(world.door.arrivals.length, 1);
    });
  }

  for (const rate of [6, 20]) {
    test(`a double click, 80 ms apart, on a page that gets one part in ${rate} of the processor`, async () => {
      await world.openShop();
      await world.customer.slow(world.tab, rate);
      await world.tab.click("#pay", { times: 2, gapMs: 80 });
      await paid();
      assert.equal(world.door.keys.size, 1);
    });
  }

  test("ten clicks, 20 ms apart", async () => {
    await world.openShop();
    await world.tab.click("#pay", { times: 10, gapMs: 20 });
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("Enter twice", async () => {
    await world.openShop();
    await world.tab.enter("#name", 2);
    await paid();
    assert.equal(world.door.keys.size, 1);
  });
});
