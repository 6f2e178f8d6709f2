// What happened, for support: the last events of this browser, without payloads.

/** How many events are kept, over all intents. */
const KEPT = 120;

export class Log {
  #store;

  constructor(store) {
    this.#store = store;
  }

  add({ intent, ...event }) {
    if (intent === undefined) return;
    this.#store.writeLog([...this.#store.log(), { intent, ...event }].slice(-KEPT));
  }

  of(intent) {
    const entries = this.#store.log().filter((entry) => entry?.intent === intent);
    return { intent, line: line(intent, entries), entries };
  }
}

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
