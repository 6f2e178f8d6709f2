/** The locks of a gate. Not for public pages: they cannot keep its secret. */
export function createLocks(options: LocksOptions): Locks;

export interface LocksOptions {
  /** Where the gate is, such as `"https://shop.example"`. */
  gate: string | URL;
  /** One of the secrets in the gate's `LOCKS_SECRETS`. */
  secret: string;
  /** Another `fetch` than the platform's. */
  fetch?: typeof globalThis.fetch;
}

export interface Locks {
  /**
   * Takes a named lock, and renews it until it is released. Rejects with a {@link LockError}: `lock_busy` if somebody else has had it for
   * as long as was waited.
   *
   * A lock is never the only protection: what must happen once needs a unique index, and what is protected should know the fence.
   */
  lock(name: string, options?: LockOptions): Promise<HeldLock>;
}

export interface LockOptions {
  /**
   * How long it lasts if this program dies, in milliseconds: 1 s to 1 h.
   * @defaultValue `30000`
   */
  ttlMs?: number;
  /**
   * How long to wait if somebody else has it, in milliseconds, however long.
   * @defaultValue `0`
   */
  waitMs?: number;
  /** Ends the wait; the request is called off. */
  signal?: AbortSignal;
}

/** A lock that is held. */
export interface HeldLock {
  readonly name: string;
  /** Greater than that of everybody who had the lock before. What is protected refuses a smaller one than it has seen. */
  readonly fence: number;
  /** Aborted when the lock is lost, or might be by this machine's clock. The reason is a {@link LockError}. */
  readonly lost: AbortSignal;
  /** Releases it. Rejects if it had been lost before (`lock_lost`), or if the gate is out of reach: then it ends by itself. */
  release(): Promise<void>;
}

/** Why there is no lock, or not any more. */
export class LockError extends Error {
  /** The gate's code (`lock_busy`, `lock_lost`, `unauthorized` …), or `no_answer`. */
  readonly code: string;
}
