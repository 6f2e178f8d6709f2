/**
 * Claims: a broker delivers one message five times, to five workers of the shop's program.
 *
 * Invariant: how often the customer was told was read from the shop's rows, not from what the workers say.
 */

import { backRoom, needs, newRun, tallied } from "./family-ask.js";

const COPIES = 5;

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
    return { holds: isOnce, say: isOnce ? how : "many", values: { count: notices.length } };
  });
}

function gate(workers, { state, attempts }) {
  const fences = workers.map(({ fence }) => fence).filter(Boolean);
  return [
    ["gate", "heard", tallied(workers.flatMap(({ heard }) => heard))],
    ["gate", "taken", attempts],
    ...(fences.length > 1 ? [["gate", "fences", fences.join(" < ")]] : []),
    ["gate", "state", state],
  ];
}
