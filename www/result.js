/**
 * What the visitor is told: the pay button, the status line and the result panel.
 *
 * Invariant: "you have not been charged" is shown for the phase `failed` only, which the SDK reports only when the
 * shop itself said no. Everything unclear is "we are checking".
 */

import { byId, el, setUnavailable } from "./dom.js";
import { hasText, money, t } from "./i18n.js";

/** The word that tests and styles read, per phase. */
const OUTCOMES = { idle: "idle", paying: "checking", resumed: "checking", recheck: "checking", ask: "checking", done: "done", failed: "failed", unknown: "unknown" };
const BUSY = new Set(["paying", "resumed", "recheck"]);
const SETTLED = new Set(["done", "failed", "unknown"]);

/** `words` gives the SDK's texts for a phase that ended a payment; the page adds what only the shop knows. */
export function createResult({ shop, words, onNewOrder, onCheckAgain }) {
  const button = byId("pay");
  const panel = byId("result");
  const status = byId("status");
  let phase = { name: "idle" };
  let line = null;

  function show(next) {
    phase = next;
    line = null;
    render();
  }

  /** Says in the status line what the payment waits for; until the next phase. */
  function say(key, values) {
    line = { key, values };
    status.textContent = t(key, values);
  }

  function render() {
    const busy = BUSY.has(phase.name);
    byId("pay-text").textContent = buttonText(phase, money(shop.total()));
    button.setAttribute("aria-busy", String(busy));
    setUnavailable(button, busy || phase.name === "done" || shop.total() === 0);
    button.classList.toggle("calm", phase.name === "unknown");
    // The panel below says the same in large letters; the line is then only for those who listen.
    status.classList.toggle("unseen", SETTLED.has(phase.name));
    panel.dataset.outcome = OUTCOMES[phase.name];
    panel.replaceChildren(...panelOf(phase, { words, onNewOrder, onCheckAgain }));
    status.textContent = line ? t(line.key, line.values) : statusText(phase, words);
  }

  return { show, say, render };
}

function statusText(phase, words) {
  if (BUSY.has(phase.name)) return t(`status_${phase.name}`);
  if (phase.name === "failed") return t("failed_title");
  return SETTLED.has(phase.name) ? words(phase).title : t("status_idle");
}

function buttonText({ name }, total) {
  const texts = { idle: "pay", failed: "payAgain", paying: "paying", resumed: "checkingNow", recheck: "checkingNow", ask: "payResume", unknown: "checkPayment", done: "paid" };
  return t(texts[name], { total });
}

function panelOf(phase, actions) {
  const parts = { paying: checking, done, failed, unknown, resumed: checking, recheck: checking, ask };
  return parts[phase.name]?.(phase, actions) ?? [];
}

function done(phase, { words, onNewOrder }) {
  const { order, sends, charges, changed, elsewhere } = phase;
  return [
    heading(words(phase).title),
    changed ? text(words(phase).text) : null,
    order ? receipt(order) : null,
    charges === null ? null : el("p", { class: "stamp" }, elsewhere ? t("sumElsewhere", { charges }) : t("sum", { sends, charges })),
    elsewhere ? text(t("paidElsewhere")) : null,
    el("button", { type: "button", class: "second", "data-testid": "new-order", onclick: onNewOrder }, t("newOrder")),
  ].filter((part) => part !== null);
}

function receipt(order) {
  const fact = (name, value, testId) => el("div", {}, el("dt", {}, t(name)), el("dd", { "data-testid": testId }, value));
  return el("dl", { class: "receipt" },
    fact("orderNo", order.id, "order-id"),
    fact("paymentNo", order.payment_id, "payment-id"),
    fact("total", money(order.total_cents, order.currency), "paid-total"));
}

function failed({ code }) {
  const known = `problem_${code}`;
  return [heading(t("failed_title")), text(t(hasText(known) ? known : "problem_other")), text(t("failed_again"))];
}

function unknown(phase, { words, onCheckAgain }) {
  return [
    heading(words(phase).title),
    text(words(phase).text),
    el("button", { type: "button", class: "second", "data-testid": "check-again", onclick: onCheckAgain }, t("checkAgain")),
  ];
}

function checking({ name }) {
  return [heading(t(name === "paying" ? "paying" : "checking_title")), text(t(`panel_${name}`))];
}

function ask() {
  return [heading(t("ask_title")), text(t("ask_text"))];
}

function heading(words) {
  return el("h3", {}, words);
}

function text(words) {
  return el("p", {}, words);
}
