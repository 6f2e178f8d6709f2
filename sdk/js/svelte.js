// The entry `oncegate/svelte`: one intent as a store, and forms as an action. Both are contracts of Svelte
// that need none of its code, so that they work with every version.

import { bindForm } from "oncegate/form";
import { idle, watch, wordsOf } from "./pages/watched.js";

export function useOncegate(intent, { client, lang } = {}) {
  const whole = (snapshot) => ({ ...snapshot, messages: wordsOf(snapshot, lang) });
  return {
    subscribe(run) {
      // A server renders what is known before anything has happened, and makes no client.
      if (typeof document === "undefined") return (run(whole(idle())), () => {});
      const { get, subscribe } = watch(intent, client);
      run(whole(get()));
      return subscribe(() => run(whole(get())));
    },
    submit: (request) => watch(intent, client).submit(request),
    end: () => watch(intent, client).end(),
  };
}

/** `<form use:oncegate={{ intent: "cart-42" }}>` */
export function oncegate(form, options) {
  return { destroy: bindForm(form, options) };
}
