// One tab after the other, where the browser can say so. A lock is advice: the key protects, so nobody waits for long,
// and a tab that the browser froze does not stop another one.

import { offHide, onHide } from "./clock.js";

/** Runs `work` while this tab has the lock `name`, or after `patienceMs` without it. `wait` is called if another tab has it. */
export function withLock(name, patienceMs, wait, work) {
  const locks = globalThis.navigator?.locks;
  if (!locks) return work();
  return new Promise((resolve, reject) => {
    let begun;
    const begin = () => (begun ??= Promise.resolve().then(work).then(resolve, reject));
    const hold = (lock) => {
      if (begun) return undefined;
      if (lock) return new Promise((free) => (onHide(free), begin().then(free).then(() => offHide(free))));
      wait();
      const patience = new AbortController();
      setTimeout(() => (begin(), patience.abort()), patienceMs);
      locks.request(name, { signal: patience.signal }, hold).catch(begin);
      return undefined;
    };
    // A browser that has locks and refuses them (a sandboxed frame) is as good as one that has none.
    locks.request(name, { ifAvailable: true }, hold).catch(begin);
  });
}
