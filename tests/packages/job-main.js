import { job } from "./job.js";

console.log(await job(...process.argv.slice(2)));
