// The entry `oncegate/element`: `<oncegate-form>` around a form, for pages that are put together from
// components: its properties and attributes follow the framework, and it works in shadow trees, which
// `oncegate/auto` does not see.

import { bindForm } from "oncegate/form";

// Imported on a server, there are no elements.
const Base = globalThis.HTMLElement ?? class {};

export class OncegateForm extends Base {
  #unbind;
  #observer;
  #bound;

  /** The client that sends; the page's shared one without it. Set it before the element is connected. */
  client;

  get intent() {
    return this.getAttribute("intent") ?? "";
  }

  set intent(value) {
    this.setAttribute("intent", value);
  }

  connectedCallback() {
    this.#observer = new MutationObserver(() => this.#bind());
    this.#observer.observe(this, { childList: true, subtree: true });
    this.#bind();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#release();
  }

  #bind() {
    const form = this.querySelector("form");
    if (form === this.#bound) return;
    this.#release();
    this.#bound = form;
    if (form) this.#unbind = bindForm(form, this.#options());
  }

  /** Read when they are needed, so that a framework may change them at any time. */
  #options() {
    const given = (name) => this.getAttribute(name) ?? undefined;
    return {
      client: this.client,
      intent: () => this.intent,
      messages: this.hasAttribute("messages") ? given("messages") || true : undefined,
      get label() {
        return given("label");
      },
      get lang() {
        return given("lang");
      },
      get ignore() {
        return given("ignore")?.split(/\s+/).filter(Boolean);
      },
    };
  }

  #release() {
    this.#unbind?.();
    this.#unbind = this.#bound = undefined;
  }
}

if (globalThis.customElements && !customElements.get("oncegate-form")) customElements.define("oncegate-form", OncegateForm);
