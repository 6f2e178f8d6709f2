import { nodeResolve } from "@rollup/plugin-node-resolve";
import { rollup } from "rollup";

const bundle = await rollup({ input: "../page.js", plugins: [nodeResolve()] });
await bundle.write({ dir: "out", format: "es", entryFileNames: "main.js" });
await bundle.close();
