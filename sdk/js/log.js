// What happened, for support: the last events of this browser, without payloads.
//
// Nobody waits for the log: it is written when the page is idle or is left, so that a crash may cost its last lines, and never a payment's record.

import { offHide, onHide } from "./clock.js";
import { whenIdle } from "./idle.js";

/** How many events are kept, over all intents. */
const KEPT = 120;

/** How long lines may wait for a page that is never idle. */
const LATEST_MS = 500;

export class Log {
  #store;
  #unwritten = [];

  constructor(store) {
    this.#store = store;
  }

  add({ intent, ...event }) {
    if (intent === undefined) return;
    if (this.#unwritten.push({ intent, ...event }) > 1) return;
    whenIdle(this.#write, LATEST_MS);
    onHide(this.#write);
  }

  /** Tabs write when they are idle: what comes later into the log may have happened earlier. */
  of(intent) {
    this.#write();
    const entries = this.#store.log().filter((entry) => entry?.intent === intent);
    entries.sort((one, other) => timeOf(one) - timeOf(other));
    return { intent, line: line(intent, entries), entries };
  }

  /** What is kept is what came last: a clock may go back, and what was written before that is not newer. */
  #write = () => {
    offHide(this.#write);
    if (this.#unwritten.length === 0) return;
    this.#store.writeLog([...this.#store.log(), ...this.#unwritten.splice(0)].slice(-KEPT));
  };
}

const timeOf = ({ at }) => Number(at) || 0;

/** "cart-42: 3 sends, 1 execution, replayed" */
function line(intent, entries) {
  const sends = entries.filter(({ type }) => type === "send").length;
  const ends = entries.filter(({ type }) => type === "settled");
  const executed = new Set(ends.filter(({ outcome }) => outcome === "done").map(({ key }) => key));
  const running = entries.at(-1)?.type !== "settled";
  return `${intent}: ${count(sends, "send")}, ${count(executed.size, "execution")}, ${running ? "open" : word(ends.at(-1))}`;
}

function word({ outcome, replayed, reason }) {
  if (outcome === "done") return replayed ? "replayed" : "answered";
  return outcome === "failed" ? reason : `unknown (${reason})`;
}

function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
