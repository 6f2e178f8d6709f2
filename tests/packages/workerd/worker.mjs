import { order } from "../app.js";

export default {
  fetch: async (_request, { SHOP }) => new Response(await order(SHOP).catch(String)),
};
