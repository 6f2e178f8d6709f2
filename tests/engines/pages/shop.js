// A shop as small as one can be: one form, one order. It follows the guide: pay on submit, and after a load or a return from the
// browser's cache go on with what is open.

import { createOncegate, messages } from "/oncegate/index.js";

const asked = new URLSearchParams(location.search);
const intent = asked.get("cart") ?? "cart-1";
const result = document.getElementById("result");

/** What the SDK said, for the tests. */
window.said = [];
window.og = createOncegate({
  onEvent: (event) => window.said.push(event),
  backoff: { baseMs: 50, capMs: 400 },
  deadlineMs: Number(asked.get("deadline") ?? 60_000),
});

/** On a route that takes one-time tokens, what stands for them. */
let token;
if (asked.has("token")) {
  const { tokens } = await import("/oncegate/tokens.js");
  token = tokens(window.og);
  token.ahead({ intent, url: "/orders" });
}

function order() {
  const body = {
    cart: [{ sku: "mug", quantity: 1 }],
    card: { number: "4242 4242 4242 4242", expiry: "12/30", cvc: "123" },
    email: `${document.getElementById("name").value.toLowerCase()}@example.com`,
  };
  if (asked.has("stamped")) body.at = Date.now();
  return {
    intent,
    url: `${asked.get("gate") ?? ""}/orders`,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ignore: ["/at"],
    token,
  };
}

function pay() {
  show("pending", messages("pending"));
  window.paid = og.submit(order()).then(async (outcome) => {
    window.outcome = outcome;
    show(outcome.outcome, messages(outcome));
    return outcome;
  });
}

/** Tells the door, where nobody can ask the page. */
function tell(what) {
  if (asked.has("tells")) navigator.sendBeacon("told", what);
}

function show(outcome, { title, text }) {
  result.dataset.outcome = outcome;
  tell(outcome);
  result.textContent = `${title} ${text}`;
}

function goOn() {
  const isOpen = og.pending().some((open) => open.intent === intent);
  if (isOpen || og.state(intent).phase === "executed") pay();
}

document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  pay();
});
addEventListener("pageshow", ({ persisted }) => {
  window.wasKept = persisted;
  if (persisted) goOn();
});
await window.og.ready;
goOn();
window.isReady = true;
tell("ready");
if (asked.has("presses")) document.getElementById("pay").click();
