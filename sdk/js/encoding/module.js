// WebAssembly as a module of its own, which the runtime has compiled: workerd allows nothing else.

import module from "./oncegate.wasm";

export function instantiate(imports) {
  return new WebAssembly.Instance(module, imports).exports;
}

export const instead = undefined;
