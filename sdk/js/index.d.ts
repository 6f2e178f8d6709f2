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
   * How long one send, look-up or cancellation may take, up to the last byte of the answer. Then it is
   * made again, under the same key.
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
   * How many sends, look-ups and cancellations one `submit` makes at most; one that only makes sure that
   * nothing is executed is not counted. With 1, nothing is sent again; the key is sent all the same,
   * because browsers resend by themselves.
   * @defaultValue 12
   */
  maxAttempts?: number;
  /**
   * A call that comes this soon after the one before it is the second half of a double click, also if
   * there is a result already: with the same payload, it gets the same promise.
   * @defaultValue 300
   */
  quietMs?: number;
  /**
   * Waits until no call of the intent has come for so long, and sends what the last one brought. 0: the
   * first call is sent at once, and the others join it.
   * @defaultValue 0
   */
  trailingMs?: number;
  /**
   * How long a tab lets another one that runs the same intent go first, where the browser has Web Locks.
   * Then it goes on under the same key.
   * @defaultValue 2000
   */
  lockPatienceMs?: number;
  /**
   * Sends again after a send without an answer, although the server has never shown that it executes a
   * key once. By default it is asked first (a gate answers), and if nothing proves it, the result is
   * `unknown` with the reason `not_proven`. `true` for a server of your own that deduplicates by
   * `Idempotency-Key`.
   * @defaultValue false
   */
  retryUnproven?: boolean;
  /** Hears every event, like a listener for `"oncegate"`. What it throws is reported and ignored. */
  onEvent?: (event: OncegateEvent) => void;
}

export interface Oncegate extends EventTarget {
  /**
   * Fulfilled when the engine is there: at once, unless this page forbids WebAssembly or loads it as a file
   * of its own. {@link submit}, {@link lookup} and {@link cancel} wait by themselves.
   */
  readonly ready: Promise<unknown>;

  /**
   * Sends one operation, with one key on every send, until somebody says what became of it or a
   * limit is reached. It rejects only for mistakes in the request, with an {@link OncegateError},
   * before anything is sent.
   *
   * While an intent runs, every call for it gets the same promise: a double click is one operation,
   * also if the payload changed in between (the event says so). After `done`, the intent stays
   * executed: the same payload gets the stored answer again, another one gets `changed: true`, and
   * nothing is executed until the application calls {@link end}. After `failed`, the next call is a
   * new operation. After `unknown`, the next call asks again under the same key. If its payload is
   * another one (another card), the open operation is settled first: looked up, and cancelled if it is
   * still open. `changed: true` says that it was too late for that, otherwise the new payload is sent
   * under the next key.
   *
   * Before it says `failed`, and nothing else has proven that nothing can happen any more, it has the
   * gate cancel the operation.
   */
  submit(request: Request): Promise<Result>;

  /**
   * Asks what became of an intent, without sending anything: also after a reload, and for a key that is
   * too old to be sent. While a `submit` of the intent runs, its promise is given back.
   */
  lookup(question: Question): Promise<Result>;

  /**
   * Has the gate cancel an intent's operation ("pay another way"). `failed` means that nothing happened
   * and nothing will, `done` that it was too late. A `submit` of the intent that runs ends with the same
   * result.
   */
  cancel(question: Question): Promise<Result>;

  /** The intents that a reload or a crash has left open. Submit them again to learn their outcome. */
  pending(): Pending[];

  /** Where an intent stands, and the key that the next `submit` sends. */
  state(intent: string): State;

  /**
   * Ends an executed intent, so that its next `submit` is a new operation (the cart was emptied).
   * `false`, and nothing happens, while the intent is open: a new key could be a second execution. So it
   * is before {@link ready}.
   */
  end(intent: string): boolean;

  /**
   * What happened to an intent in this browser, for support: the last events of all its tabs and page
   * loads, without payloads, and one line such as `"cart-42: 3 sends, 1 execution, replayed"`. About the
   * last hundred events are kept, over all intents.
   */
  log(intent: string): Log;

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

/** What is asked about. */
export interface Question {
  /** Names what the customer wants. */
  intent: string;
  /** Where the operation was sent to; its gate is asked. */
  url: string | URL;
  /** The method of that request: needed only where several routes of the gate share its path. */
  method?: string;
  /** Further headers, such as the customer's authorization: the gate tells only its owner. */
  headers?: HeadersInit;
  /** As in {@link Request}. */
  credentials?: RequestCredentials;
  /** As in {@link Request}. */
  route?: string;
  /** As in {@link Request}. */
  generatedKey?: string;
  /** As in {@link Request}. */
  token?: TokenSource;
  /** As in {@link Request}. */
  signal?: AbortSignal;
}

/** Where one-time tokens come from: `oncegate/tokens`. What its members do is between it and the SDK. */
export interface TokenSource {
  prepare(request: object, phase: string, key: string, sends: number): Promise<unknown>;
  take(request: object, key: string, sends: number): Promise<string>;
  hear(request: object, sent: { key: string; sends: number }, problem: Problem | undefined): void;
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
  /**
   * Taken at once, read once, and sent byte for byte the same every time. Never stored. A plain object or
   * array is sent as JSON. A stream is refused (`body_is_stream`): it could not be sent again.
   */
  body?: Body;
  /**
   * What changes from one attempt to the next without being another order (a captcha's answer, a CSRF
   * token, a time): JSON pointers such as `"/csrf"` for JSON, names of fields for forms. It is sent, but
   * does not make the payload another one. The gate's route must leave the same fields out of its
   * fingerprint.
   */
  ignore?: string[];
  /** For a gate on another origin that needs cookies: `"include"`. @defaultValue "same-origin" */
  credentials?: RequestCredentials;
  /** The gate's name of the route, for look-ups and cancellations, if its path and method do not tell. */
  route?: string;
  /**
   * The value of which the gate makes the key, if the route generates its keys (an order number): for
   * look-ups and cancellations. Without it, both end as `unknown` on such a route.
   */
  generatedKey?: string;
  /** For a route that takes one-time tokens and nothing else: `tokens(client)` of `oncegate/tokens`. */
  token?: TokenSource;
  /**
   * Gives up waiting: the result is `unknown`, because what was sent may still be executed. Of calls
   * that share a promise, the first one's signal counts.
   */
  signal?: AbortSignal;
}

/** What can be sent again. Other objects than plain ones are refused at run time. */
export type Body = string | URLSearchParams | FormData | Blob | ArrayBuffer | ArrayBufferView | object | null;

/** A mistake in a request or an option. Nothing has been sent. */
export class OncegateError extends Error {
  /**
   * - `body_is_stream`: a stream can be read once only.
   * - `body_missing`: `resume` of a look-up.
   * - `body_unreadable`: a file cannot be read (any more), or a form not out of a `Request`: WebKit cannot read files out of one.
   * - `body_unsupported`: something else that is no {@link Body}.
   * - `header_reserved`: `Idempotency-Key` among the headers.
   * - `ignore_invalid`: `ignore` is no list of texts, or names members of JSON without pointers.
   * - `ignore_unsupported`: `ignore` for a body that has no members.
   * - `intent_invalid`, `intent_missing`: the intent is no text, or a question has none.
   * - `option_invalid`: an option of `createOncegate` makes no sense.
   * - `request_invalid`: `fetch` would refuse it (URL, method, a body with GET).
   */
  readonly code:
    | "body_is_stream"
    | "body_missing"
    | "body_unreadable"
    | "body_unsupported"
    | "header_reserved"
    | "ignore_invalid"
    | "ignore_unsupported"
    | "intent_invalid"
    | "intent_missing"
    | "option_invalid"
    | "request_invalid";
}

export type Result = Done | Failed | Unknown;

interface Common {
  /** The intent, if there was one. */
  intent: string | undefined;
  /** The key that was sent last. Worth showing to the customer and logging: support can look it up. */
  key: string;
  /** How often this key has been sent, earlier page loads included. */
  sends: number;
  /** The operation's public reference at the gate, if an answer named it. */
  operation: string | undefined;
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
  /** What to keep: support finds the operation by it. */
  receipt: Receipt;
}

export interface Receipt {
  key: string;
  /** The operation's public reference at the gate; `null` if no answer of this call named it. */
  operation: string | null;
  replayed: boolean;
  /** When this browser learned of it, in milliseconds since the Unix epoch. */
  at: number;
}

/** Not executed, and it never will be. The next `submit` of the intent is a new operation. */
export interface Failed extends Common {
  outcome: "failed";
  /**
   * Who said no: the service, or somebody who cancelled the operation. That may be the SDK itself, to be
   * able to say so: `problem` and `response` are then what the last send was told.
   */
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
   * - `key_too_old`: the key was first sent so long ago that the gate may have forgotten it, and a look-up
   *   did not settle it.
   * - `key_unnamed`: the route makes its keys itself, and can be asked about one only by its name (`generatedKey`).
   * - `not_proven`: a send had no answer, and the server has never shown that it executes a key once.
   * - `not_retryable`: the gate said that sending the same again is of no use.
   * - `not_understood`: an answer that is not the gate's, and neither success nor "try again".
   * - `open`: the gate was asked (`lookup`), and the operation is under way or was never seen.
   * - `sends_used_up`: `maxAttempts` was reached.
   * - `token_missing`: no one-time token could be had (`error` says why), and this call has sent nothing.
   */
  reason:
    | "aborted"
    | "deadline"
    | "key_too_old"
    | "key_unnamed"
    | "not_proven"
    | "not_retryable"
    | "not_understood"
    | "open"
    | "sends_used_up"
    | "token_missing";
  /** The last answer, if there was one. */
  response: Response | null;
  /** What `fetch` threw last, if the last call had no answer. */
  error?: unknown;
  /** The gate's word for where the operation stands, if a look-up or a cancellation told. */
  state?: string;
  /** Asks what became of it, without sending anything. */
  lookup(): Promise<Result>;
  /** Sends the same again, under the same key. Rejects (`body_missing`) if this is the result of a look-up. */
  resume(): Promise<Result>;
  /** Has the gate cancel it: then it is `failed`, or it was too late and it is `done`. */
  cancel(): Promise<Result>;
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
  /** The key that the next `submit` sends. Empty before {@link Oncegate.ready}, unless it was sent already. */
  key: string;
  /** `none`: nothing was sent in this epoch. `open`: outcome not known. `executed`: until `end`. */
  phase: "none" | "open" | "executed";
}

export interface Log {
  intent: string;
  /** For people: how often it was sent and executed, and how it stands. */
  line: string;
  /** Oldest first. */
  entries: OncegateEvent[];
}

/** What happens, as it happens: for logs, support and boards. It never carries the payload. */
export interface OncegateEvent {
  /**
   * - `click-coalesced`: a call got the promise of the one that runs.
   * - `resumed`: the intent was open before this call: the same key goes on.
   * - `send`: the request is about to leave; its key is stored.
   * - `answer`: an answer has arrived, complete.
   * - `network-error`: a send or a cancellation ended without one.
   * - `cancel`: the gate is about to be asked to cancel the operation.
   * - `lookup`: the gate is about to be asked what became of the operation.
   * - `tab-wait`: another tab runs the same intent and goes first.
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
    | "lookup"
    | "tab-wait"
    | "wait"
    | "settled"
    | "storage-missing"
    | "wasm-blocked";
  intent: string | undefined;
  key: string;
  /** The number of sends under this key so far. */
  send: number;
  /** `answer`: to what. */
  to?: "send" | "lookup" | "cancel";
  /** `answer`: the HTTP status. */
  status?: number;
  /** `answer` to a look-up or a cancellation: the gate's word for where the operation stands. */
  state?: string;
  /** `answer`: the header `Idempotency-Status`. */
  idempotencyStatus?: string;
  /** `answer`, `settled`: the stored answer of an earlier send. */
  replayed?: boolean;
  /** `wait`: how long. */
  waitMs?: number;
  /** `wait`: the device is offline; it ends as soon as it is online again. */
  offline?: boolean;
  /** `settled`: the result's outcome. */
  outcome?: Result["outcome"];
  /** `network-error`: `"failed"`, `"offline"` or `"timeout"`. `settled`: the result's reason. `wasm-blocked`: the obstacle. */
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
  | "waiting"
  | "checking"
  | "cancelling"
  | "done"
  | "changed"
  | "failed"
  | "refused"
  | "cancelled"
  | "unknown"
  | "unsent"
  | "key_too_old";
