/**
 * The cart: what is bought, for which e-mail address, and under which cart id.
 *
 * Invariant: one cart id stands for at most one paid order. A cart that was paid is never changed: the first change
 * begins a new cart with a new id. The card is not part of it and is never stored.
 */

import { onRememberedElsewhere, recall, remember } from "./storage.js";

const MOST_OF_ONE = 99;

export function createCart() {
  const listeners = { changed: [], renewed: [], paidElsewhere: [] };
  let state = remembered() ?? fresh({ lines: {}, email: "guest@example.com", started: false });
  const tell = (what, ...values) => listeners[what].forEach((listener) => listener(...values));

  function save() {
    remember("cart", state);
    tell("changed");
  }

  /** Closes this cart and begins the next with the same goods, so that ordering again is one click. */
  function renew() {
    const closed = intentOf(state.id);
    state = fresh(state);
    remember("receipt", null);
    remember("cart", state);
    tell("renewed", closed);
    tell("changed");
  }

  function change(next) {
    if (receipt()) renew();
    state = { ...state, ...next };
    save();
  }

  /** What this cart's payment ended with, if it was paid (here or in another tab). */
  function receipt() {
    const kept = recall("receipt");
    return kept?.cart === state.id ? kept : null;
  }

  /** Takes over what another tab has made of the cart. */
  function sync() {
    const previous = state;
    state = remembered() ?? state;
    if (state.id !== previous.id) tell("renewed", null);
    tell("changed");
  }

  onRememberedElsewhere("cart", sync);
  onRememberedElsewhere("receipt", () => {
    if (receipt()) tell("paidElsewhere", receipt());
  });

  return {
    get id() { return state.id; },
    get intent() { return intentOf(state.id); },
    get email() { return state.email; },
    setEmail: (email) => change({ email }),
    quantity: (sku) => state.lines[sku] ?? 0,
    /** The lines as the shop wants them, in an order that does not depend on the clicks: the same cart is the same payload. */
    lines: () => Object.keys(state.lines).sort().map((sku) => ({ sku, quantity: state.lines[sku] })),
    setQuantity(sku, quantity) {
      const { [sku]: _, ...others } = state.lines;
      const wanted = Math.max(0, Math.min(MOST_OF_ONE, quantity));
      change({ lines: wanted > 0 ? { ...others, [sku]: wanted } : others });
    },
    /** A first visitor finds something in the basket, so that paying takes one click. */
    startWith(skus) {
      if (state.started) return;
      state = { ...state, started: true, lines: Object.fromEntries(skus.map((sku) => [sku, 1])) };
      save();
    },
    receipt,
    keepReceipt: (paid) => remember("receipt", { ...paid, cart: state.id }),
    renew,
    sync,
    on: (what, listener) => listeners[what].push(listener),
  };
}

function fresh(from) {
  return { ...from, id: randomId() };
}

function intentOf(cartId) {
  return `cart-${cartId}`;
}

function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The cart that was remembered, if it is one. */
function remembered() {
  const cart = recall("cart");
  const isCart = typeof cart?.id === "string" && typeof cart.email === "string" && typeof cart.lines === "object" && cart.lines !== null;
  return isCart ? cart : null;
}
