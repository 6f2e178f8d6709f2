// The engine, in the encoding that this entry of the package brings. If its WebAssembly cannot be started (a
// Content-Security-Policy forbids it, or the browser has none), the same engine as plain JavaScript takes over.
//
// Invariant: the engine is set up once, and everybody meets the same one.

import { after, ask, digest, imports, setUp } from "oncegate-engine/engine.js";
import { instantiate, instead } from "oncegate-encoding";

import { toVerbs } from "./letter.js";

const verbs = toVerbs({ after, ask, digest });

let isThere = false;
let loading;
let obstacle;

/** A promise that ends when the engine can be used, or nothing if that is so already. It may be asked again after a failure. */
export function load() {
  if (isThere || loading) return loading;
  try {
    const exports = instantiate(imports());
    if (!(exports instanceof Promise)) return adopt(exports);
    loading = exports.catch(takeOver).then(adopt);
  } catch (cause) {
    loading = takeOver(cause).then(adopt);
  }
  loading.catch(() => (loading = undefined));
  return loading;
}

/** What kept WebAssembly from being used, if something did. */
export function wasmObstacle() {
  return obstacle;
}

export function isLoaded() {
  return isThere;
}

export function engine() {
  load();
  if (isThere) return verbs;
  throw new Error("oncegate: the engine is still being loaded; wait for `ready` first");
}

async function takeOver(cause) {
  if (!instead) throw cause;
  const script = await instead();
  obstacle = cause;
  return script.instantiate(imports());
}

function adopt(exports) {
  setUp(exports);
  isThere = true;
}
