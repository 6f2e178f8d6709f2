// What is measured, in the page: each function runs there, alone, and says in milliseconds how long what it did took.

/** From the import of an entry to the first key. */
export async function start(entry) {
  const begun = performance.now();
  const { createOncegate } = await import(`/${entry}`);
  window.client = createOncegate();
  const created = performance.now();
  if (client.state("cart-0").key === "") await client.ready;
  const { key } = client.state("cart-0");
  const ended = performance.now();
  if (!/^none$|^[0-9a-f-]{36}$/.test(key)) throw new Error("there is no key");
  return { whole: ended - begun, engine: ended - created };
}

/** A click and another one, some time later, over a connection that is there. */
export async function answers() {
  const bare = () => fetch("/orders", { method: "POST", body: `{"cart":42}` }).then((response) => response.text());
  const timed = async (call) => {
    const begun = performance.now();
    await call();
    return performance.now() - begun;
  };
  // In a new browser, tabs agree on their secret first; no customer is as quick as that.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await bare();
  const submit = (intent) => () => client.submit({ intent, url: "/orders", body: { cart: 42 } });
  return { bare: await timed(bare), answer: await timed(submit("cart-1")), again: await timed(submit("cart-2")) };
}
