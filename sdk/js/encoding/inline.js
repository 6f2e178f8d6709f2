// WebAssembly inlined as text: compiled on first use, synchronously. Where that is forbidden, plain JavaScript is loaded.

import text from "oncegate-engine/wasm.js";

export function instantiate(imports) {
  return new WebAssembly.Instance(new WebAssembly.Module(fromHex(text)), imports).exports;
}

export const instead = () => import("./engine-js.js");

function fromHex(text) {
  if (Uint8Array.fromHex) return Uint8Array.fromHex(text);
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index++) bytes[index] = parseInt(text.slice(2 * index, 2 * index + 2), 16);
  return bytes;
}
