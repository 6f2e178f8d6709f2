import { order } from "../app.js";

console.log(await order(process.argv[2]));
