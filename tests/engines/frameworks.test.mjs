// A pay button in React, Vue and Svelte (compiled components), in every engine: what the component shows is true, also when it or its page has
// gone and come again in mid-payment.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { FRAMEWORKS, pageOf } from "../../sdk/tests/frameworks.mjs";
import { inEveryEngine, payWithoutAnswer, world } from "../support/engines/index.mjs";
import { order, until } from "../support/stack.mjs";

const scripts = {};

async function open(name) {
  world.door.scripts = { "frameworks.js": scripts[name] };
  await world.tab.open(`${world.door.url}/pages/frameworks.html`);
  await drawn();
}

const drawn = () => world.tab.wait(() => window.ready && document.getElementById("pay") !== null);
const shows = (state) => world.tab.wait((wanted) => document.querySelector("output")?.dataset.state === wanted, state);
const settled = (count) => world.tab.wait((wanted) => results.length === wanted && results.every((outcome) => outcome === "done"), count);

/** Keeps what the component shows from now on in the page's `shown`. */
const watch = () =>
  world.tab.run(() => {
    const output = document.querySelector("output");
    window.shown = [];
    new MutationObserver(() => shown.at(-1) !== output.dataset.state && shown.push(output.dataset.state)).observe(output, { attributeFilter: ["data-state"] });
  });

/** The database has one order, and the component says that it is paid. */
async function isPaid() {
  await shows("done");
  assert.equal(await world.tab.run(() => document.querySelector("output").textContent), "Your payment went through.");
  await until(() => world.door.open, (open) => open === 0);
  assert.deepEqual(world.stack.rows(), { orders: 1, payments: 1 });
  assert.equal(world.door.keys.size, 1);
}

inEveryEngine(() => {
  before(async () => {
    for (const name of FRAMEWORKS) scripts[name] ??= await pageOf(name, order());
  });

  for (const name of FRAMEWORKS) {
    test(`${name}: a double click whose first answer is lost is one order, and the component says that it is sent, and that it is paid`, async () => {
      await open(name);
      await shows("idle");
      await watch();
      world.door.acts = ["lose"];
      await world.tab.click("#pay", { times: 2, gapMs: 80 });
      await settled(2);
      await isPaid();
      assert.deepEqual(await world.tab.run(() => shown), ["sending", "done"]);
    });

    test(`${name}: a component that goes in mid-payment and comes again finds its payment`, async () => {
      await open(name);
      await payWithoutAnswer();
      await world.tab.click("#toggle");
      await world.tab.wait(() => document.getElementById("pay") === null);
      await world.tab.click("#toggle");
      await shows("sending");
      await world.tab.click("#pay");
      world.door.letGo();
      await settled(2);
      await isPaid();
    });

    test(`${name}: a component that goes in mid-payment and does not come again: the payment is made`, async () => {
      await open(name);
      await payWithoutAnswer();
      await world.tab.click("#toggle");
      world.door.letGo();
      await settled(1);
      await world.tab.click("#toggle");
      await isPaid();
    });

    test(`${name}: after a reload in mid-payment the component says that it is open`, async () => {
      await open(name);
      await payWithoutAnswer();
      await world.tab.reload();
      await drawn();
      await shows("unknown");
      await world.tab.click("#pay");
      await settled(1);
      await isPaid();
    });
  }
});
