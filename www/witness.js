/**
 * Asks the gate and the shop what they have on record about a payment number: the timeline's and the receipt's evidence.
 *
 * Invariant: it only reads, and the payment never depends on it. An answer that does not come in time is `null`, not an error.
 */

const EVERY_MS = 400;
const PATIENCE_MS = 3000;

/**
 * What the gate knows: `{ state, attempts, executed }`, or `null`. It may protect several routes, so it is told which one is
 * meant: by a path, or by the name of a route whose keys are not the page's.
 */
export function operation(key, of = { path: "/orders" }) {
  return read(`/.oncegate/v1/operations?${new URLSearchParams(of)}`, { headers: { "Idempotency-Key": key } });
}

/** The orders in the shop's books under this payment number, or `null`. */
export async function orders(key) {
  return (await read(booksOf(key)))?.orders ?? null;
}

/** Where anyone can look up the same. */
export function booksOf(key) {
  return `/orders?request_id=${encodeURIComponent(key)}`;
}

/** Looks again and again while a payment runs, and reports what is new about it. */
export function createWitness({ onAttempt, onCharge }) {
  const seen = new Map();
  let watched = null;
  let timer = 0;

  async function look(key) {
    const [gate, books] = await Promise.all([operation(key), orders(key)]);
    const known = seen.get(key) ?? { gate: "", charges: new Set() };
    seen.set(key, known);
    if (gate && gate.attempts > 0 && known.gate !== `${gate.attempts} ${gate.state}`) {
      known.gate = `${gate.attempts} ${gate.state}`;
      onAttempt(key, gate);
    }
    for (const order of (books ?? []).filter((order) => order.paid && !known.charges.has(order.payment_id))) {
      known.charges.add(order.payment_id);
      onCharge(key, order);
    }
    return { gate, orders: books };
  }

  async function round() {
    const key = watched;
    if (key !== null) await look(key);
    if (key !== null && key === watched) timer = setTimeout(round, EVERY_MS);
  }

  return {
    look,
    watch(key) {
      if (key === watched) return;
      watched = key;
      clearTimeout(timer);
      round();
    },
    rest() {
      watched = null;
      clearTimeout(timer);
    },
  };
}

/** What is there as JSON, or `null`. */
export async function read(url, options = {}) {
  try {
    const answer = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS), ...options });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}
