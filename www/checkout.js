/**
 * The payment: everything that the page does with the Oncegate SDK.
 *
 * Invariant: a cart has one intent, an intent has one payment number at a time, and only the SDK draws it. Whatever the
 * visitor clicks ends in `og.submit` with that intent; this module never decides by itself that a payment failed.
 */

import { createOncegate, messages } from "/oncegate/index.js";
import { recall, remember } from "./storage.js";

/**
 * `phase.name` is one of idle, paying, resumed, recheck, ask, done, failed, unknown; `onPhase` is told each change.
 * @param {{ cart: any, form: any, witness: any, onPhase: (phase: any) => void, onEvent: (event: any) => void }} page
 */
export function createCheckout({ cart, form, witness, onPhase, onEvent }) {
  const og = createOncegate();
  let phase = { name: "idle" };
  let running = null;
  let settling = false;

  og.addEventListener("oncegate", ({ detail }) => {
    if (detail.intent !== cart.intent) return;
    if (detail.key && detail.type === "send") witness.watch(detail.key);
    onEvent(detail);
  });

  function enter(next) {
    phase = next;
    onPhase(next);
  }

  /** Pays, or joins the payment that is already running. Says whether the click reached the SDK. */
  function pay() {
    if (settling || phase.name === "done") return false;
    submit(phase.name === "unknown" ? "recheck" : "paying");
    return true;
  }

  function submit(name) {
    const payment = og.submit({
      intent: cart.intent,
      url: "/orders",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ cart: cart.lines(), card: form.card(), email: cart.email }),
    });
    if (payment === running) return;
    running = payment;
    remember("attempt", { intent: cart.intent, testCard: form.testCard(), rest: rest() });
    enter({ name });
    const { intent } = cart;
    payment.catch((error) => ({ outcome: "unknown", intent, key: og.state(intent).key, error })).then((result) => settle(payment, result));
  }

  async function settle(payment, result) {
    if (payment !== running) return;
    settling = true;
    const next = await phaseOf(result);
    settling = false;
    if (payment !== running) return;
    running = null;
    witness.rest();
    if (next.name !== "unknown") remember("attempt", null);
    if (next.name === "done") cart.keepReceipt(next);
    enter({ ...next, told: true });
  }

  async function phaseOf(result) {
    const books = await witness.look(result.key);
    const { outcome, reason, key, sends } = result;
    const phase = { name: outcome, reason, key, sends };
    if (outcome === "unknown") return phase;
    const body = await bodyOf(result);
    if (outcome === "failed") return { ...phase, code: body?.code ?? null };
    const order = books.orders?.[0] ?? body?.order ?? null;
    return { ...phase, order, charges: books.orders?.filter(({ paid }) => paid).length ?? null, changed: result.changed };
  }

  /** After a load, or when the browser brings the page back from its cache: continue where this cart stands. */
  async function reconcile() {
    if (running) return;
    const receipt = cart.receipt();
    if (receipt) return enter(receipt);
    const { phase: known, key } = og.state(cart.intent);
    if (known === "executed") return submit("resumed");
    if (og.pending().some((open) => open.intent === cart.intent)) return resume(key);
    enter({ name: "idle" });
  }

  /** What is sent beside the card. */
  const rest = () => JSON.stringify([cart.lines(), cart.email]);

  /**
   * The same payload can be made again only if its card is one of the test cards (a visitor's own card is not kept) and
   * no other tab has changed the cart. Another payload may cancel the open one: for that, the visitor must press Pay.
   */
  async function resume(key) {
    const attempt = recall("attempt");
    if (attempt?.intent === cart.intent && attempt.testCard && attempt.rest === rest()) {
      form.fill(attempt.testCard);
      return submit("resumed");
    }
    enter({ name: "resumed", key });
    const { gate } = await witness.look(key);
    if (running) return;
    if (gate?.executed === true) submit("resumed");
    else enter({ name: "ask", key });
  }

  return {
    pay,
    reconcile,
    get phase() { return phase; },
    /** For who wants to watch it. */
    client: og,
    /** The SDK's words for how a payment ended: `{ title, text }`. */
    words: ({ name, reason, changed, sends }, language) => messages({ outcome: name, reason, changed, sends }, language),
    /** The cart has a new id. `closed` is the intent of the old one, if it was closed in this tab. */
    begin(closed) {
      if (closed && og.state(closed).phase === "executed") og.end(closed);
      running = null;
      witness.rest();
      enter({ name: "idle" });
    },
    /** Another tab of this browser has paid this cart. */
    showReceipt: (receipt) => !running && phase.name !== "done" && enter({ ...receipt, elsewhere: true }),
  };
}

async function bodyOf(result) {
  if (result.problem) return result.problem;
  try {
    return await result.response.clone().json();
  } catch {
    return null;
  }
}
