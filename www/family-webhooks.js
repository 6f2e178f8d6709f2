/**
 * Webhooks: the payment provider calls back. This page plays the provider: the shop's back room signs what it would send, since no
 * secret is in a page, and the page sends it to the gate.
 *
 * Invariant: what it says of the payment was read from the gate's records and from the shop's rows.
 */

import { backRoom, send, short, tallied } from "./family-ask.js";
import { operation, read } from "./witness.js";

const TIMES = 5;
/** The provider's word for a callback that need not come again. */
const ACKNOWLEDGED = "success";

export const webhooks = { name: "webhooks", guide: { en: "docs/webhooks.md", zh: "docs/zh/webhooks.md" }, steps: { five, two, tampered } };

/** Five deliveries of one event at once, as an impatient provider sends them. */
async function five(tell) {
  const order = await waiting();
  const event = await signed(order, { event: name("evt"), pay_no: name("pay") });
  const answers = await Promise.all(Array.from({ length: TIMES }, () => deliver(event)));
  const gate = await known(event);
  const shop = await booked(order);
  tell([["page", "sent", TIMES], ["page", "heard", heard(answers)], ["gate", "attempts", gate?.attempts], ...shop.rows]);
  return { holds: gate?.attempts === 1 && shop.isPaidOnce && answers.every(({ text }) => text === ACKNOWLEDGED), say: "once", values: { times: TIMES } };
}

/** Two events, each with an identity of its own, that tell of one payment. */
async function two(tell) {
  const order = await waiting();
  const pay_no = name("pay");
  const events = [await signed(order, { event: name("evt"), pay_no }), await signed(order, { event: name("evt"), pay_no })];
  const answers = [await deliver(events[0]), await deliver(events[1])];
  const gate = await Promise.all(events.map(known));
  const shop = await booked(order);
  tell([["page", "sent", events.length], ["page", "heard", heard(answers)], ["gate", "operations", gate.every(Boolean) ? tallied(gate.map(({ state }) => state)) : null], ...shop.rows]);
  return { holds: gate.every((each) => each?.executed) && shop.isPaidOnce, say: "fact" };
}

/** A cent is what somebody on the way would rather have paid. */
async function tampered(tell) {
  const order = await waiting();
  const event = await signed(order, { event: name("evt"), pay_no: name("pay") });
  const answer = await deliver({ ...event, body: event.body.replace(/amount_cents=\d+/, "amount_cents=1") });
  const gate = await known(event);
  const shop = await booked(order);
  tell([["page", "heard", `${answer.status} ${heard([answer])}`], ["gate", "attempts", gate?.attempts], ...shop.rows]);
  return { holds: answer.status === 403 && gate?.attempts === 0 && shop.isUntouched, say: "refused" };
}

/** An order that waits for its payment. */
async function waiting() {
  const body = JSON.stringify({ cart: [{ sku: "beans", quantity: 1 }], pay: "later", email: "ada@example.com" });
  const placed = await send("/orders", { key: crypto.randomUUID(), headers: { "Content-Type": "application/json" }, body });
  if (!placed.body?.order) throw new Error(`POST /orders: ${short(placed)}`);
  return placed.body.order.id;
}

function signed(order_no, { event, pay_no }) {
  return backRoom("callbacks", { event, pay_no, order_no });
}

function deliver({ path, headers, body }) {
  return send(path, { headers, body });
}

/** The words that the provider reads. */
function heard(answers) {
  return tallied(answers.map(({ text }) => text || "(empty)"));
}

function known({ headers }) {
  return operation(headers["X-Provider-Event"], { route: "provider" });
}

async function booked(order) {
  const [shown, payments] = await Promise.all([read(`/orders/${order}`), read(`/lab/callbacks/${order}`)]);
  const [status, count, owed] = [shown?.order.status, payments?.payments.length, payments?.owed];
  return {
    rows: [["shop", "status", status], ["shop", "payments", count], ["shop", "owed", owed && (owed.join(", ") || 0)]],
    isPaidOnce: status === "PAID" && count === 1 && new Set(owed).size === owed.length,
    isUntouched: status === "WAIT_PAY" && count === 0 && owed.length === 0,
  };
}

function name(kind) {
  return `${kind}_${crypto.randomUUID().slice(0, 13)}`;
}
