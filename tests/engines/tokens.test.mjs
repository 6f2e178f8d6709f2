// A route that takes nothing but one-time tokens: whatever becomes of the page, one token is sent, and the gate's record hangs on it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inEveryEngine, paid, ready, world } from "../support/engines/index.mjs";
import { until } from "../support/stack.mjs";

const settings = { token: '"required"', TOKEN_SECRETS: "s1=0123456789abcdef" };
const NIGHT_MS = 9 * 3_600_000;

/** How many tokens this page has fetched. */
const fetched = () => world.tab.run(() => performance.getEntriesByType("resource").filter(({ name }) => /\/v1\/tokens\b/.test(name)).length);

/** The token that is stored for the cart. */
const stored = () => world.tab.run(() => JSON.parse(localStorage.getItem("oncegate:token:cart-1"))?.token);

/** Opens the shop and waits until a token is there, before any click. A tab that nobody sees fetches none ahead. */
async function openWithToken(tabs = [world.tab], asked = {}) {
  for (const tab of tabs) await world.openShop(tab, { token: "", ...asked });
  await until(() => stored(), Boolean);
}

inEveryEngine(() => {
  test("the token is there before the first click, and a double click pays once under it", async () => {
    await openWithToken();
    const token = await stored();
    await world.tab.click("#pay", { times: 2, gapMs: 80 });
    await paid();
    assert.deepEqual([...world.door.keys], [token]);
    assert.equal(await fetched(), 1);
  });

  test("a reload after the execution and before the answer asks under the token that was sent", async () => {
    await openWithToken();
    const token = await stored();
    world.door.acts = ["hold"];
    await world.tab.click("#pay");
    await until(() => world.stack.rows().orders, (orders) => orders === 1);
    await world.tab.reload();
    await ready(world.tab);
    await paid();
    assert.deepEqual([...world.door.keys], [token]);
    assert.equal(await fetched(), 0);
  });

  for (const without of ["", "locks"]) {
    test(`two tabs at once${without && ", without Web Locks"}: one token`, async () => {
      await world.stack.faults({ delay_before: 300 });
      const other = await world.customer.tab();
      await openWithToken([world.tab, other], { without });
      await Promise.all([world.tab, other].map((tab) => tab.run(() => void document.getElementById("pay").click())));
      for (const tab of [world.tab, other]) await paid(tab);
      assert.equal(world.door.keys.size, 1);
    });
  }

  test("a page that was left open overnight, whose timers slept, pays under a new token", async () => {
    await openWithToken();
    const old = await stored();
    await world.tab.run((night) => {
      const name = "oncegate:token:cart-1";
      const entry = JSON.parse(localStorage.getItem(name));
      localStorage.setItem(name, JSON.stringify({ ...entry, at: entry.at - night }));
      document.getElementById("pay").click();
    }, NIGHT_MS);
    await paid();
    assert.equal(world.door.keys.size, 1);
    assert.ok(!world.door.keys.has(old));
  });
}, settings);
