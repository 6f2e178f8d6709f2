// The engine: WebAssembly, inlined, compiled on first use and synchronously.

import { end, initSync, pending, prepare, state, submit } from "oncegate-engine/engine.js";
import wasm from "oncegate-engine/wasm.js";

let ready = false;

export function engine() {
  if (!ready) {
    try {
      initSync({ module: fromHex(wasm) });
    } catch (cause) {
      throw new Error(
        "oncegate: WebAssembly cannot be started here. If the page has a Content-Security-Policy, add 'wasm-unsafe-eval' to its script-src.",
        { cause },
      );
    }
    ready = true;
  }
  return { end, pending, prepare, state, submit };
}

function fromHex(text) {
  const digit = (index) => {
    const code = text.charCodeAt(index);
    return (code & 15) + 9 * (code >> 6);
  };
  return Uint8Array.from({ length: text.length / 2 }, (_, index) => digit(2 * index) * 16 + digit(2 * index + 1));
}
