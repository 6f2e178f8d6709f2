// The npm package `oncegate`: the synchronous guard, and what the engine needs of the host.
//
// Invariant: between the first `submit` of an intent and its result there is one promise, given to
// everybody who asks. It is put into the guard in the caller's own task, so that two clicks in one
// task meet it.
//
// Importing this module runs nothing: no fetch, no compilation, no look at `window` (it may be
// imported on a server).

import * as clock from "./clock.js";
import { engine, isLoaded, load, wasmObstacle } from "./engine.js";
import { toJob } from "./job.js";
import { toSettings } from "./settings.js";
import { openStorage } from "./storage.js";

/** How long tabs that are opened together may take to agree on the secret that one of them has just made. */
const AGREEING_MS = 250;

export { messages } from "./messages.js";

export function createOncegate(options) {
  return new Oncegate(options);
}

class Oncegate extends EventTarget {
  #settings;
  #onEvent;
  #storage;
  #running = new Map();
  #ready;

  constructor(options = {}) {
    super();
    this.#settings = toSettings(options);
    this.#onEvent = options.onEvent;
    this.#storage = openStorage(options.storage);
    if (typeof document !== "undefined") {
      clock.start();
      this.#begin();
    }
  }

  get ready() {
    return Promise.resolve(this.#begin());
  }

  submit(request) {
    try {
      const job = toJob(request, this.#settings, this.#storage);
      const running = job.intent === undefined ? undefined : this.#running.get(job.intent);
      return running ? this.#coalesce(running, job) : this.#start(job, request.signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  pending() {
    const open = engine().pending(this.#storage);
    return open.filter(({ intent }) => !this.#running.has(intent));
  }

  state(intent) {
    return engine().state(this.#storage, String(intent));
  }

  end(intent) {
    return !this.#running.has(intent) && engine().end(this.#storage, String(intent));
  }

  /** Loads the engine; a promise, unless everything is there at once. */
  #begin() {
    if (this.#ready === undefined) {
      const loading = load();
      this.#ready = loading ? loading.then(() => this.#prepare()) : this.#prepare();
      loading?.catch(() => (this.#ready = undefined));
    }
    return this.#ready;
  }

  #prepare() {
    const obstacle = wasmObstacle();
    if (obstacle) this.#emit("wasm-blocked", undefined, { key: "", send: 0, reason: String(obstacle) });
    const made = typeof document !== "undefined" && engine().prepare(this.#storage);
    return made ? new Promise((resolve) => setTimeout(resolve, AGREEING_MS)) : null;
  }

  #coalesce({ job: first, promise, progress }, { intent, url, method, bytes }) {
    const changed = first.url !== url || first.method !== method || !areEqual(first.bytes, bytes);
    this.#emit("click-coalesced", intent, { ...progress, changed });
    return promise;
  }

  #start(job, signal) {
    const ready = this.#begin();
    const key = job.intent === undefined || !isLoaded() ? "" : this.state(job.intent).key;
    const progress = { key, send: 0 };
    const abandon = abandonment(signal);
    job.aborted = abandon.promise;
    job.isAborted = () => signal?.aborted === true;
    job.emit = (type, fields) => {
      Object.assign(progress, { key: fields.key, send: fields.send });
      this.#emit(type, job.intent, fields);
    };
    const release = () => {
      this.#running.delete(job.intent);
      abandon.stop();
    };
    const result = ready ? ready.then(() => engine().submit(job)) : engine().submit(job);
    const promise = result.then(
      (result) => {
        release();
        const { key, sends: send, outcome, replayed, reason } = result;
        this.#emit("settled", job.intent, { key, send, outcome, replayed, reason });
        return withReadableResponse(result);
      },
      (error) => {
        release();
        throw error;
      },
    );
    if (job.intent !== undefined) this.#running.set(job.intent, { job, promise, progress });
    return promise;
  }

  #emit(type, intent, fields) {
    const detail = { type, intent, ...fields, at: Date.now() };
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

/** Several callers share a result: each look at its response is a copy that can be read. */
function withReadableResponse(result) {
  const { response } = result;
  return Object.defineProperty(result, "response", { get: () => response && response.clone() });
}

/** A promise for the abort of `signal`, and a way to stop listening. */
function abandonment(signal) {
  let listener;
  const promise = new Promise((resolve) => {
    listener = () => resolve();
  });
  signal?.addEventListener("abort", listener);
  return { promise, stop: () => signal?.removeEventListener("abort", listener) };
}

function areEqual(a, b) {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
