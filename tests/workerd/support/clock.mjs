// The clock of the tests and of the gate and its objects, which are in one isolate: it can be put forward.

import { afterAll } from "vitest";

const Clock = globalThis.Date;
let ahead = 0;

/** As if time had passed, until the file's tests are over. */
export function later(ms) {
  ahead += ms;
  globalThis.Date = class extends Clock {
    constructor(...given) {
      super(...(given.length > 0 ? given : [Clock.now() + ahead]));
    }

    static now() {
      return Clock.now() + ahead;
    }
  };
}

afterAll(() => {
  globalThis.Date = Clock;
});
