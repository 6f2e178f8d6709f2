/**
 * The part of the form that is typed in: e-mail and card.
 *
 * Invariant: what is typed into the card fields leaves this page only in the payment itself. To be able to resume
 * after a reload, the page remembers *which test card* was used, by name; a card of the visitor's own it forgets.
 */

import { byId } from "./dom.js";
import { t } from "./i18n.js";

const TEST_CARDS = {
  good: { number: "4242 4242 4242 4242", expiry: "12/30", cvc: "123" },
  declined: { number: "4000 0000 0000 0002", expiry: "12/30", cvc: "123" },
};
const RULES = {
  email: (text) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text),
  number: (text) => /^\d{12,19}$/.test(text.replaceAll(" ", "")),
  expiry: (text) => /^(0[1-9]|1[0-2])\s*\/\s*\d{2}$/.test(text),
  cvc: (text) => /^\d{3,4}$/.test(text),
};

const CARD_PARTS = ["number", "expiry", "cvc"];

export function createCardForm({ cart }) {
  const fields = { email: byId("email"), number: byId("card-number"), expiry: byId("card-expiry"), cvc: byId("card-cvc") };

  function fill(name) {
    for (const [part, value] of Object.entries(TEST_CARDS[name])) fields[part].value = value;
    CARD_PARTS.forEach(showValidity);
  }

  function card() {
    return { number: fields.number.value.trim(), expiry: fields.expiry.value.trim(), cvc: fields.cvc.value.trim() };
  }

  function showValidity(name) {
    const wrong = !RULES[name](fields[name].value.trim());
    const note = byId(`${name}-note`);
    fields[name].setAttribute("aria-invalid", String(wrong));
    note.textContent = wrong ? t(`invalid_${name}`) : "";
    return !wrong;
  }

  function refresh() {
    if (document.activeElement !== fields.email) fields.email.value = cart.email;
    for (const name of Object.keys(fields)) if (fields[name].getAttribute("aria-invalid") === "true") showValidity(name);
  }

  for (const [name, field] of Object.entries(fields)) {
    field.addEventListener("change", () => showValidity(name));
  }
  fields.number.addEventListener("input", () => groupDigits(fields.number));
  fields.email.addEventListener("input", () => cart.setEmail(fields.email.value.trim()));
  for (const name of Object.keys(TEST_CARDS)) byId(`card-${name}`).addEventListener("click", () => !fields.number.readOnly && fill(name));
  fill("good");
  fields.email.value = cart.email;

  return {
    card,
    fill,
    refresh,
    /** The name of the test card in the form, or `null` if it is another one. */
    testCard: () => Object.keys(TEST_CARDS).find((name) => JSON.stringify(TEST_CARDS[name]) === JSON.stringify(card())) ?? null,
    /** Marks what is wrong, moves the focus to the first such field, and says whether the form can be sent. */
    check() {
      const wrong = Object.keys(fields).filter((name) => !showValidity(name));
      if (wrong.length > 0) fields[wrong[0]].focus();
      return wrong.length === 0;
    },
    /** Locked fields keep the focus; `disabled` would drop it in the middle of a payment. */
    lock(locked) {
      for (const field of Object.values(fields)) field.readOnly = locked;
    },
    /** Asks for the card again: its fields open, although the rest of the order stays as it was sent. */
    askAgain() {
      fields.number.value = "";
      for (const part of CARD_PARTS) fields[part].readOnly = false;
    },
  };
}

/** Groups of four while typing at the end; in the middle the text stays alone, so that the caret does too. */
function groupDigits(field) {
  if (field.selectionStart !== field.value.length) return;
  const digits = field.value.replace(/\D/g, "").slice(0, 19);
  field.value = digits.replace(/(\d{4})(?=\d)/g, "$1 ");
}
