/**
 * Wires the page together. Everything that can fail on its own (catalogue, switches, timeline) may fail without
 * stopping the till; if the till itself cannot start, the page says so instead of showing a dead button.
 */

import { createCardForm } from "./card.js";
import { createCart } from "./cart.js";
import { byId } from "./dom.js";
import { createFaults } from "./faults.js";
import { applyLanguage, language, onLanguage, setLanguage, t } from "./i18n.js";
import { createMistakes } from "./mistakes.js";
import { createResult } from "./result.js";
import { createShop } from "./shop.js";
import { createStrip } from "./strip.js";
import { createWitness } from "./witness.js";

const OPEN_PHASES = new Set(["paying", "resumed", "recheck", "unknown"]);

const cart = createCart();
const form = createCardForm({ cart });
const shop = createShop({ cart, onCatalogue: () => result.render() });
const strip = createStrip({ cart });
const witness = createWitness({
  onAttempt: (key, { attempts, state }) => strip.add("gate", "attempt", { key, attempts, state }),
  onCharge: (key, order) => strip.add("charge", "charge", { key, cents: order.total_cents, currency: order.currency }),
});
const faults = createFaults({ onRestocked: restocked });
const result = createResult({ shop, words: (phase) => checkout.words(phase, language()), onNewOrder: newOrder, onCheckAgain: checkAgain });
let checkout = null;
let isBurst = false;

/** One line of the timeline per event of the SDK, and the words for it in the status line. */
const reactions = {
  "click-coalesced": () => strip.held(),
  send: ({ send, key }) => {
    strip.add("send", "send", { send, key });
    if (send > 1) result.say("status_retrying", { sends: send });
  },
  answer: ({ status, idempotencyStatus }) => strip.add("gate", "answer", { status, idempotencyStatus }),
  "network-error": () => strip.add("send", "lost"),
  cancel: ({ key }) => strip.add("send", "cancel", { key }),
  wait: ({ waitMs }) => {
    const seconds = (waitMs / 1000).toFixed(1);
    strip.add("send", "wait", { seconds });
    result.say("status_waiting", { seconds });
  },
};

function onPhase(phase) {
  const locked = OPEN_PHASES.has(phase.name) || phase.name === "ask";
  shop.lock(locked);
  form.lock(locked);
  if (phase.name === "ask") form.askAgain();
  result.show(phase);
  if (phase.name === "resumed" && !strip.isEmpty()) strip.add("click", "reload");
  if (phase.told) afterPayment(phase.name);
}

function afterPayment(outcome) {
  strip.add("click", outcome);
  faults.refresh();
  shop.load();
}

/** The form's submit event: a click on Pay, Enter in a field, or a mistake made on purpose. */
function pressPay(event) {
  event.preventDefault();
  strip.click();
  if (!mayPay() || !checkout.pay()) strip.held();
  isBurst = false;
}

/** While a payment is open, every press goes to the SDK, which knows it; otherwise the press begins a new one. */
function mayPay() {
  const { name } = checkout.phase;
  if (OPEN_PHASES.has(name)) return true;
  return !isBurst && (name === "ask" || shop.total() > 0) && form.check();
}

/**
 * The later clicks of a double click, and a key held down, were meant for the payment before them. If that one has just
 * been refused, they must not begin another.
 */
function watchForBursts() {
  byId("pay").addEventListener("click", ({ detail }) => { isBurst = detail > 1; });
  byId("form").addEventListener("keydown", (event) => { if (event.key === "Enter" && event.repeat) event.preventDefault(); });
}

/** The shop's books are empty: an order that was paid is no more, so its receipt goes too. */
function restocked() {
  if (checkout.phase.name === "done") cart.renew();
  shop.load();
}

function newOrder() {
  cart.renew();
  byId("pay").focus();
}

function checkAgain() {
  byId("pay").focus();
  checkout.pay();
}

function redraw() {
  shop.refresh();
  form.refresh();
  result.render();
}

function changeLanguage() {
  shop.build();
  form.refresh();
  result.render();
  strip.render();
  faults.render();
  byId("sdk-panel").lang = document.documentElement.lang;
  for (const name of ["en", "zh"]) byId(`lang-${name}`).setAttribute("aria-pressed", String(language() === name));
}

async function startTill(shelvesFilled) {
  const { createCheckout } = await import("./checkout.js");
  checkout = createCheckout({ cart, form, witness, onPhase, onEvent: (event) => reactions[event.type]?.(event) });
  cart.on("renewed", (closed) => {
    strip.clear();
    checkout.begin(closed);
  });
  cart.on("paidElsewhere", checkout.showReceipt);
  import("/oncegate/panel.js").then(showPanel).catch(() => (byId("sdk-panel").parentElement.hidden = true));
  createMistakes({ pay: byId("pay"), faults, beforeEach: () => checkout.phase.name === "done" && cart.renew() });
  watchForBursts();
  byId("form").addEventListener("submit", pressPay);
  byId("boot").remove();
  addEventListener("pageshow", (event) => event.persisted && comeBack());
  const reconciled = checkout.reconcile();
  // Before that there is nothing to pay, and a click would look as if it had been taken.
  await shelvesFilled;
  byId("pay").disabled = false;
  await reconciled;
}

/** The SDK's own panel: what it says of every intent, as support reads it. */
function showPanel() {
  byId("sdk-panel").client = checkout.client;
  byId("sdk-panel").lang = document.documentElement.lang;
}

/** The browser kept the page as it was when it was left; meanwhile the cart may have been paid or changed elsewhere. */
function comeBack() {
  cart.sync();
  return checkout.reconcile();
}

function sayThatTheTillIsClosed(error) {
  const boot = byId("boot");
  boot.textContent = t("bootBecause", { reason: error.message });
  boot.classList.add("now");
}

onLanguage(changeLanguage);
for (const name of ["en", "zh"]) byId(`lang-${name}`).addEventListener("click", () => setLanguage(name));
cart.on("changed", redraw);
applyLanguage();
startTill(shop.load()).catch(sayThatTheTillIsClosed);
