// The application of every project here: it orders once, and leaves word of it in the page.

import { createOncegate, messages } from "oncegate";

let encoding = "wasm";
const client = createOncegate({ onEvent: ({ type }) => type === "wasm-blocked" && (encoding = "js") });

export async function order(address = "/orders") {
  const request = { intent: "cart-42", url: address, headers: { "content-type": "application/json" }, body: '{"mug":1}' };
  // Two clicks in one task.
  const [first, second] = await Promise.all([client.submit(request), client.submit(request)]);
  return `${first.outcome}, ${first === second ? "once" : "twice"}, ${encoding}: ${messages(first).title}`;
}
