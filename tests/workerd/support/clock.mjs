// The clock of the tests and of the gate and its objects, which are in one isolate: it can be put forward, and stands from then on.

import { afterAll } from "vitest";

const Clock = globalThis.Date;
let now;

/** As if time had passed, and then stood still, until the file's tests are over: however slow the machine is, no test misses a moment. */
export function later(ms) {
  now = (now ?? Clock.now()) + ms;
  globalThis.Date = class extends Clock {
    constructor(...given) {
      super(...(given.length > 0 ? given : [now]));
    }

    static now() {
      return now;
    }
  };
}

afterAll(() => {
  globalThis.Date = Clock;
});
