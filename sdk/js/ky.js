// The entry `oncegate/ky`: options for ky whose requests that change something are sent by the SDK.

import { createFetch } from "oncegate/fetch";

export function oncegateOptions(options) {
  return {
    fetch: createFetch(options),
    // The SDK sends again, and knows when to stop; ky's time limit would end its waiting after ten seconds.
    retry: { methods: ["get", "head", "options", "trace"] },
    timeout: false,
  };
}
