// Plain JavaScript, made from the same WebAssembly: needs nothing that a page may forbid.

export { default as instantiate } from "oncegate-engine/script.js";

export const instead = undefined;
