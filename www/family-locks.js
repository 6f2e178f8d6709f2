/**
 * Locks: two take stock of one shelf at the same time. They are two threads of the shop's program, which has the secret for locks; this
 * page only asks for them.
 *
 * Invariant: what was taken out of the book was read from the shop's rows, not from what the two say.
 */

import { backRoom, needs, newRun } from "./family-ask.js";
import { t } from "./i18n.js";

export const locks = { name: "locks", guide: { en: "docs/locks.md", zh: "docs/zh/locks.md" }, steps: { nothing: under("nothing"), lock: under("lock"), short: under("short_lock"), fence: under("short_lock_with_fence") } };

function under(guard) {
  return needs(async (tell) => {
    const run = newRun();
    const { takers } = await backRoom("locks", { run, guard });
    const { corrections, missing } = await backRoom(`corrections/${run}`);
    const booked = corrections.reduce((sum, { quantity }) => sum + quantity, 0);
    tell([
      ...takers.map(({ counted, did }, place) => ["program", place === 0 ? "first" : "second", () => t(`locks_did_${did}`, { counted })]),
      ...takers.filter(({ fence }) => fence).map(({ fence }, place) => ["gate", place === 0 ? "fence_first" : "fence_second", fence]),
      ["shop", "missing", missing],
      ["shop", "booked", booked],
      ["shop", "corrections", corrections.length],
    ]);
    return { holds: booked === missing, say: said(guard, takers), otherwise: "twice", values: { booked, missing } };
  });
}

function said(guard, takers) {
  if (guard === "nothing") return "luck";
  return takers.some(({ did }) => did === "refused") ? "fenced" : "waited";
}
