// Forms that are bound without code, in every engine: they are sent as this browser would have sent them, and they order once.

import assert from "node:assert/strict";
import { test } from "node:test";

import { anotherClickPaysNothing, inEveryEngine, paid, payWithoutAnswer, ready, world } from "../support/engines/index.mjs";
import { until } from "../support/stack.mjs";

const shop = (asked) => `${world.door.url}/pages/forms.html?${asked}`;

async function open(asked = "") {
  await world.tab.open(shop(asked));
  await ready(world.tab);
}

/** What the customer sees of the form, and what the keyboard and a screen reader find. */
const looks = () =>
  world.tab.run(() => {
    const [form, button] = [document.getElementById("order"), document.getElementById("pay")];
    const named = (element, name) => element.getAttribute(name);
    return [named(form, "aria-busy"), named(button, "aria-disabled"), button.disabled, document.activeElement === button, button.innerHTML];
  });
const BUSY = ["true", "true", false, true, "Sending …"];
const FREE = [null, null, false, true, "<b>Pay</b>"];

/** The next body that arrives, with the type that it is said to have: without a charset, and with the boundary, if it has one, made the same for all. */
async function sends(asked, enctype) {
  const before = world.door.bodies.length;
  await open(asked);
  await world.tab.run((type) => {
    const form = document.getElementById("order");
    // Where the browser itself puts the answer, so that the page stays.
    form.target = document.body.appendChild(Object.assign(document.createElement("iframe"), { name: "answer" })).name;
    form.enctype = type;
    form.elements.note.value = "one\ntwo ü&=%+";
    const files = new DataTransfer();
    files.items.add(new File(["bytes\n"], "ü \"card\".txt", { type: "text/plain" }));
    form.elements.card.files = files.files;
  }, enctype);
  await world.tab.enter("#pay");
  const [{ type, body }] = await until(() => world.door.bodies.slice(before), ({ length }) => length > 0);
  await until(() => world.door.open, (open) => open === 0);
  if (asked === "native") await until(() => world.tab.run(hasItsAnswer), Boolean);
  const media = type.replace(/; ?charset=.*/i, "").replace("; ", ";");
  const [, boundary] = /boundary=(.*)/.exec(media) ?? [];
  return [media, body].map((text) => (boundary ? text.replaceAll(boundary, "…") : text));
}

/** Whether the browser has put the answer where it belongs: until then, a browser may not leave the page in peace. */
const hasItsAnswer = () => {
  const shown = document.querySelector("iframe").contentDocument;
  return shown === null || (shown.URL !== "about:blank" && shown.readyState === "complete");
};

inEveryEngine(() => {
  for (const enctype of ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]) {
    test(`${enctype}: what arrives is what this browser itself would have sent, but for the charset`, async () => {
      const native = await sends("native", enctype);
      assert.match(native[1], /quantity/);
      assert.deepEqual(await sends("", enctype), native);
      assert.equal(world.door.arrivals[0], undefined);
      assert.match(world.door.arrivals[1], /^[0-9a-f-]{36}$/);
    });
  }

  test("every other kind of body arrives whole, and the same again after a lost answer", async () => {
    await open();
    const expected = {
      text: ["ü", /^text\/plain/],
      object: ['{"mug":"ü"}', "application/json"],
      search: ["a=1+2", /^application\/x-www-form-urlencoded/],
      bytes: ["bytes", undefined],
      file: ["of a file", "text/csv"],
    };
    for (const [kind, [body, type]] of Object.entries(expected)) {
      world.door.bodies = [];
      world.door.acts = ["lose"];
      await world.tab.run(async (which) => {
        const bodies = {
          text: "ü",
          object: { mug: "ü" },
          search: new URLSearchParams({ a: "1 2" }),
          bytes: new TextEncoder().encode("bytes"),
          file: new File(["of a file"], "a.csv", { type: "text/csv" }),
        };
        await og.submit({ intent: which, url: "/lab/orders", body: bodies[which] });
      }, kind);
      const [first, ...again] = world.door.bodies;
      assert.equal(first.body, body, kind);
      if (type instanceof RegExp) assert.match(first.type, type);
      else assert.equal(first.type, type, kind);
      assert.ok(again.length > 0, kind);
      for (const other of again) assert.deepEqual(other, first, kind);
    }
  });

  for (const binding of ["", "element"]) {
    test(`a form that ${binding ? "the element" : "its attribute"} binds, sent twice: one order; it is busy meanwhile, and keeps the focus`, async () => {
      await open(binding);
      world.door.acts = ["hold"];
      await world.tab.enter("#pay", 2);
      await until(() => world.stack.rows().orders, (orders) => orders === 1);
      assert.deepEqual(await looks(), BUSY);
      world.door.letGo();
      await paid();
      assert.deepEqual(await looks(), FREE);
      await world.tab.wait(() => document.querySelector("[role=status]")?.textContent.includes("went through"));
      assert.equal(world.door.arrivals.length, 1);
    });
  }

  test("the panel shows what happened, in its own style, also where a policy forbids WebAssembly and inline styles", async () => {
    world.door.pageHeaders = { "content-security-policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; form-action 'self'; img-src data:" };
    await open("panel");
    world.door.acts = ["lose"];
    await world.tab.click("#pay", { times: 2, gapMs: 80 });
    await paid();
    await world.tab.wait(() => document.querySelector("oncegate-panel").shadowRoot.querySelector("details[data-intent=cart-1] .state")?.textContent === "done");
    const [line, log, border, violated] = await world.tab.run(() => {
      const { shadowRoot } = document.querySelector("oncegate-panel");
      const style = getComputedStyle(shadowRoot.querySelector("details"));
      return [shadowRoot.querySelector(".line").textContent, og.log("cart-1").line, style.borderTopStyle, window.violated];
    });
    assert.equal(line, log);
    assert.match(line, /^cart-1: \d sends?, 1 execution/);
    assert.deepEqual([border, violated], ["solid", []]);
  });

  test("a field that is not valid sends nothing, and the browser says why", async () => {
    await open();
    await world.tab.run(() => (document.querySelector("[type=email]").value = "nobody"));
    await world.tab.click("#pay");
    assert.equal(await world.tab.run(() => document.activeElement.matches("[type=email]:invalid")), true);
    assert.equal(world.door.arrivals.length, 0);
    await world.tab.run(() => (document.querySelector("[type=email]").value = "bob@example.com"));
    await world.tab.click("#pay", { times: 2, gapMs: 80 });
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("a reload in mid-payment: the form finds out by itself, and a click pays nothing", async () => {
    await open();
    await payWithoutAnswer(() => world.tab.enter("#pay"));
    await world.tab.reload();
    await ready(world.tab);
    await paid();
    await anotherClickPaysNothing();
  });

  test("left in mid-payment, and back again: the button lives, and pays once", async () => {
    await open();
    await payWithoutAnswer(() => world.tab.enter("#pay"));
    await world.tab.open(`${world.door.url}/pages/elsewhere.html`);
    world.door.letGo();
    await world.tab.back();
    await ready(world.tab);
    await paid();
    const [isBusy, isDisabled] = await looks();
    assert.deepEqual([isBusy, isDisabled], [null, null]);
    await anotherClickPaysNothing();
  });
}, { path: '"/lab/orders"' });
