// The npm package `oncegate`: the verbs, and the synchronous guard.
//
// Invariant: between the first `submit` of an intent and its result there is one promise, given to
// everybody who asks. It is put into the guard in the caller's own task, so that two clicks in one
// task meet it.
//
// Importing this module runs nothing: no fetch, no compilation, no look at `window` (it may be
// imported on a server).

import * as clock from "./clock.js";
import { engine, isLoaded, load, wasmObstacle } from "./engine.js";
import { OncegateError } from "./error.js";
import { toJob, toQuestion } from "./job.js";
import { whenIdle } from "./idle.js";
import { withLock } from "./locks.js";
import { Log } from "./log.js";
import { areEqual } from "./payload.js";
import { rehearse } from "./rehearsal.js";
import { toResult } from "./result.js";
import { Run } from "./run.js";
import { toSettings } from "./settings.js";
import { openStorage } from "./storage.js";
import { Store } from "./store.js";

/** How long tabs that are opened together may take to agree on the secret that one of them has just made. */
const AGREEING_MS = 250;

export { OncegateError };
export { messages } from "./messages.js";

export function createOncegate(options) {
  return new Oncegate(options);
}

class Oncegate extends EventTarget {
  #settings;
  #onEvent;
  #store;
  #log;
  #entries = new Map();
  #ready;

  constructor(options = {}) {
    super();
    this.#settings = toSettings(options);
    this.#onEvent = options.onEvent;
    this.#store = new Store(openStorage(options.storage));
    this.#log = new Log(this.#store);
    if (typeof document !== "undefined") {
      this.#watchPage();
      whenIdle(() => this.#warm());
    }
  }

  get ready() {
    this.#begin();
    return Promise.resolve(load());
  }

  submit(request) {
    return rejecting(() => {
      const job = toJob(request, this.#settings);
      const entry = this.#entries.get(job.intent);
      if (entry?.job.wish === "cancel" && !entry.settled) return this.#start(job, entry.promise);
      return entry && joins(entry, job) ? this.#coalesce(entry, job) : this.#start(job);
    });
  }

  lookup(request) {
    return rejecting(() => this.#ask(toQuestion(request, this.#settings, "lookup")));
  }

  cancel(request) {
    return rejecting(() => this.#ask(toQuestion(request, this.#settings, "cancel")));
  }

  pending() {
    const records = this.#store.intents().map((intent) => ({ intent, ...this.#record(intent) }));
    const open = records.filter(({ intent, phase }) => phase === "open" && !this.#isRunning(intent));
    return open.map(({ intent, key, phase, sends, firstSent }) => ({ intent, key, phase, sends, firstSentMs: firstSent }));
  }

  state(intent) {
    const { epoch, key, phase } = this.#record(String(intent));
    return { epoch, key, phase };
  }

  end(intent) {
    const name = String(intent);
    if (this.#isRunning(name) || this.#record(name).phase === "open" || !isLoaded()) return false;
    this.#entries.delete(name);
    const next = engine().end(this.#store.record(name));
    if (next) this.#store.write(name, next);
    return true;
  }

  log(intent) {
    return this.#log.of(String(intent));
  }

  #watchPage() {
    clock.start();
    // A request that was open when the browser put the page away has no answer any more.
    clock.onReturn(() => this.#entries.forEach(({ run, settled }) => settled || run.interrupt("failed")));
  }

  /** Loads the engine; a promise, unless everything is there at once. */
  #begin() {
    if (this.#ready === undefined) {
      const loading = load();
      this.#ready = loading ? loading.then(() => this.#prepare()) : this.#prepare();
      this.#ready?.catch(() => (this.#ready = undefined));
    }
    return this.#ready;
  }

  /** What a click will need is there before the first one, and has been called before. */
  async #warm() {
    try {
      await this.#begin();
      whenIdle(() => this.#entries.size > 0 || rehearse(this.#settings).catch(() => {})); // Nobody waits for it.
    } catch {
      // Whoever submits tries again, and hears what is wrong.
    }
  }

  #prepare() {
    const obstacle = wasmObstacle();
    if (obstacle) this.#emit("wasm-blocked", undefined, { key: "", send: 0, reason: String(obstacle) });
    if (typeof document === "undefined" || this.#store.hasSecret()) return null;
    this.#store.secret();
    return new Promise((resolve) => setTimeout(resolve, AGREEING_MS));
  }

  /** While the engine is on its way, what is stored stands for itself; a key that nothing was sent with is not known yet. */
  #record(intent) {
    const stored = this.#store.record(intent);
    if (this.#begin() && !isLoaded()) return { epoch: 0, key: "", phase: "none", ...stored };
    return engine().current(this.#store.secret(), intent, stored);
  }

  #isRunning(intent) {
    const entry = this.#entries.get(intent);
    return entry !== undefined && !entry.settled;
  }

  /** A question joins what runs: that ends with the answer. */
  #ask(job) {
    if (!this.#isRunning(job.intent)) return this.#start(job);
    const { run, promise } = this.#entries.get(job.intent);
    if (job.wish === "cancel") run.interrupt("cancel");
    return promise;
  }

  #coalesce(entry, job) {
    const changed = !areEqual(entry.job.parts, job.parts);
    entry.calledAt = clock.now();
    if (entry.waits) Object.assign(entry.job, job);
    this.#emit("click-coalesced", job.intent, { ...entry.progress, changed });
    return entry.promise;
  }

  #start(job, before) {
    const ready = this.#begin();
    const key = job.intent === undefined ? "" : this.#record(job.intent).key;
    const entry = { job, progress: { key, send: 0 }, calledAt: clock.now(), waits: job.wish === "submit" && job.trailingMs > 0 };
    const emit = (type, { key, sends }, more) => {
      entry.progress = { key, send: sends };
      this.#emit(type, job.intent, { ...entry.progress, ...more });
    };
    entry.run = new Run(job, this.#store, emit);
    const abort = () => entry.run.interrupt("aborted");
    job.signal?.addEventListener("abort", abort);
    const settle = () => {
      job.signal?.removeEventListener("abort", abort);
      entry.settled = true;
      this.#forget(entry);
    };
    entry.promise = this.#run(entry, ready, before).finally(settle).then((ended) => this.#settle(job, ended));
    if (job.intent !== undefined && job.wish !== "lookup") this.#entries.set(job.intent, entry);
    return entry.promise;
  }

  async #run(entry, ready, before) {
    const { job, run } = entry;
    await before?.catch(() => {});
    await ready;
    while (entry.waits && entry.calledAt + job.trailingMs > clock.now()) {
      await new Promise((resolve) => setTimeout(resolve, entry.calledAt + job.trailingMs - clock.now()));
    }
    entry.waits = false;
    if (job.intent === undefined || job.wish === "lookup") return run.go();
    const wait = () => this.#emit("tab-wait", job.intent, entry.progress);
    run.prepare();
    return withLock(`oncegate:${job.intent}`, job.lockPatienceMs, wait, () => run.go());
  }

  #settle(job, ended) {
    const { key, sends, outcome, replayed, reason } = ended;
    this.#emit("settled", job.intent, { key, send: sends, outcome, replayed, reason });
    const again = (wish) => () => this.#ask({ ...job, wish });
    return toResult(job, ended, { lookup: again("lookup"), cancel: again("cancel"), resume: () => this.#resume(job) });
  }

  #resume(job) {
    if (job.parts.length === 0) return Promise.reject(new OncegateError("body_missing", "a look-up has nothing to send: submit the request again"));
    return this.#ask({ ...job, wish: "submit" });
  }

  /** Once the quiet time is over, the guard has forgotten the intent. */
  #forget(entry) {
    const { intent, quietMs } = entry.job;
    const forget = () => this.#entries.get(intent) === entry && this.#entries.delete(intent);
    if (quietMs === 0) forget();
    else setTimeout(forget, quietMs).unref?.();
  }

  #emit(type, intent, fields) {
    const detail = { type, intent, ...fields, at: Date.now() };
    this.#log.add(detail);
    this.dispatchEvent(new CustomEvent("oncegate", { detail }));
    try {
      this.#onEvent?.(detail);
    } catch (error) {
      // The page's mistake must be seen, and must not stop a payment.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** A call joins what runs; what has just ended, it joins only as the second half of a double click. */
function joins({ job: first, settled, calledAt }, job) {
  if (!settled) return true;
  const isQuiet = clock.now() - calledAt < job.quietMs;
  return isQuiet && first.wish === "submit" && areEqual(first.parts, job.parts);
}

function rejecting(begin) {
  try {
    return begin();
  } catch (error) {
    return Promise.reject(error);
  }
}
