import type { Oncegate } from "oncegate";

/**
 * `<oncegate-form intent="cart-42" messages><form method="post" action="/orders">…</form></oncegate-form>`:
 * the form inside is bound by `bindForm` of `oncegate/form`, with the attributes `intent`, `messages` (empty,
 * or an id), `label`, `ignore` (names, separated by spaces) and `lang`. Its events bubble to this element and
 * out of shadow trees. Importing the entry defines it.
 */
export class OncegateForm extends HTMLElement {
  /** The client that sends; the page's shared one without it. Set it before the element is connected. */
  client: Oncegate | undefined;
  /** What the customer wants; the attribute. Empty: made from page and form. */
  intent: string;
}

declare global {
  interface HTMLElementTagNameMap {
    "oncegate-form": OncegateForm;
  }
}
