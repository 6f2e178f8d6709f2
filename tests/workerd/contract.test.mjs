// The store's contract (tests/contract) on an object's own SQLite: the cases that every store must pass.

import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";

import { initSync, names, run } from "../../target/contract/bundle.js";
import wasm from "../../target/contract/contract_bg.wasm";
import { newKey, shardNamed } from "./support/gate.mjs";

initSync({ module: wasm });

test("the suite has its cases", () => expect(names().length).toBeGreaterThan(20));

for (const name of names()) {
  // An object that the gate never calls: its storage is empty.
  test(name, () => runInDurableObject(shardNamed(`contract-${newKey()}`), (_, state) => run(name, state)));
}
