// The entry `oncegate/react`: one intent as a hook.

import { useCallback, useSyncExternalStore } from "react";
import { idle, watch, wordsOf } from "./pages/watched.js";

const nowhere = () => () => {};

export function useOncegate(intent, { client, lang } = {}) {
  // A server renders what is known before anything has happened, and makes no client.
  const shown = typeof document === "undefined" ? undefined : watch(intent, client);
  const snapshot = useSyncExternalStore(shown?.subscribe ?? nowhere, shown?.get ?? idle, idle);
  const submit = useCallback((request) => watch(intent, client).submit(request), [intent, client]);
  const end = useCallback(() => watch(intent, client).end(), [intent, client]);
  return { ...snapshot, messages: wordsOf(snapshot, lang), submit, end };
}
