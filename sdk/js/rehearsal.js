// Once through everything that a click needs: what a browser calls for the first time, it compiles and connects first, and that takes a few
// milliseconds, which nobody waits for now.
//
// Invariant: nothing is sent, nothing is stored, nobody is told, and the only lock that is held is the rehearsal's own.

import { toJob } from "./job.js";
import { withLock } from "./locks.js";
import { Run } from "./run.js";
import { openStorage } from "./storage.js";
import { Store } from "./store.js";

/** Stands where a token would be: a call waits for it, so that none is made. */
const NEVER = { prepare() {}, take: () => new Promise(() => {}) };

export async function rehearse(settings) {
  const job = toJob({ intent: "rehearsal", url: "about:blank", body: {}, token: NEVER }, settings);
  const run = new Run(job, new Store(openStorage(null)), () => run.interrupt("aborted"));
  run.prepare();
  // No intent is empty.
  return withLock("oncegate:", 0, () => {}, () => run.go());
}
