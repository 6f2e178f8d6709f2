// As an application with code splitting, and in one file for a script without a module.

import { build } from "esbuild";

const options = { bundle: true, minify: true, logLevel: "warning", entryPoints: { main: "../page.js" } };
await build({ ...options, format: "esm", splitting: true, outdir: "out" });
await build({ ...options, format: "iife", outdir: "out/single" });
