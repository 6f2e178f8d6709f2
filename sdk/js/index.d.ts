/** Makes the SDK. One per page is enough; several share their keys through the storage. */
export function createOncegate(options?: Options): Oncegate;

export interface Options {
  /**
   * Where keys survive a reload. `null`: nowhere (they live as long as the page).
   * @defaultValue the page's `localStorage`; if it is missing, blocked or full, memory is used and a
   * `storage-missing` event tells
   */
  storage?: Pick<Storage, "getItem" | "setItem" | "key" | "length"> | null;
  /** The waits between sends, where the server asks for none (`Retry-After`). */
  backoff?: {
    /**
     * The first wait is drawn from 0 to this, and the range doubles with every wait.
     * @defaultValue 300
     */
    baseMs?: number;
    /**
     * No wait is drawn longer.
     * @defaultValue 10000
     */
    capMs?: number;
  };
  /**
   * How long one send or cancellation may take, up to the last byte of the answer. Then the same key
   * is sent again.
   * @defaultValue 25000
   */
  attemptTimeoutMs?: number;
  /**
   * How long all sends and waits of one `submit` may take. A wait that would end later is not begun:
   * the result is `unknown` at once. Time in which the browser froze the page does not count.
   * @defaultValue 90000
   */
  deadlineMs?: number;
  /**
   * How many sends and cancellations one `submit` makes at most.
   * @defaultValue 12
   */
  maxAttempts?: number;
  /** Hears every event, like a listener for `"oncegate"`. What it throws is reported and ignored. */
  onEvent?: (event: OncegateEvent) => void;
}

export interface Oncegate extends EventTarget {
  /**
   * Fulfilled when the engine is there: at once, unless this page forbids WebAssembly or loads it as a file
   * of its own. {@link submit} waits by itself; {@link pending}, {@link state} and {@link end} throw before.
   */
  readonly ready: Promise<unknown>;

  /**
   * Sends one operation, with one key on every send, until somebody says what became of it or a
   * limit is reached. It rejects only for mistakes in the request, before anything is sent.
   *
   * While an intent runs, every call for it gets the same promise: a double click is one operation,
   * also if the payload changed in between (the event says so). After `done`, the intent stays
   * executed: the same payload gets the stored answer again, another one gets `changed: true`, and
   * nothing is executed until the application calls {@link end}. After `failed`, the next call is a
   * new operation. After `unknown`, the next call asks again under the same key. If its payload is
   * another one (another card), it has the gate cancel the open one: `changed: true` says that it was
   * too late for that, otherwise the new payload is sent under the next key.
   */
  submit(request: Request): Promise<Result>;

  /** The intents that a reload or a crash has left open. Submit them again to learn their outcome. */
  pending(): Pending[];

  /** Where an intent stands, and the key that the next `submit` sends. */
  state(intent: string): State;

  /**
   * Ends an executed intent, so that its next `submit` is a new operation (the cart was emptied).
   * `false`, and nothing happens, while the intent is open: a new key could be a second execution.
   */
  end(intent: string): boolean;

  addEventListener(
    type: "oncegate",
    listener: ((event: CustomEvent<OncegateEvent>) => void) | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener(
    type: "oncegate",
    listener: ((event: CustomEvent<OncegateEvent>) => void) | null,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void;
}

export interface Request {
  /**
   * Names what the customer wants, such as `"cart-42"`. All clicks, tabs and reloads of one intent
   * share one key. Without it every call is an operation of its own, with a key that a reload loses:
   * a double click is then two.
   */
  intent?: string;
  /** Where to; relative to the page. */
  url: string | URL;
  /** @defaultValue "POST" */
  method?: string;
  /** Further headers. `Idempotency-Key` is set by the SDK and refused here. */
  headers?: HeadersInit;
  /** Copied at once, and sent byte for byte the same every time. Never stored. */
  body?: string | URLSearchParams | ArrayBuffer | ArrayBufferView | null;
  /**
   * Gives up waiting: the result is `unknown`, because what was sent may still be executed. Of calls
   * that share a promise, the first one's signal counts.
   */
  signal?: AbortSignal;
}

export type Result = Done | Failed | Unknown;

interface Common {
  /** The intent, if there was one. */
  intent: string | undefined;
  /** The key that was sent last. Worth showing to the customer and logging: support can look it up. */
  key: string;
  /** How often this key has been sent, earlier page loads included. */
  sends: number;
  /** The problem that came last, if the last answer was one. */
  problem?: Problem;
}

/** Executed, once. */
export interface Done extends Common {
  outcome: "done";
  /**
   * The operation's answer; `null` if it is not available (any more). Callers share a result, so
   * every look at `response` is a copy of its own, unread.
   */
  response: Response | null;
  /** Executed by an earlier send; this is what was answered then. */
  replayed: boolean;
  /** An earlier payload of this intent was executed, and this one was not. */
  changed: boolean;
}

/** Not executed, and it never will be. The next `submit` of the intent is a new operation. */
export interface Failed extends Common {
  outcome: "failed";
  /** Who said no: the service, or somebody who cancelled the operation. */
  reason: "refused" | "cancelled";
  /** The refusal. */
  response: Response | null;
}

/**
 * Nobody can say yet. It may have happened: do not offer another way to pay. The next `submit` of
 * the intent asks again under the same key.
 */
export interface Unknown extends Common {
  outcome: "unknown";
  /**
   * - `aborted`: the request's signal. With `sends: 0`, nothing was ever sent.
   * - `deadline`: no time was left for the next wait.
   * - `key_too_old`: the key was first sent so long ago that the gate may have forgotten it.
   * - `not_retryable`: the gate said that sending the same again is of no use.
   * - `not_understood`: an answer that is not the gate's, and neither success nor "try again".
   * - `sends_used_up`: `maxAttempts` was reached.
   */
  reason:
    | "aborted"
    | "deadline"
    | "key_too_old"
    | "not_retryable"
    | "not_understood"
    | "sends_used_up";
  /** The last answer, if there was one. */
  response: Response | null;
  /** What `fetch` threw last, if the last send had no answer. */
  error?: unknown;
}

/** A problem of the gate (RFC 9457), or of the service. */
export interface Problem {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  /** The kind of problem, for programs. */
  code?: string;
  /** The operation's public reference, for support. */
  operation?: string | null;
  state?: string | null;
  executed?: boolean | null;
  retryable?: boolean;
  retry_after_ms?: number | null;
  safe_new_key?: boolean;
  [member: string]: unknown;
}

export interface Pending {
  intent: string;
  key: string;
  phase: "open";
  /** How often the key has been sent. */
  sends: number;
  /** When it was sent first, in milliseconds since the Unix epoch. */
  firstSentMs: number;
}

export interface State {
  /** Counts the intent's operations from 0. */
  epoch: number;
  /** The key that the next `submit` sends. */
  key: string;
  /** `none`: nothing was sent in this epoch. `open`: outcome not known. `executed`: until `end`. */
  phase: "none" | "open" | "executed";
}

/** What happens, as it happens: for logs, support and boards. It never carries the payload. */
export interface OncegateEvent {
  /**
   * - `click-coalesced`: a call got the promise of the one that runs.
   * - `resumed`: the intent was open before this call: the same key goes on.
   * - `send`: the request is about to leave; its key is stored.
   * - `answer`: an answer has arrived, complete.
   * - `network-error`: a send or a cancellation ended without one.
   * - `cancel`: another payload has the key and is open: the gate is about to be asked to cancel it.
   * - `wait`: a wait begins.
   * - `settled`: the result is there.
   * - `storage-missing`: the key will not survive a reload.
   * - `wasm-blocked`: WebAssembly cannot be used here (a Content-Security-Policy forbids it): the same
   *   engine runs as plain JavaScript. `reason` is what the browser said.
   */
  type:
    | "click-coalesced"
    | "resumed"
    | "send"
    | "answer"
    | "network-error"
    | "cancel"
    | "wait"
    | "settled"
    | "storage-missing"
    | "wasm-blocked";
  intent: string | undefined;
  key: string;
  /** The number of sends under this key so far. */
  send: number;
  /** `answer`: the HTTP status. */
  status?: number;
  /** `answer`: the header `Idempotency-Status`. */
  idempotencyStatus?: string;
  /** `answer`, `settled`: the stored answer of an earlier send. */
  replayed?: boolean;
  /** `wait`: how long. */
  waitMs?: number;
  /** `settled`: the result's outcome. */
  outcome?: Result["outcome"];
  /** `network-error`: `"failed"` or `"timeout"`. `settled`: the result's reason. `wasm-blocked`: the obstacle. */
  reason?: string;
  /** `click-coalesced`: the payload differs from the one that was sent. */
  changed?: boolean;
  /** Milliseconds since the Unix epoch. */
  at: number;
}

/**
 * What to tell the customer: what is known, and what to do.
 * @param outcome A result, or a case by its name.
 * @param lang A language tag; Chinese and English are there, and English stands in for the rest.
 * @defaultValue lang "en"
 */
export function messages(outcome: Result | MessageCase, lang?: string): { title: string; text: string };

export type MessageCase =
  | "pending"
  | "done"
  | "changed"
  | "failed"
  | "refused"
  | "cancelled"
  | "unknown"
  | "unsent"
  | "key_too_old";
