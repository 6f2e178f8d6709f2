// A gate on another origin than the page, and a customer who becomes somebody else in mid-payment.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inEveryEngine, paid, ready, says, world } from "../support/engines/index.mjs";
import { until } from "../support/stack.mjs";

/** The same gate, reached under another host: for a browser, another origin. */
const elsewhere = () => world.door.url.replace("127.0.0.1", "localhost");
const settings = (door) => ({ CORS_ORIGINS: JSON.stringify([door.url]), bind: '{ header = "X-Customer" }' });

/** What stands before a gate knows a customer by the session's cookie, and says so in a field that no browser may set. */
const nameCustomer = ({ headers }) => ({ "x-customer": /customer=(\w+)/.exec(headers.cookie)?.[1] ?? "nobody" });
const login = (name) => world.tab.run((customer) => void (document.cookie = `customer=${customer}; path=/`), name);

inEveryEngine(() => {
  test("a gate on another origin: preflight, a double click, and what the gate says can be read", async () => {
    world.door.adds = nameCustomer;
    await world.openShop(world.tab, { gate: elsewhere() });
    await world.tab.click("#pay", { times: 2, gapMs: 80 });
    await paid();
    const answer = await world.tab.run(() => said.find(({ type }) => type === "answer"));
    assert.equal(answer.idempotencyStatus, "executed");
    assert.equal(world.door.keys.size, 1);
  });

  test("a gate on another origin: the page is reloaded before the answer", async () => {
    world.door.adds = nameCustomer;
    world.door.acts = ["hold"];
    await world.openShop(world.tab, { gate: elsewhere() });
    await world.tab.click("#pay");
    await until(() => world.stack.rows().orders, (orders) => orders === 1);
    await world.tab.reload();
    await ready(world.tab);
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("another customer logs in in mid-payment: told nothing, charged nothing; the first one comes back and learns the truth", async () => {
    world.door.adds = nameCustomer;
    await world.openShop();
    await login("ada");
    world.door.acts = ["hold"];
    await world.tab.click("#pay");
    await until(() => world.stack.rows().orders, (orders) => orders === 1);
    await login("bob");
    await world.tab.reload();
    await ready(world.tab);
    await says("unknown");
    assert.deepEqual(world.stack.rows(), { orders: 1, payments: 1 });
    await login("ada");
    await world.tab.reload();
    await ready(world.tab);
    await paid();
    assert.equal(world.door.keys.size, 1);
  });
}, settings);
