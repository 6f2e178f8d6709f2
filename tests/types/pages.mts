// The entries for forms, pages and frameworks, used as an application uses them. Compiled, never run.

import axios from "axios";
import ky from "ky";
import { createOncegate } from "oncegate";
import "oncegate/auto";
import { installOncegate } from "oncegate/axios";
import { OncegateForm } from "oncegate/element";
import { createFetch, fetch, NoResponseError } from "oncegate/fetch";
import { bindForm } from "oncegate/form";
import { oncegateOptions } from "oncegate/ky";
import { createLocks, LockError } from "oncegate/lock";
import { OncegatePanel } from "oncegate/panel";
import { useOncegate as useReact } from "oncegate/react";
import { TokenError, tokens } from "oncegate/tokens";
import { oncegate as action, useOncegate as useSvelte } from "oncegate/svelte";
import { useOncegate as useVue } from "oncegate/vue";
import { ref } from "vue";

const client = createOncegate();
const form = document.querySelector("form")!;
const unbind: () => void = bindForm(form, { client, intent: (form, submitter) => form.id + submitter?.id, messages: true, ignore: ["csrf"] });
form.addEventListener("oncegate:result", (event) => {
  event.preventDefault();
  event.detail.outcome satisfies "done" | "failed" | "unknown";
});
form.addEventListener("oncegate:progress", ({ detail }) => detail.send satisfies number);
// @ts-expect-error the option is called messages
bindForm(form, { message: true });

bindForm(form, { token: { route: "orders" } })();
bindForm(form, { token: true })();
const stop: () => void = tokens(client).ahead({ intent: "cart-1", url: "/orders", route: "orders" });

export async function orderWithToken(): Promise<number | undefined> {
  const result = await client.submit({ intent: "cart-1", url: "/orders", token: tokens(client) });
  stop();
  return result.outcome === "unknown" && result.reason === "token_missing" && result.error instanceof TokenError ? result.error.status : undefined;
}

export async function order(): Promise<number> {
  try {
    return (await fetch("/orders", { method: "POST", body: { mug: 1 }, intent: "cart-1" })).status;
  } catch (error) {
    if (error instanceof NoResponseError && error.result.outcome === "unknown") await error.result.lookup();
    return 0;
  }
}
window.fetch = createFetch({ client });

const uninstall: () => void = installOncegate(axios.create(), { client });
axios.post("/orders", {}, { intent: "cart-1" });
ky.extend(oncegateOptions({ client })).post("/orders", { json: {}, intent: "cart-1" });

const react = useReact("cart-1", { client, lang: "zh" });
react.submit({ url: "/orders", body: { mug: 1 } });
react.messages?.title satisfies string | undefined;
// @ts-expect-error the intent is the hook's
react.submit({ url: "/orders", intent: "cart-2" });
const vue = useVue(ref("cart-1"));
vue.busy.value satisfies boolean;
useSvelte("cart-1").subscribe(({ state }) => state satisfies string);
action(form, { intent: "cart-1" }).destroy();

const element: OncegateForm = document.createElement("oncegate-form");
const panel: OncegatePanel = document.createElement("oncegate-panel");
panel.client = element.client = client;
export const clean = [unbind, uninstall];

export async function settle(): Promise<number> {
  const locks = createLocks({ gate: "https://shop.example", secret: "s" });
  // @ts-expect-error the option is called ttlMs
  locks.lock("settlement", { ttl: 1 });
  try {
    const held = await locks.lock("settlement", { ttlMs: 30_000, waitMs: 60_000, signal: AbortSignal.timeout(90_000) });
    held.lost satisfies AbortSignal;
    await held.release();
    return held.fence;
  } catch (error) {
    return error instanceof LockError && error.code === "lock_busy" ? 0 : -1;
  }
}
