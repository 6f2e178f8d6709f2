// The entry `oncegate/vue`: one intent as a composable. `intent` and `lang` may be refs or getters.

import { computed, shallowRef, toValue, watchEffect } from "vue";
import { idle, watch, wordsOf } from "./pages/watched.js";

export function useOncegate(intent, { client, lang } = {}) {
  const snapshot = shallowRef(idle());
  const shown = () => watch(toValue(intent), client);
  // A server renders what is known before anything has happened, and makes no client.
  if (typeof document !== "undefined") {
    watchEffect(
      (onCleanup) => {
        const { get, subscribe } = shown();
        snapshot.value = get();
        onCleanup(subscribe(() => (snapshot.value = get())));
      },
      { flush: "sync" },
    );
  }
  return {
    state: computed(() => snapshot.value.state),
    busy: computed(() => snapshot.value.busy),
    result: computed(() => snapshot.value.result),
    messages: computed(() => wordsOf(snapshot.value, toValue(lang))),
    submit: (request) => shown().submit(request),
    end: () => shown().end(),
  };
}
