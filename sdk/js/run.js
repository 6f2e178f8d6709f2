// The course of one job: asks the engine what to do, does it, and reports what came of it.
//
// Invariant: what the engine wants stored is stored before it is acted upon, in the same task. Every act ends by its own
// timer at the latest, whatever `fetch` does.

import { begin } from "./call.js";
import { now } from "./clock.js";
import { engine } from "./engine.js";
import { toCall } from "./job.js";
import { bytesOfParts } from "./payload.js";
import { drawHex } from "./random.js";

/** The longest time that a timer takes; the engine asks again if it was too short. */
const LONGEST_MS = 0x7fffffff;

/** What is known of servers, for the life of the page. */
const origins = new Map();

export class Run {
  #job;
  #store;
  #emit;
  #origin;
  #interrupt;
  #wanted;
  #begun = false;
  #storageMissing = false;
  #waitsUntilMs;
  #met = {};
  #last = {};
  #digest;

  constructor(job, store, emit) {
    this.#job = job;
    this.#store = store;
    this.#emit = emit;
    if (!origins.has(job.origin)) origins.set(job.origin, { budget: 0, proven: false });
    this.#origin = origins.get(job.origin);
  }

  /** Ends the act that is under way: `aborted`, `cancel`, or `failed` for a call to which no answer will come. */
  interrupt(event) {
    if (!this.#begun && event === "cancel") this.#job.wish = "cancel";
    // It may come between two acts, from a listener of the page's.
    if (event !== "failed") this.#wanted = event;
    this.#interrupt?.(event);
  }

  /** What nobody else has to wait for, so that a lock can be asked for meanwhile. */
  prepare() {
    this.#digest ??= this.#load();
    this.#digest.catch(() => {}); // Whoever goes on hears of it.
  }

  /** Runs the job to its result: what the engine says at last, and what came with the last answer. */
  async go() {
    this.prepare();
    const job = this.#job;
    const digest = await this.#digest;
    const { phase, key, sends } = engine().current(job.secret, job.intent ?? "", this.#stored());
    // A token is there before anything is recorded.
    const error = await job.token?.prepare(job, phase, key, sends);
    if (job.signal?.aborted) return { key, sends, outcome: "unknown", reason: "aborted" };
    if (error) return { key, sends, outcome: "unknown", reason: "token_missing", error };
    if (phase === "open" && job.wish === "submit") this.#emit("resumed", { key, sends });
    this.#begun = true;
    this.#wanted = undefined;
    return this.#follow(digest);
  }

  /** Reads the payload; what comes back tells it from others. */
  async #load() {
    const job = this.#job;
    job.secret ??= job.intent === undefined ? drawHex() : this.#store.secret();
    await job.load();
    return job.parts.length > 0 ? engine().digest(job.secret, await bytesOfParts(job.parts)) : "";
  }

  async #follow(digest) {
    const { secret, retryUnproven } = this.#job;
    const proven = retryUnproven || this.#origin.proven;
    const order = { ...this.#job, digest, proven, seed: Math.random() * 2 ** 52 };
    let step = this.#keep(engine().begin(order, this.#moment({}), secret));
    const { flow } = step;
    while (step.act !== "finish") {
      const said = step.act === "wait" ? await this.#wait(step) : await this.#call(step);
      said.unnamed = this.#isUnnamed(said);
      step = this.#keep(engine().next(flow, this.#moment(said)));
    }
    return { ...this.#last, ...step, operation: this.#met.key === step.key ? this.#met.operation : undefined };
  }

  #stored() {
    const { intent, kept } = this.#job;
    return intent === undefined ? kept : this.#store.record(intent);
  }

  #moment(said) {
    return { ...said, now: now(), stored: this.#stored(), budget: this.#origin.budget };
  }

  #keep(step) {
    const { intent } = this.#job;
    this.#origin.budget = step.budget;
    if (step.write && intent === undefined) this.#job.kept = step.write;
    else if (step.write && !this.#store.write(intent, step.write) && !this.#storageMissing) {
      this.#storageMissing = true;
      this.#emit("storage-missing", step);
    }
    return step;
  }

  async #wait(step) {
    const waitMs = Math.max(0, Math.ceil(step.untilMs - now()));
    // A timer may fire a moment early; then the rest is waited for, and nobody has to hear of it.
    if (step.untilMs !== this.#waitsUntilMs) this.#emit("wait", step, { waitMs, offline: step.online || undefined });
    this.#waitsUntilMs = step.untilMs;
    let online;
    const network = step.online && new Promise((resolve) => (online = () => resolve({ event: "online" })));
    if (network) globalThis.addEventListener?.("online", online);
    const said = await this.#first(waitMs, "over", network, ["aborted", "cancel"]);
    if (network) globalThis.removeEventListener?.("online", online);
    return said;
  }

  async #call(step) {
    this.#emit(step.act, step);
    const isSend = step.act === "send";
    // A page gets its answer unread; what a look-up or a cancellation says is for us.
    const { answer, abort } = begin(toCall(this.#job, step), isSend ? "application/problem+json" : "application/");
    const said = await this.#first(step.timeoutMs, "timeout", answer, ["aborted", "cancel", "failed"]);
    if (said.event === "answered") return isSend ? this.#hear(step, said) : this.#learn(step, said);
    abort();
    if (said.event !== "aborted" && said.event !== "cancel") {
      this.#last.error = said.error;
      this.#emit("network-error", step, { reason: said.event });
    }
    return said;
  }

  /** What comes first: `something`, the end of the time, or an interruption of these kinds. */
  #first(ms, over, something, kinds) {
    return new Promise((resolve) => {
      const hush = alarm(Math.min(ms, LONGEST_MS), () => interrupt(over));
      let isOver = false;
      const end = (said) => {
        isOver = true;
        hush();
        resolve(said);
      };
      const interrupt = (event) => {
        if (isOver || (event !== over && !kinds.includes(event))) return;
        if (event === this.#wanted) this.#wanted = undefined;
        end({ event });
      };
      this.#interrupt = interrupt;
      if (something) something.then(end);
      if (this.#wanted) interrupt(this.#wanted);
    });
  }

  #hear(step, said) {
    const { problem, response, status, http, operation } = said;
    this.#met = { key: step.key, operation };
    this.#last = { problem, response };
    const replayed = status === undefined ? undefined : status === "replayed";
    this.#emit("answer", step, { to: "send", status: http, idempotencyStatus: status, replayed });
    this.#job.token?.hear(this.#job, step, problem);
    this.#prove(said);
    return said;
  }

  /**
   * What a look-up or a cancellation says. Only an answer about the operation that was met counts: on a route that takes its
   * keys from somewhere else, the header names another one.
   */
  #learn(step, said) {
    const { problem, http, operation } = said;
    const foreign = this.#met.key === step.key && this.#met.operation !== operation;
    this.#last.error = undefined;
    this.#last.asked = true;
    this.#last.state = foreign || this.#isUnnamed(said) ? undefined : problem?.state;
    if (this.#job.wish !== "submit" && problem?.code) this.#last.problem = problem;
    this.#emit("answer", step, { to: step.act, status: http, state: this.#last.state });
    this.#prove(said);
    return { ...said, foreign };
  }

  /** The route makes its keys itself, and the page did not say of what. */
  #isUnnamed({ keyKind }) {
    return keyKind === "generated" && this.#job.generatedKey === undefined;
  }

  #prove({ status, lifetime, problem }) {
    this.#origin.proven ||= status !== undefined || lifetime !== undefined || typeof problem?.safe_new_key === "boolean";
  }
}

/**
 * Rings after so many milliseconds, unless the function that it gives is called before. A timer that is cleared leaves what
 * it was to call in the engine for ever: this one runs out, with nothing left to hold.
 */
function alarm(ms, ring) {
  const timer = engine().after(ms, () => ring?.());
  return () => {
    ring = undefined;
    timer.unref?.();
  };
}
