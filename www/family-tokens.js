/**
 * One-time tokens: one is issued, and twenty copies of this page use it at once; then it is used for something else, and others
 * are forged.
 *
 * Invariant: the token that counts is fetched, kept and sent by the SDK (`oncegate/tokens`); only who forges one sends by hand.
 */

import { createOncegate } from "/oncegate/index.js";
import { tokens as tokensOf } from "/oncegate/tokens.js";
import { backRoom, send, short, tallied } from "./family-ask.js";
import { operation, orders, read } from "./witness.js";

const COPIES = 20;
const TARGET = "/lab/orders";
/** The SDK fetches ahead when the page is idle, and after a failure again within 15 s: this is longer than both. */
const PATIENCE_MS = 40_000;

export const tokens = { name: "tokens", guide: { en: "docs/tokens.md", zh: "docs/zh/tokens.md" }, steps: { many, changed, forged, naive } };

/** As if a browser's profile had been copied, token and all. */
async function many(tell) {
  const { intent, token, entries } = await issued();
  const results = await Promise.all(Array.from({ length: COPIES }, () => submit(intent, entries, order(1))));
  const told = results.map(({ outcome }) => outcome);
  const { gate, paid } = await found(token);
  tell([["page", "copies", COPIES], ["page", "told", tallied(told)], ["gate", "state", gate?.state], ["gate", "attempts", gate?.attempts], ["shop", "orders", paid]]);
  return { holds: gate?.attempts === 1 && paid === 1 && told.every((word) => word === "done"), say: "once", values: { copies: COPIES } };
}

/** The token again, for an order of nine. */
async function changed(tell) {
  const { intent, token, entries } = await issued();
  await submit(intent, entries, order(1));
  const again = await send(TARGET, { key: token, body: order(9) });
  const { gate, paid, pieces } = await found(token);
  tell([["page", "again", short(again)], ["gate", "state", gate?.state], ["gate", "attempts", gate?.attempts], ["shop", "orders", paid], ["shop", "pieces", pieces]]);
  return { holds: gate?.attempts === 1 && paid === 1 && pieces === 1, say: "spent" };
}

/** One that somebody made up, one with a letter changed, and a key of the SDK's kind. */
async function forged(tell) {
  const { token } = await issued();
  const letter = token.at(-2) === "A" ? "B" : "A";
  const keys = [`t1.local.${"A".repeat(64)}.${"A".repeat(43)}`, `${token.slice(0, -2)}${letter}${token.at(-1)}`, crypto.randomUUID()];
  const answers = await Promise.all(keys.map((key) => send(TARGET, { key, body: order(1) })));
  const booked = await Promise.all(keys.map((key) => orders(key)));
  const paid = booked.some((each) => each === null) ? null : booked.flat().length;
  tell([["page", "forgeries", keys.length], ["page", "answers", tallied(answers.map(short))], ["shop", "orders", paid]]);
  return { holds: paid === 0 && answers.every(({ status }) => status >= 400 && status < 500), say: "refused", values: { forgeries: keys.length } };
}

/** The same twenty at a server that looks its token up, does the work and deletes it; the shop's back room has one. */
async function naive(tell) {
  const { token } = await backRoom("naive", {});
  const path = `/lab/naive/${token}`;
  const answers = await Promise.all(Array.from({ length: COPIES }, () => send(path, {})));
  const made = (await read(path))?.orders;
  tell([["page", "copies", COPIES], ["page", "answers", tallied(answers.map(short))], ["program", "naive", made]]);
  return { holds: made === 1, say: "luck", otherwise: made > 1 ? "naive" : undefined, values: { made } };
}

/** A token as the SDK fetches one ahead of the click, and the storage in which it keeps it. */
async function issued() {
  const intent = `tokens-${crypto.randomUUID()}`;
  const entries = new Map();
  let end;
  const token = await new Promise((resolve, reject) => {
    const storage = storageOf(entries, (value) => {
      const [, passing] = /"token":"([^"]+)"/.exec(value) ?? [];
      if (passing) resolve(passing);
    });
    end = tokensOf(createOncegate({ storage }), { storage }).ahead({ intent, url: TARGET });
    setTimeout(() => reject(new Error("no token within 40 seconds")), PATIENCE_MS);
  }).finally(() => end());
  return { intent, token, entries };
}

function submit(intent, entries, body) {
  const storage = storageOf(new Map(entries));
  const og = createOncegate({ storage, lockPatienceMs: 0 });
  return og.submit({ intent, url: TARGET, body, token: tokensOf(og, { storage }) });
}

function order(quantity) {
  return new URLSearchParams({ sku: "beans", quantity: String(quantity), email: "ada@example.com" });
}

/** What gate and shop have under a token. */
async function found(token) {
  const [gate, booked] = await Promise.all([operation(token, { path: TARGET }), orders(token)]);
  const pieces = booked?.flatMap(({ items }) => items).reduce((sum, { quantity }) => sum + quantity, 0);
  return { gate, paid: booked?.filter((each) => each.paid).length ?? null, pieces };
}

/** A storage for one client of the SDK. */
function storageOf(entries, onSet = () => {}) {
  return {
    get length() { return entries.size; },
    key: (index) => [...entries.keys()][index] ?? null,
    getItem: (name) => entries.get(name) ?? null,
    setItem(name, value) {
      entries.set(name, value);
      onSet(value);
    },
  };
}
