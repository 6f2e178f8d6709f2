// The page comes first: what can wait is done when there is nothing else to do, or by the call that cannot wait for that.

/** Calls `work` when the page is idle; after `ms` at the latest, if they are given. */
export function whenIdle(work, ms) {
  if (globalThis.requestIdleCallback) requestIdleCallback(work, { timeout: ms });
  else setTimeout(work);
}
