// Browsers that keep nothing, and pages that may not use WebAssembly.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { inEveryEngine, paid, ready, world } from "../support/engines/index.mjs";
import { until } from "../support/stack.mjs";

const heard = (type) => world.tab.run((wanted) => said.some((event) => event.type === wanted), type);

inEveryEngine(() => {
  for (const storage of ["blocked", "full"]) {
    test(`storage is ${storage}: one order, and the page is told what protection is missing`, async () => {
      await world.stack.faults({ delay_before: 300 });
      await world.openShop(world.tab, { storage });
      await world.tab.click("#pay", { times: 2, gapMs: 80 });
      await paid();
      assert.equal(world.door.keys.size, 1);
      assert.equal(await heard("storage-missing"), true);
    });
  }

  test("storage is cleared under the page in mid-payment, and the answer is lost", async () => {
    await world.openShop();
    world.door.acts = ["lose", "lose", "hold"];
    await world.tab.click("#pay");
    await until(() => world.stack.rows().orders, (orders) => orders === 1);
    await world.tab.run(() => localStorage.clear());
    world.door.acts = [];
    world.door.letGo();
    await world.tab.click("#pay");
    await paid();
    assert.equal(world.door.keys.size, 1);
  });

  test("a policy of script-src 'self' forbids WebAssembly: the same engine runs as plain JavaScript", async () => {
    world.door.pageHeaders = { "content-security-policy": "default-src 'none'; script-src 'self'; connect-src 'self'; form-action 'self'" };
    await world.openShop();
    await world.tab.click("#pay", { times: 2, gapMs: 80 });
    await paid();
    assert.equal(await heard("wasm-blocked"), true);
    assert.equal(world.door.keys.size, 1);
  });

  test("so does a policy of nonces with 'strict-dynamic' and trusted types: the second script is trusted through the first", async () => {
    const page = await readFile(new URL("pages/shop.html", import.meta.url), "utf8");
    world.door.scripts = { "nonces.html": page.replaceAll("<script ", '<script nonce="once" ') };
    world.door.pageHeaders = { "content-security-policy": "script-src 'nonce-once' 'strict-dynamic'; require-trusted-types-for 'script'" };
    await world.tab.open(`${world.door.url}/pages/nonces.html`);
    await ready(world.tab);
    await world.tab.click("#pay", { times: 2, gapMs: 80 });
    await paid();
    assert.equal(await heard("wasm-blocked"), true);
    assert.equal(world.door.keys.size, 1);
  });

  test("a policy with 'wasm-unsafe-eval' lets WebAssembly run", async () => {
    world.door.pageHeaders = { "content-security-policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'" };
    await world.openShop();
    await world.tab.click("#pay");
    await paid();
    assert.equal(await heard("wasm-blocked"), false);
  });
});
