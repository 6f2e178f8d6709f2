/**
 * Cron: the clock fires one slot of the settlement five times; then somebody wants it run again, and says so.
 *
 * Invariant: how often it ran was read from the shop's rows.
 */

import { backRoom, needs, newRun, notThere, tallied } from "./family-ask.js";
import { t } from "./i18n.js";

const FIRINGS = 5;
const MINUTE_MS = 60_000;
/** The gate remembers a slot for a week. */
const DAYS = 5;
/** The trigger of the job, as the gate knows it. */
const TRIGGER = "* * * * *";

export const cron = { name: "cron", guide: { en: "docs/cron.md", zh: "docs/zh/cron.md" }, steps: { five: needs(five), named: needs(named) } };

/** One slot, five firings. */
async function five(tell) {
  const slot = newSlot();
  const { now_ms } = await rowsOf(slot);
  await Promise.all(Array.from({ length: FIRINGS }, () => fire(slot)));
  const { runs, settlements } = await rowsOf(slot, now_ms);
  tell([["page", "slot", slot], ["page", "fired", FIRINGS], ["shop", "runs", runs.length], ["shop", "settlements", settlements]]);
  const holds = runs.length === 1 && settlements === 1;
  return { holds, say: "once", otherwise: "wrong", values: { fired: FIRINGS, settlements } };
}

/** Once by the clock, and again by a person; whose answer is lost, so that the call is made twice. */
async function named(tell) {
  const slot = newSlot();
  const { now_ms } = await rowsOf(slot);
  await fire(slot);
  const again = { slot, name: `after-the-fix-${newRun().slice(0, 4)}` };
  const told = [await backRoom("cron", again), await backRoom("cron", again)];
  const { runs, settlements } = await rowsOf(slot, now_ms);
  tell([
    ["page", "slot", slot],
    ["page", "name", again.name],
    ["gate", "states", tallied(told.map(({ state }) => state))],
    ["shop", "runs", () => runs.map(({ key }) => nameOf(key, slot)).join(", ")],
    ["shop", "settlements", settlements],
  ]);
  const holds = runs.length === 2 && settlements === 2;
  return { holds, say: "named", otherwise: "wrong", values: { settlements } };
}

/** What a run is called: those of the clock have no name. */
function nameOf(key, slot) {
  return key.slice(`cron:settle:${slot}:`.length) || t("cron_byTheClock");
}

/** A minute of the last days that nobody is likely to have run. */
function newSlot() {
  const minutes = 10 + Math.floor(Math.random() * DAYS * 24 * 60);
  return `${new Date(Date.now() - minutes * MINUTE_MS).toISOString().slice(0, 16)}Z`;
}

/** Strikes the clock of `wrangler dev`, which the platform's own has no switch for. */
async function fire(slot) {
  const query = new URLSearchParams({ cron: TRIGGER, time: String(Date.parse(slot)) });
  const answer = await fetch(`/cdn-cgi/local/scheduled?${query}`, { cache: "no-store" });
  if (!answer.ok) throw notThere(`scheduled: ${answer.status}`);
}

function rowsOf(slot, since_ms) {
  return backRoom(`slots/${slot}${since_ms === undefined ? "" : `?since_ms=${since_ms}`}`);
}
