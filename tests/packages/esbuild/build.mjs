// As an application with code splitting, in one file for a script without a module, and as a job that runs on a server.

import { build } from "esbuild";

const options = { bundle: true, minify: true, logLevel: "warning", entryPoints: { main: "../page.js" } };
await build({ ...options, format: "esm", splitting: true, outdir: "out" });
await build({ ...options, format: "iife", outdir: "out/single" });
await build({ ...options, entryPoints: { job: "../job-main.js" }, format: "esm", platform: "node", outdir: "out", outExtension: { ".js": ".mjs" } });
