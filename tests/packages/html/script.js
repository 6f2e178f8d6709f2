let encoding = "wasm";
const client = oncegate.createOncegate({ onEvent: ({ type }) => type === "wasm-blocked" && (encoding = "js") });
client
  .submit({ intent: "cart-42", url: "/orders", body: '{"mug":1}' })
  .then(({ outcome }) => (document.title = `${outcome}, once, ${encoding}: ${oncegate.messages(outcome).title}`));
