/** Claims of messages and jobs at the gate: worked on by one, done once. For consumers, not for pages: it needs a secret. */
export function createClaims(options: ClaimsOptions): Claims;

export interface ClaimsOptions {
  /** Where the gate is, such as `https://shop.example`. */
  gate: string | URL;
  /** One of its `CLAIMS_SECRETS`. */
  secret: string;
  /** The queue, and who consumes it: `"orders/mail"`. */
  scope: string;
  /** How long a claim is held without a heartbeat; 30,000 if left out. */
  leaseMs?: number;
  /** Used in the place of the global one. */
  fetch?: typeof globalThis.fetch;
}

export interface Claims {
  /**
   * Claims a message, works on it while heartbeats keep the claim, and completes it with what `work` resolves to. If `work` rejects, the
   * claim is released and the error passed on. Of a message that is not acquired, `work` hears nothing: `answer` says why.
   */
  run(message: Message, work: (claim: HeldClaim) => Promise<string | undefined | void>): Promise<Claimed>;
  /** Claims a message. */
  claim(message: Message): Promise<Claimed>;
  /** Claims up to a hundred messages; each answer is its own. An item that was not decided has `answer: "refused"` and a `code`. */
  claimAll(messages: Message[]): Promise<(Claimed | RefusedClaim)[]>;
  /** Says that it is done, and what it came to, in at most 16 KB of text. `"lost"`: somebody has taken over. */
  complete(claim: Owned, result?: string): Promise<"done" | "lost">;
  /** Begins the lease anew. */
  heartbeat(claim: Owned): Promise<"held" | "done" | "lost">;
  /** Gives it up, so that the next one need not wait. */
  release(claim: Owned): Promise<"released" | "done" | "lost">;
}

/** A message by its id, or with the time at which it was sent, in milliseconds since 1970. */
export type Message = string | { key: string; sentAt?: number };

export interface Owned {
  key: string;
  owner?: string;
}

export interface Claimed extends Owned {
  /** `"lost"` only from `run`: done, and somebody else had taken over before it could be said. */
  answer: "acquired" | "busy" | "done" | "too_old" | "lost";
  /** Rises with every claim of the key: write it with the effect, and refuse what is lower. */
  fence?: number;
  /** How long the claim holds without another word. */
  leaseEndsInMs?: number;
  /** What it came to, if it is done and somebody has said. */
  result?: string | undefined | void;
  /** For support. */
  operation?: string;
}

export interface HeldClaim extends Claimed {
  /** Aborted when somebody has taken over. */
  signal: AbortSignal;
}

export interface RefusedClaim {
  key: string;
  answer: "refused";
  code: string;
  detail?: string;
  retryAfterMs?: number;
}

/** The gate did not decide: `code` is that of its problem, or `"no_answer"`, after which the same may be asked again. */
export class ClaimError extends Error {
  readonly code: string;
  readonly retryAfterMs?: number;
}
