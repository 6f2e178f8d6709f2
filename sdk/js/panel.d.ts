import type { Oncegate } from "oncegate";

/**
 * `<oncegate-panel>` lists the intents of a client, the latest first, with the line for support and every
 * event as it happens: sends, answers, waits, outcomes. In English or Chinese, by `lang`. It keeps within its
 * shadow tree and needs nothing of a Content-Security-Policy. Importing the entry defines it.
 */
export class OncegatePanel extends HTMLElement {
  /** The client that is shown; the page's shared one unless another is set. */
  client: Oncegate;
}

declare global {
  interface HTMLElementTagNameMap {
    "oncegate-panel": OncegatePanel;
  }
}
