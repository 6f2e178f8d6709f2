import { order } from "../app.js";
import { job } from "../job.js";

export default {
  async fetch(request, { SHOP, GATE, SECRET }) {
    const work = new URL(request.url).pathname === "/job" ? job(GATE, SECRET, "workerd") : order(SHOP);
    return new Response(await work.catch(String));
  },
};
