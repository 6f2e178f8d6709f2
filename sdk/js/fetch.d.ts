import type { Oncegate, Result } from "oncegate";

/**
 * `fetch` with the same arguments. POST, PUT, PATCH and DELETE are sent by the SDK: with a key, again while
 * nobody knows, and with the outcome that is known. Everything else passes to the browser's `fetch`, also what
 * has an `Idempotency-Key` already; so the function may take the place of `window.fetch`.
 *
 * It resolves to the service's answer: of this send, of an earlier one, or its refusal (`ok` is `false`).
 * It rejects with a {@link NoResponseError} if there is none: it is not known what became of the request,
 * it was cancelled, an earlier payload of the intent was executed instead, or the stored answer is not
 * available any more. Of `init`, the members `method`, `headers`, `body`, `credentials` and `signal` count.
 *
 * Without an intent every call is an operation of its own: its sends share a key, but two clicks are two.
 */
export const fetch: OncegateFetch;

/** `fetch` by a client of your own. */
export function createFetch(options?: { client?: Oncegate }): OncegateFetch;

export type OncegateFetch = (input: string | URL | Request, init?: FetchInit) => Promise<Response>;

export interface FetchInit extends Omit<RequestInit, "body"> {
  /** As `body` of the client's `submit`; streams are refused. */
  body?: BodyInit | object | null;
  /**
   * What the customer wants, such as `"cart-42"`. Where only headers can be set, the header
   * `Oncegate-Intent` does the same; it does not leave the page.
   */
  intent?: string;
  /** As in the client's `submit`. */
  ignore?: string[];
}

/** There is no answer to this request. `result` says why, and what can be done. */
export class NoResponseError extends Error {
  constructor(result: Result, options?: ErrorOptions);
  /** `"AbortError"` if the request's signal ended the waiting, as `fetch` has it. */
  name: "NoResponseError" | "AbortError";
  readonly result: Result;
}

/** Whether requests of this method are sent with a key. */
export function isKeyed(method?: string): boolean;
