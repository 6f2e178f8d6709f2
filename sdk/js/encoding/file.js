// WebAssembly as a file of its own, compiled while it arrives. Where that is forbidden, plain JavaScript is loaded.

let source;

/** Says where the WebAssembly is; before the engine is loaded. */
export function takeFrom(address) {
  source = address;
}

export async function instantiate(imports) {
  const given = await (source ?? new URL("./oncegate.wasm", import.meta.url));
  const isAddress = typeof given === "string" || given instanceof URL;
  const made = await compile(isAddress ? await fetch(given) : given, imports);
  return (made.instance ?? made).exports;
}

export const instead = () => import("./engine-js.js");

/** A server that does not know the type of the file sends it as another one: then it is compiled when it is there. */
async function compile(given, imports) {
  if (!(globalThis.Response && given instanceof Response)) return WebAssembly.instantiate(given, imports);
  if (!given.ok) throw new Error(`oncegate: ${given.url} answers ${given.status} instead of the WebAssembly`);
  const isTyped = given.headers.get("content-type")?.startsWith("application/wasm");
  return isTyped ? WebAssembly.instantiateStreaming(given, imports) : WebAssembly.instantiate(await given.arrayBuffer(), imports);
}
