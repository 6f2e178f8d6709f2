// One intent as a user interface shows it: what the bindings for React, Vue and Svelte have in common.
//
// Invariant: all components of a page that show an intent see the same snapshot, also one that appears while
// the intent runs: what was begun does not belong to the component that began it.

import { messages } from "oncegate";
import { sharedClient } from "./shared.js";

const IDLE = Object.freeze({ state: "idle", busy: false, result: undefined });
const STATES = { none: "idle", open: "unknown", executed: "done" };

const watched = new WeakMap();

export const idle = () => IDLE;

/** The intent's state and verbs, for everybody who shows it. */
export function watch(intent, client = sharedClient()) {
  if (!watched.has(client)) watched.set(client, new Map());
  const intents = watched.get(client);
  if (!intents.has(intent)) intents.set(intent, new Watched(intent, client));
  return intents.get(intent);
}

/** The words for a snapshot, or `null` where there is nothing to say. */
export function wordsOf({ state, busy, result }, lang) {
  if (busy) return messages("pending", lang);
  return state === "idle" ? null : messages(result ?? state, lang);
}

class Watched {
  #intent;
  #client;
  #listeners = new Set();
  #running;
  #snapshot = IDLE;

  constructor(intent, client) {
    this.#intent = intent;
    this.#client = client;
    client.ready.then(() => this.#running || this.#rest());
  }

  get = () => this.#snapshot;

  subscribe = (listener) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** In the caller's own task, so that two clicks of one task meet in the client. */
  submit = (request) => {
    const promise = this.#client.submit({ ...request, intent: this.#intent });
    if (promise !== this.#running) this.#follow(promise);
    return promise;
  };

  /** Ends the executed intent: the next `submit` is a new operation. */
  end = () => {
    const ended = this.#client.end(this.#intent);
    if (ended) this.#rest();
    return ended;
  };

  #follow(promise) {
    this.#running = promise;
    this.#show({ state: "sending", busy: true, result: undefined });
    promise.then(
      (result) => this.#settle(promise, () => this.#show({ state: result.outcome, busy: false, result })),
      () => this.#settle(promise, () => this.#rest()),
    );
  }

  #settle(promise, show) {
    if (this.#running !== promise) return;
    this.#running = undefined;
    show();
  }

  /** What is known of the intent while nothing runs: a reload or another tab may have left it open or executed. */
  #rest() {
    const { phase } = this.#client.state(this.#intent);
    this.#show(phase === "none" ? IDLE : { state: STATES[phase], busy: false, result: undefined });
  }

  #show(snapshot) {
    this.#snapshot = Object.freeze(snapshot);
    for (const listener of this.#listeners) listener();
  }
}
