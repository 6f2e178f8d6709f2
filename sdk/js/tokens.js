// The entry `oncegate/tokens`: one-time tokens for routes that take nothing else, fetched before they are needed.
//
// Invariant: what an intent's key stands for at the gate is chosen once. A token that was sent under it is never
// exchanged for another one, by no tab and no page load: that could be a second execution. So it is stored before it
// is given out, a place is kept for it before it is fetched, and where a key was sent and its token is lost, nothing
// is sent. A token that nothing was sent with may be exchanged at any time.

import { nameRoute } from "./route.js";
import { openStorage } from "./storage.js";

const ENTRY = "oncegate:token:";
const ENDPOINT = "/.oncegate/v1/tokens";

/** How often a token is asked for, how long one call may take, and the pauses between them. */
const TRIES = 3;
const TIMEOUT_MS = 10_000;
const PAUSE_MS = 400;

/** A token is used for the first time before this part of its life is over: it has a way to go. */
const USABLE = 0.9;

/** A token that is fetched ahead is exchanged in this part of its life. */
const RENEWED = 0.7;

/** How soon after a failure a token is fetched ahead again. */
const AGAIN_MS = 15_000;

/** The events with which a customer comes back to a page, or begins to use it. Timers sleep while nobody looks. */
const RETURNS = ["visibilitychange", "pageshow", "online", "focusin"];

const known = new WeakMap();

export class TokenError extends Error {
  constructor(message, { status, problem, cause } = {}) {
    super(`oncegate: ${message}`, { cause });
    this.name = "TokenError";
    this.status = status;
    this.problem = problem;
  }
}

/** The tokens of a client; the same object every time. */
export function tokens(client, options) {
  if (!known.has(client)) known.set(client, new Tokens(client, options));
  return known.get(client);
}

class Tokens {
  #client;
  #storage;
  /** What this page has given out, by the intent's key. */
  #given = new Map();
  #asked = new Map();

  constructor(client, { storage } = {}) {
    this.#client = client;
    this.#storage = openStorage(storage);
  }

  /** Sees to it that there is a token; what comes back is why there is none. What was executed may have its answer without one. */
  async prepare(job, phase, key, sends) {
    try {
      // Without an intent, the first key is drawn later.
      const isDrawn = job.intent === undefined && sends === 0;
      if (phase !== "executed") await this.take(job, isDrawn ? job.secret : key, sends);
    } catch (error) {
      return error;
    }
    return undefined;
  }

  /** What stands for `key` at the gate. `sends` says how often that was sent before. */
  async take(job, key, sends) {
    const isStored = job.intent !== undefined;
    // What was sent stays; what was only given out may have grown old with the page, unless it is stored nowhere.
    if ((sends > 0 || !isStored) && this.#given.has(key)) return this.#given.get(key);
    const prepared = isStored ? undefined : this.#given.get(job.secret);
    const token = prepared ?? (await abortable(this.#choose(job, key, sends), job.signal));
    this.#given.delete(job.secret);
    this.#given.set(key, token);
    return token;
  }

  /** What the gate does not take, and what was never sent before, has begun nothing: the next send asks for another one. */
  hear({ intent }, { key, sends }, problem) {
    if (problem?.code !== "token_invalid" || sends !== 1) return;
    this.#given.delete(key);
    if (this.#entry(intent, key)) this.#keep(intent, { key });
  }

  /** Fetches the token of an intent before it is needed, and keeps it fresh; what comes back ends that. */
  ahead(request) {
    const job = { ...request, url: new URL(request.url, globalThis.document?.baseURI).href };
    let timer;
    let ended = false;
    const again = (ms) => (clearTimeout(timer), (timer = ended ? undefined : setTimeout(look, ms)));
    const look = async () => {
      if (ended || document.visibilityState === "hidden") return;
      try {
        again(await this.#freshen(job));
      } catch {
        // Whoever submits tries again, and hears what is wrong.
        again(AGAIN_MS);
      }
    };
    const idle = globalThis.requestIdleCallback ?? ((then) => setTimeout(then));
    this.#client.ready.then(() => idle(look), () => {});
    for (const type of RETURNS) addEventListener(type, look, true);
    return () => {
      ended = true;
      clearTimeout(timer);
      for (const type of RETURNS) removeEventListener(type, look, true);
    };
  }

  /** In how many milliseconds to look again. */
  async #freshen(job) {
    const { key, phase } = this.#client.state(job.intent);
    if (phase !== "none") return AGAIN_MS;
    const entry = this.#entry(job.intent, key);
    if (!isYoung(entry, RENEWED)) await this.#fetched(job, key, RENEWED);
    const { at, ms } = this.#entry(job.intent, key);
    return Math.max(1_000, at + ms * RENEWED - Date.now());
  }

  async #choose(job, key, sends) {
    const entry = this.#entry(job.intent, key);
    if (entry?.token && (sends > 0 || isYoung(entry, USABLE))) return entry.token;
    if (sends > 0 && !entry) throw new TokenError("the token that was sent is lost, and another one could be a second execution");
    return this.#fetched(job, key, USABLE);
  }

  /** One call for all who ask. */
  #fetched(job, key, part) {
    if (!this.#asked.has(key)) {
      const asked = this.#exchange(job, key, part).finally(() => this.#asked.delete(key));
      this.#asked.set(key, asked);
    }
    return this.#asked.get(key);
  }

  async #exchange(job, key, part) {
    const { intent } = job;
    const held = this.#entry(intent, key) || (intent !== undefined && this.#keep(intent, { key }));
    const { token, expires_in_ms: ms } = await fetchToken(job);
    // Meanwhile another tab may have fetched one, or have sent the old one.
    const entry = this.#entry(intent, key);
    const isSent = () => this.#client.state(intent).phase !== "none";
    if (entry?.token && (isYoung(entry, part) || isSent())) return entry.token;
    const kept = intent === undefined || this.#keep(intent, { key, token, at: Date.now(), ms });
    if (held && !kept) throw new TokenError("the token cannot be stored, and would be lost with the page");
    return token;
  }

  /** What is stored for this key; an entry without a token keeps the place of one that was never sent. */
  #entry(intent, key) {
    if (intent === undefined) return undefined;
    try {
      const entry = JSON.parse(this.#storage.get(ENTRY + intent));
      return entry?.key === key ? entry : undefined;
    } catch {
      return undefined;
    }
  }

  #keep(intent, entry) {
    return this.#storage.set(ENTRY + intent, JSON.stringify(entry));
  }
}

/** By the wall clock, which goes on while a page sleeps. One that went back says nothing. */
function isYoung(entry, part) {
  const age = Date.now() - entry?.at;
  return Boolean(entry?.token) && age >= 0 && age < entry.ms * part;
}

async function fetchToken(job) {
  for (let time = 1; ; time++) {
    try {
      return await ask(job);
    } catch (error) {
      const isFinal = error.status >= 400 && error.status < 500 && ![408, 425, 429].includes(error.status);
      if (isFinal || time === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * time * (0.5 + Math.random())));
    }
  }
}

async function ask(job) {
  const { url, headers, credentials } = job;
  const endpoint = new URL(ENDPOINT, url);
  nameRoute(endpoint, job);
  // All headers go along, as with a look-up: what lets the request pass to the gate should let this pass, too.
  const asking = new Headers(headers);
  asking.delete("content-type");
  const answer = await reach(endpoint.href, { method: "POST", headers: asking, credentials, cache: "no-store" });
  const said = await answer.json().catch(() => undefined);
  if (answer.ok && typeof said?.token === "string" && said.expires_in_ms > 0) return said;
  const why = said?.detail ?? said?.title ?? "that was no token";
  throw new TokenError(`no token from ${endpoint.href}: ${answer.status}, ${why}`, { status: answer.status, problem: said });
}

async function reach(url, init) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
  try {
    return await fetch(url, { ...init, signal: controller.signal });
  } catch (cause) {
    throw new TokenError(`no token from ${url}: no answer`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** What is fetched is not given up: others may wait for it. */
function abortable(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(new TokenError("aborted", { cause: signal.reason }));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
