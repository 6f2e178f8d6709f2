// The entry `oncegate/panel`: `<oncegate-panel>` shows, as it happens, what the client does: for developers,
// and for support at a customer's side.
//
// Invariant: what is shown are the client's own events; nothing is markup, and nothing is sent.

import { STYLE } from "./pages/panel-style.js";
import { wordsOf } from "./pages/panel-words.js";
import { sharedClient } from "./pages/shared.js";

const MOST_INTENTS = 30;
const MOST_EVENTS = 100;

// Imported on a server, there are no elements.
const Base = globalThis.HTMLElement ?? class {};
let sheet;

export class OncegatePanel extends Base {
  static observedAttributes = ["lang"];
  #client;
  #shown = new Map();
  #list;
  #head;
  #listener;

  /** The client that is shown; the page's shared one unless another is set. */
  get client() {
    return (this.#client ??= sharedClient());
  }

  set client(client) {
    this.#stop();
    this.#client = client;
    if (this.isConnected) this.#start();
  }

  connectedCallback() {
    if (!this.shadowRoot) this.#build();
    this.#start();
  }

  disconnectedCallback() {
    this.#stop();
  }

  attributeChangedCallback() {
    if (this.shadowRoot) this.#draw();
  }

  #build() {
    if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(STYLE);
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.#head = el("header");
    this.#list = el("ul", { class: "intents" });
    root.append(this.#head, this.#list);
  }

  #start() {
    this.#listener = ({ detail }) => this.#add(detail);
    this.client.addEventListener("oncegate", this.#listener);
    this.client.ready.then(() => this.#recall());
    this.#draw();
  }

  #stop() {
    if (this.#listener) this.#client.removeEventListener("oncegate", this.#listener);
    this.#listener = undefined;
  }

  /** What earlier loads of the page have left open. */
  #recall() {
    for (const { intent } of this.client.pending()) {
      if (!this.#shown.has(intent)) this.#shown.set(intent, { intent, events: this.client.log(intent).entries });
    }
    this.#draw();
  }

  #add(event) {
    const name = event.intent ?? event.key;
    const shown = this.#shown.get(name) ?? { intent: event.intent, key: event.key, events: [], isOpen: false };
    shown.events = [...shown.events, event].slice(-MOST_EVENTS);
    // The latest intent is the first.
    this.#shown.delete(name);
    this.#shown.set(name, shown);
    for (const oldest of [...this.#shown.keys()].slice(0, -MOST_INTENTS)) this.#shown.delete(oldest);
    this.#draw();
  }

  #words() {
    return wordsOf(this.lang || this.closest("[lang]")?.lang || "en");
  }

  #draw() {
    const words = this.#words();
    this.#head.replaceChildren(el("h2", {}, words.title), el("p", {}, words.intents(this.#shown.size)));
    const items = [...this.#shown].reverse().map(([name, shown]) => this.#item(name, shown, words));
    const focused = this.shadowRoot.activeElement?.closest("details")?.dataset.intent;
    this.#list.replaceChildren(...(items.length > 0 ? items : [el("li", { class: "empty" }, words.empty)]));
    if (focused) this.#list.querySelector(`[data-intent="${CSS.escape(focused)}"] summary`)?.focus();
  }

  #item(name, shown, words) {
    const { intent, events } = shown;
    const state = stateOf(events);
    const line = intent === undefined ? "" : this.client.log(intent).line;
    const summary = el("summary", {},
      el("span", { class: "dot" }),
      el("span", { class: "intent" }, intent ?? words.noIntent),
      el("span", { class: "state" }, words.state[state]),
      el("p", { class: "line" }, line));
    const details = el("details", { "data-state": state, "data-intent": name }, summary, timeline(events, words), this.#foot(line, events, words));
    details.open = shown.isOpen;
    details.addEventListener("toggle", () => (shown.isOpen = details.open));
    return el("li", {}, details);
  }

  #foot(line, events, words) {
    const copy = el("button", { type: "button" }, words.copy);
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText([line, ...events.map((event) => JSON.stringify(event))].join("\n"));
      copy.textContent = words.copied;
    });
    return el("footer", {}, el("code", {}, events.at(-1)?.key ?? ""), copy);
  }
}

function timeline(events, words) {
  const begun = events[0]?.at;
  const row = (event) =>
    el("li", { "data-type": event.type }, el("time", {}, `+${((event.at - begun) / 1000).toFixed(2)}`), el("span", {}, words.type[event.type]?.(event) ?? event.type));
  return el("ol", { class: "events" }, ...events.map(row));
}

/** The last settlement counts, unless something has begun since. */
function stateOf(events) {
  const last = events.findLast(({ type }) => type === "settled" || type === "send" || type === "lookup" || type === "cancel");
  if (!last) return "idle";
  return last.type === "settled" ? last.outcome : "running";
}

function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

if (globalThis.customElements && !customElements.get("oncegate-panel")) customElements.define("oncegate-panel", OncegatePanel);
