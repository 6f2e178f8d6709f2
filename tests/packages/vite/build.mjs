import { build } from "vite";

await build({ build: { outDir: "out" }, logLevel: "warn" });
