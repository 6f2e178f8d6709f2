/**
 * Claims: a broker delivers one message five times, to five workers of the shop's program.
 *
 * Invariant: how often the customer was told was read from the shop's rows, not from what the workers say.
 */

import { backRoom, needs, newRun, tallied } from "./family-ask.js";

const COPIES = 5;
/** How often the gate gives the message away: to whoever dies with it, and to the next one. */
const TAKEN = { claimed: 1, dies_before: 2, dies_after: 2 };

export const claims = { name: "claims", guide: { en: "docs/claims.md", zh: "docs/zh/claims.md" }, steps: { unclaimed: delivered("unclaimed"), claimed: delivered("claimed"), before: delivered("dies_before"), after: delivered("dies_after") } };

function delivered(how) {
  return needs(async (tell) => {
    const run = newRun();
    const { workers } = await backRoom("claims", { run, how });
    const { notices } = await backRoom(`notices/${run}`);
    const record = how === "unclaimed" ? null : await backRoom(`records/claims/${run}`);
    tell([
      ["program", "copies", COPIES],
      ["program", "did", tallied(workers.map(({ did }) => did).filter(Boolean))],
      ...(record ? gate(workers, record) : []),
      ["shop", "notices", notices.length],
    ]);
    const isOnce = notices.length === 1;
    const holds = isOnce && (record === null || (record.attempts === TAKEN[how] && areRising(fencesOf(workers))));
    return { holds, say: how, otherwise: isOnce ? undefined : "many", values: { count: notices.length } };
  });
}

function gate(workers, { state, attempts }) {
  const fences = fencesOf(workers);
  return [
    ["gate", "heard", tallied(workers.flatMap(({ heard }) => heard))],
    ["gate", "taken", attempts],
    ...(fences.length > 1 ? [["gate", "fences", fences.join(areRising(fences) ? " < " : ", ")]] : []),
    ["gate", "state", state],
  ];
}

/** In the order of the workers: who dies is the first. */
function fencesOf(workers) {
  return workers.map(({ fence }) => fence).filter(Boolean);
}

function areRising(fences) {
  return fences.every((fence, place) => place === 0 || fence > fences[place - 1]);
}
