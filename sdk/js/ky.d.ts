import type { Oncegate } from "oncegate";
import type { OncegateFetch } from "oncegate/fetch";

/**
 * Options for `ky.create` and `ky.extend`: POST, PUT, PATCH and DELETE are sent by the SDK, and ky's own
 * retries are left to the methods that change nothing. `ky.post(url, { json, intent: "cart-42" })` names what
 * the customer wants.
 *
 * If there is no answer, a `NoResponseError` of `oncegate/fetch` is thrown. ky's time limit is off, since it
 * would end the SDK's waiting; the client's `deadlineMs` holds instead, and reading requests have none.
 */
export function oncegateOptions(options?: { client?: Oncegate }): {
  fetch: OncegateFetch;
  retry: { methods: ("get" | "head" | "options" | "trace")[] };
  timeout: false;
};

declare module "ky" {
  interface Options {
    /** What the customer wants, such as `"cart-42"`. */
    intent?: string;
    /** As in the client's `submit`. */
    ignore?: string[];
  }
}
