export * from "./index.js";

/**
 * Loads the engine: its WebAssembly is a file of its own, compiled while it arrives. Whoever does not call
 * this gets the file that lies beside the package's own scripts, with the first client; a `submit` waits
 * for it. Where a Content-Security-Policy forbids WebAssembly, plain JavaScript is loaded instead.
 * @param source The file's address, its response, its bytes, or the compiled module. Bundlers that do not
 * copy files named by `new URL("…", import.meta.url)` (esbuild, Rollup) need it, and so does `require`:
 * copy `oncegate/oncegate.wasm` into what you publish and give its address.
 * @defaultValue `oncegate.wasm` beside the script
 */
export function init(
  source?: string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module,
): Promise<void>;
