import type { Oncegate, Request, Result } from "oncegate";
import type { FormOptions } from "oncegate/form";

/**
 * One intent as a store: `$checkout.state`, and `checkout.submit`, which may be called from an event
 * handler as often as the customer clicks. All components of a page that use an intent share its state,
 * and what was begun goes on when its component is gone.
 */
export function useOncegate(intent: string, options?: IntentOptions): Intent;

/** An action: `<form use:oncegate={{ intent: "cart-42" }}>` is bound by `bindForm` of `oncegate/form`. */
export function oncegate(form: HTMLFormElement, options?: FormOptions): { destroy: () => void };

export interface IntentOptions {
  /** @defaultValue one client for all forms, hooks and adapters of the page */
  client?: Oncegate;
  /**
   * The language of `messages`.
   * @defaultValue "en"
   */
  lang?: string;
}

export interface Intent {
  subscribe(run: (snapshot: Snapshot) => void): () => void;
  /** As `submit` of the client, for this intent. */
  submit(request: Omit<Request, "intent">): Promise<Result>;
  /** Ends the executed intent, so that the next `submit` is a new operation. */
  end(): boolean;
}

export interface Snapshot {
  /** `unknown` and `done` may come from an earlier load of the page; then there is no `result`. */
  state: "idle" | "sending" | Result["outcome"];
  /** It is being sent. For `aria-disabled` and a spinner; nothing depends on it. */
  busy: boolean;
  /** The last result of this page, unless it is being sent again. */
  result: Result | undefined;
  /** What to tell the customer now; `null` before anything has happened. */
  messages: { title: string; text: string } | null;
}
