const { createOncegate, messages } = require("oncegate");

createOncegate()
  .submit({ intent: "cart-42", url: process.argv[2], body: '{"mug":1}' })
  .then(({ outcome }) => console.log(`${outcome}, once, wasm: ${messages(outcome).title}`));
