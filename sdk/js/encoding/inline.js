// WebAssembly inlined as text: compiled on first use, synchronously. Where that is forbidden, plain JavaScript is loaded.

import text from "oncegate-engine/wasm.js";

export function instantiate(imports) {
  return new WebAssembly.Instance(new WebAssembly.Module(fromHex(text)), imports).exports;
}

export const instead = () => import("./engine-js.js");

function fromHex(text) {
  const digit = (index) => {
    const code = text.charCodeAt(index);
    return (code & 15) + 9 * (code >> 6);
  };
  return Uint8Array.from({ length: text.length / 2 }, (_, index) => digit(2 * index) * 16 + digit(2 * index + 1));
}
