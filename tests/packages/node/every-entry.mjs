// Every entry can be imported and required on a server, where there is no page.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { exports } = require("oncegate/package.json");
for (const path of Object.keys(exports).filter((path) => typeof exports[path] === "object")) {
  const name = path.replace(".", "oncegate");
  const [imported, required] = [await import(name), require(name)];
  console.log(name, Object.keys(imported).sort().join() === Object.keys(required).sort().join() ? "twice the same" : "differs");
}
