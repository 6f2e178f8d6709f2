// The package's types, used as an application uses them. Compiled, never run.

import { createOncegate, messages, OncegateError } from "oncegate";
import type { Oncegate, OncegateEvent, Pending, Problem, Result, State } from "oncegate";

const client: Oncegate = createOncegate({
  storage: sessionStorage,
  backoff: { baseMs: 300 },
  attemptTimeoutMs: 25_000,
  deadlineMs: 90_000,
  maxAttempts: 12,
  onEvent: (event: OncegateEvent) => console.log(event.type, event.key, event.at),
});
createOncegate();
createOncegate({ storage: null });
// @ts-expect-error the option is called deadlineMs
createOncegate({ deadline: 90 });

export async function pay(cart: string): Promise<string> {
  const result: Result = await client.submit({
    intent: cart,
    url: new URL("https://shop.example/orders"),
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ cart }),
    signal: AbortSignal.timeout(60_000),
  });
  switch (result.outcome) {
    case "done":
      client.end(cart) satisfies boolean;
      result.receipt.operation satisfies string | null;
      return result.changed || result.replayed ? "again" : `${result.response?.status}`;
    case "failed":
      result.reason satisfies "refused" | "cancelled";
      return (result.problem satisfies Problem | undefined)?.code ?? result.reason;
    case "unknown":
      // @ts-expect-error an unknown operation was neither replayed nor not
      result.replayed;
      result.error satisfies unknown;
      [result.lookup, result.resume, result.cancel] satisfies (() => Promise<Result>)[];
      return messages(result, "zh-CN").title;
    default:
      return result satisfies never;
  }
}

// @ts-expect-error without an address there is nothing to send
client.submit({ intent: "cart-42" });
client.submit({ intent: "cart-42", url: "/orders", body: new FormData(), ignore: ["csrf"] });
client.submit({ intent: "cart-42", url: "/orders", body: { mug: 1 }, route: "orders", credentials: "include" });
// @ts-expect-error a number is no body
client.submit({ intent: "cart-42", url: "/orders", body: 42 });
// @ts-expect-error a question is about an intent
client.lookup({ url: "/orders" });
client.cancel({ intent: "cart-42", url: "/orders" }).catch((error: unknown) => error instanceof OncegateError && error.code === "intent_missing");
client.log("cart-42").line satisfies string;

client.pending() satisfies Pending[];
client.state("cart-42").phase satisfies State["phase"];
client.addEventListener("oncegate", ({ detail }) => {
  if (detail.type === "wait") detail.waitMs satisfies number | undefined;
});
messages("pending", "en").text satisfies string;
// @ts-expect-error not a case
messages("maybe");
