// The entry `oncegate/wasm`: the engine as a file of its own.

import { takeFrom } from "oncegate-encoding";

import { load } from "./engine.js";

export * from "./index.js";

export async function init(source) {
  takeFrom(source);
  await load();
}
