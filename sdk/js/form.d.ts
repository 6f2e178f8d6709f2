import type { Oncegate, OncegateEvent, Result } from "oncegate";

/**
 * Makes the form's submissions once-only: it is sent by the SDK, as the browser would send it (fields,
 * files, the pressed button's name, value, `formaction`, `formenctype`), with one key on every send.
 * Forms that are sent by GET or as a dialog stay with the browser. A form that is bound already keeps its
 * binding.
 *
 * While it is sent, the form is `aria-busy` and its buttons are `aria-disabled`; none is `disabled`, so the
 * focus stays. Then `oncegate:result` is dispatched; also after the form is bound, if an earlier load of the
 * page has left it open and the gate knows more. Unless a listener calls `preventDefault()`, the answer
 * is followed as a browser would: a redirect leads to its page, and a page is shown in the place of this
 * one, under this one's address. What is not settled, and answers that are no pages, are told in words, in
 * a status line of the form.
 *
 * @returns What gives the form back as it was. What has been sent goes on.
 */
export function bindForm(form: HTMLFormElement, options?: FormOptions): () => void;

export interface FormOptions {
  /**
   * What the customer wants by sending the form, such as `"cart-42"`. It is executed once; when it shall
   * be possible again, the application calls `end(intent)`.
   * @defaultValue the form's attribute `data-oncegate`. Without a name, the intent is made from page, form
   * and target: a reload, Back and a second tab repeat it; opening the page anew, or emptying the form
   * (`reset`), begins another. Name what must not happen twice.
   */
  intent?: string | ((form: HTMLFormElement, submitter: HTMLElement | null) => string);
  /** @defaultValue one client for all forms, hooks and adapters of the page */
  client?: Oncegate;
  /**
   * Fields that change from one attempt to the next without making another order (a CSRF token, a captcha).
   * @defaultValue the names in the attribute `data-oncegate-ignore`, separated by spaces
   */
  ignore?: string[];
  /**
   * The route takes one-time tokens and nothing else: they are fetched ahead (`oncegate/tokens`). `route` is the
   * gate's name of it, if its path does not tell.
   * @defaultValue whether there is the attribute `data-oncegate-token`; its value, if it has one, is the route
   */
  token?: boolean | { route: string };
  /** Further headers, such as a CSRF token's. `Accept` is what a browser sends with a form. */
  headers?: HeadersInit;
  /**
   * What the pressed button says while the form is sent; empty: what it always says.
   * @defaultValue the attribute `data-oncegate-label` of the button or of the form; "Sending …" in English,
   * or Chinese
   */
  label?: string;
  /**
   * Where to tell the customer how it stands, from the first click on: an element, its id, or `true` for a
   * status line at the form's end.
   * @defaultValue the attribute `data-oncegate-messages` (an id, or empty). Without it, a status line is
   * added only when there is something to say that nothing else shows.
   */
  messages?: boolean | string | Element;
  /**
   * The words for it.
   * @defaultValue `messages` of `oncegate`, which speak of an order and its payment
   */
  texts?: (outcome: Result | "pending" | "checking", lang: string) => { title: string; text: string };
  /** @defaultValue the `lang` attribute of the form, or of what is around it */
  lang?: string;
}

declare global {
  interface HTMLElementEventMap {
    /** An event of the form's own intent, while it is sent. */
    "oncegate:progress": CustomEvent<OncegateEvent>;
    /** The result. `preventDefault()`: the application shows it. */
    "oncegate:result": CustomEvent<Result>;
  }
}
