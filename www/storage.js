/**
 * What the shop remembers, in localStorage (`shop:…`) or, where the browser forbids that, for the life of the page.
 *
 * Invariant: reading and writing never throw. A shop that cannot remember must still sell.
 */

const fallback = new Map();

/** @returns {any} the stored value, or `null` if there is none or it cannot be read */
export function recall(name) {
  try {
    const text = localStorage.getItem(slot(name));
    return text === null ? (fallback.get(name) ?? null) : JSON.parse(text);
  } catch {
    return fallback.get(name) ?? null;
  }
}

/** Stores a value that JSON can carry; `null` removes it. */
export function remember(name, value) {
  fallback.delete(name);
  try {
    if (value === null) localStorage.removeItem(slot(name));
    else localStorage.setItem(slot(name), JSON.stringify(value));
  } catch {
    fallback.set(name, value);
  }
}

/** Calls `listener` when another tab of this browser has changed `name`. */
export function onRememberedElsewhere(name, listener) {
  addEventListener("storage", (event) => {
    if (event.key === slot(name)) listener();
  });
}

function slot(name) {
  return `shop:${name}`;
}
