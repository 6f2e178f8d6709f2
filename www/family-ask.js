/**
 * What several scenarios ask of the gate and of the shop's back room.
 *
 * Invariant: what is sent from here is sent once and never again; whoever wants to send safely uses the SDK.
 */

/** The back room's word for a shop that was not told where its gate is. */
const NOT_THERE = "gate_not_known";

/** Sends a request under a key, as anybody could: `{ status, says, text, body }`. */
export async function send(url, { key, headers = {}, body }) {
  const answer = await fetch(url, { method: "POST", headers: { ...(key && { "Idempotency-Key": key }), ...headers }, body });
  const text = await answer.text();
  return { status: answer.status, says: answer.headers.get("Idempotency-Status"), text, body: json(text) };
}

/** Asks the back room, which only a shop that was started with `--faults` has. */
export async function backRoom(path, wanted) {
  const answer = await fetch(`/lab/${path}`, wanted && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wanted) });
  if (!answer.ok) throw Object.assign(new Error(`/lab/${path}: ${answer.status}`), { code: json(await answer.text())?.code });
  return answer.json();
}

/** A step that needs more than the back room, such as a way from the shop to the gate: says so where there is none. */
export function needs(step) {
  return async (tell) => {
    try {
      return await step(tell);
    } catch (error) {
      if (error.code !== NOT_THERE) throw error;
      return { holds: false, otherwise: "closed" };
    }
  };
}

/** What `needs` takes for an answer. */
export function notThere(what) {
  return Object.assign(new Error(what), { code: NOT_THERE });
}

/** A name for what one press of a button does. */
export function newRun() {
  return crypto.randomUUID().slice(0, 13);
}

/** How often each of these was said, such as `success ×5`. */
export function tallied(said) {
  const counts = new Map();
  for (const word of said) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => (count === 1 ? word : `${word} ×${count}`)).join(", ");
}

/** An answer in short: its status, and what the gate calls the problem or the state. */
export function short({ status, says, body }) {
  return [status, body?.code ?? says].filter(Boolean).join(" ");
}

function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
