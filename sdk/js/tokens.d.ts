import type { Oncegate, Options, Problem, Question, TokenSource } from "oncegate";

/**
 * The one-time tokens of a client, for routes that take nothing else (`token = "required"`): give them to
 * `submit`, `lookup` and `cancel` as `token`. The same object every time.
 *
 * The intent's key stays the SDK's own. What is sent in its place is a token that is stored with the intent
 * before the first byte, so that a reload, a crash and another tab use the same one while the operation is
 * open. One that has expired before it was sent is exchanged, also by the gate's word (410
 * `token_expired`): then the same intent goes on under its next key.
 */
export function tokens(client: Oncegate, options?: Pick<Options, "storage">): Tokens;

export interface Tokens extends TokenSource {
  /**
   * Fetches the token of an intent before it is needed: when the page is idle, and again before it
   * expires, when the page is shown, online or used again. What does not succeed is tried again, and by
   * `submit` itself, which then tells what is wrong.
   *
   * @returns What ends that.
   */
  ahead(request: Pick<Question, "intent" | "url" | "method" | "headers" | "credentials" | "route">): () => void;
}

/** No token could be had: the `error` of an `unknown` result with the reason `token_missing`. */
export class TokenError extends Error {
  /** The HTTP status of the gate's answer, if there was one. */
  readonly status?: number;
  /** The gate's problem. */
  readonly problem?: Problem;
}
