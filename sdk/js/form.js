// The entry `oncegate/form`: a form of the page that is sent once, however often it is sent.
//
// Invariant: from the first submit event to its result the form is busy, without losing the keyboard focus
// and without `disabled`; whatever ends that (a result, an error, the back/forward cache, unbinding) gives
// the form back as it was.

import { messages } from "oncegate";
import { tokens } from "oncegate/tokens";
import { follow } from "./pages/follow.js";
import { beginVisit, endDerived, intentOf } from "./pages/form-intent.js";
import { requestOf, submittersOf, targetOf } from "./pages/form-request.js";
import { relabel } from "./pages/label.js";
import { addRegion, askedRegion, say } from "./pages/region.js";
import { sharedClient } from "./pages/shared.js";

const BINDING = Symbol.for("oncegate.form");
const LABELS = { en: "Sending …", zh: "正在提交……" };

/** How long the form stays busy while the browser leaves for a redirect, which may turn out to be a download. */
const LEAVING_MS = 10_000;

export function bindForm(form, options) {
  form[BINDING] ??= new Binding(form, options);
  return form[BINDING].unbind;
}

class Binding {
  #form;
  #options;
  #client;
  #region;
  #running;
  #isFollowing = false;
  #leaving;
  #token;
  #undo = [];
  #controller = new AbortController();

  constructor(form, options = {}) {
    this.#form = form;
    this.#options = options;
    this.#client = options.client ?? sharedClient();
    this.#region = askedRegion(form, options.messages);
    this.#token = this.#tokenOf(form);
    this.#client.ready.then(() => this.#begin());
    const { signal } = this.#controller;
    form.addEventListener("submit", (event) => this.#submit(event), { signal });
    form.addEventListener("reset", (event) => event.defaultPrevented || endDerived(form, this.#client), { signal });
    addEventListener("pageshow", ({ persisted }) => persisted && this.#isFollowing && this.#release(), { signal });
    this.#client.addEventListener("oncegate", ({ detail }) => this.#progress(detail), { signal });
  }

  unbind = () => {
    this.#controller.abort();
    this.#running = undefined;
    this.#release();
    delete this.#form[BINDING];
  };

  /** What an earlier load of the page has left open is asked about: its customer waits to hear of it. */
  async #begin() {
    if (this.#controller.signal.aborted) return;
    beginVisit(this.#form, this.#client);
    const question = { intent: intentOf(this.#form, null, this.#options), url: targetOf(this.#form, null).url, method: "POST", headers: this.#options.headers, ...this.#token };
    if (this.#token) this.#controller.signal.addEventListener("abort", this.#token.token.ahead(question));
    if (this.#running || this.#client.state(question.intent).phase !== "open") return;
    if (this.#region) this.#say("checking", "checking");
    const result = await this.#client.lookup(question);
    if (!this.#running && !this.#controller.signal.aborted) this.#settle(result);
  }

  #submit(event) {
    const { submitter } = event;
    if (event.defaultPrevented || targetOf(this.#form, submitter).method !== "post") return;
    event.preventDefault();
    if (this.#isFollowing) return;
    const intent = this.#running?.intent ?? intentOf(this.#form, submitter, this.#options);
    const request = { ...requestOf(this.#form, submitter, this.#options), intent, ...this.#token };
    const begins = !this.#running;
    const running = begins ? (this.#running = { intent }) : this.#running;
    const promise = this.#client.submit(request);
    if (!begins) return;
    this.#occupy(submitter);
    promise.then(proven).then(
      ({ result, answer }) => this.#running === running && this.#settle(result, answer),
      (error) => this.#fail(running, error),
    );
  }

  /** What a request says on a route that takes tokens: by option, or by an attribute whose value names the route. */
  #tokenOf(form) {
    const asked = this.#options.token ?? form.getAttribute("data-oncegate-token") ?? false;
    const route = (asked.route ?? (asked === true ? "" : asked)) || undefined;
    return asked === false ? undefined : { token: tokens(this.#client), route };
  }

  #progress(detail) {
    if (!this.#running || detail.intent !== this.#running.intent) return;
    this.#tell("oncegate:progress", detail);
  }

  async #settle(result, answer = result.response) {
    this.#running = undefined;
    const isOurs = this.#tell("oncegate:result", result, true);
    const where = isOurs && isSettled(result) ? await this.#follow(answer) : undefined;
    if (where === undefined && (isOurs || this.#region)) this.#say(result.outcome, result);
    if (where !== "away") this.#release();
  }

  /** Until it is clear where the answer leads, nobody can send again. */
  async #follow(response) {
    this.#isFollowing = true;
    this.#leaving = setTimeout(() => this.#release(), LEAVING_MS);
    return follow(response);
  }

  /** A mistake in the request, which its author must see; nothing was sent. */
  #fail(running, error) {
    if (this.#running === running) this.#running = undefined;
    this.#release();
    throw error;
  }

  #occupy(submitter) {
    const buttons = submittersOf(this.#form);
    this.#set(this.#form, "aria-busy", "true");
    for (const button of buttons) this.#set(button, "aria-disabled", "true");
    const button = submitter ?? buttons[0];
    const label = this.#labelOf(button);
    if (button && label) this.#undo.push(relabel(button, label));
    if (this.#region) this.#say("pending", "pending");
  }

  #labelOf(button) {
    const name = "data-oncegate-label";
    return this.#options.label ?? button?.getAttribute(name) ?? this.#form.getAttribute(name) ?? LABELS[/^zh\b/i.test(this.#lang()) ? "zh" : "en"];
  }

  #set(element, name, value) {
    const before = element.getAttribute(name);
    element.setAttribute(name, value);
    this.#undo.push(() => (before === null ? element.removeAttribute(name) : element.setAttribute(name, before)));
  }

  #release() {
    clearTimeout(this.#leaving);
    this.#isFollowing = false;
    for (const undo of this.#undo.splice(0)) undo();
  }

  #say(outcome, what) {
    this.#region ??= addRegion(this.#form);
    say(this.#region, outcome, (this.#options.texts ?? messages)(what, this.#lang()));
  }

  #lang() {
    return this.#options.lang ?? this.#form.closest("[lang]")?.getAttribute("lang") ?? "en";
  }

  /** Whether nobody has taken the event over. */
  #tell(type, detail, cancelable = false) {
    return this.#form.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable }));
  }
}

/**
 * A redirect proves nothing by itself: it may lead to a login as well as to a receipt. The browser hides what came with it,
 * so the gate is asked.
 */
async function proven(result) {
  const answer = result.response;
  if (result.outcome !== "unknown" || !answer?.redirected) return { result, answer };
  const told = await result.lookup();
  return { result: told.outcome === "unknown" ? result : told, answer };
}

/** Whether the answer is the last word on what the customer sent. */
function isSettled({ outcome, changed }) {
  return outcome === "failed" || (outcome === "done" && !changed);
}
