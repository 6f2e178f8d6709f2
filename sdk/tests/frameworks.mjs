// A pay button in React, Vue and Svelte, each with the real framework: the pages of bindings.test.mjs and of tests/engines. What a page orders
// is `ORDER`; it says `window.ready` when it is drawn.

import { compile } from "svelte/compiler";

import { bundle } from "./pages.mjs";

const CLIENT = `
  import { createOncegate } from "oncegate";
  const client = (window.og = createOncegate({ backoff: { baseMs: 5, capMs: 10 }, quietMs: 0 }));
  const order = { url: "/orders", headers: { "content-type": "application/json" }, body: ORDER };
  window.results = [];
  const keep = ({ outcome }) => results.push(outcome);`;

const REACT = `${CLIENT}
  import { createElement as el, StrictMode, useState } from "react";
  import { createRoot } from "react-dom/client";
  import { useOncegate } from "oncegate/react";
  function Pay() {
    const { submit, end, state, busy, result, messages } = useOncegate("cart-1", { client, lang: document.documentElement.lang });
    return el("div", null,
      el("button", { id: "pay", "aria-disabled": busy, onClick: () => submit(order).then(keep) }, busy ? "Sending" : "Pay"),
      el("button", { id: "end", onClick: end }, "New order"),
      el("output", { "data-state": state, "data-key": result?.key }, messages?.title));
  }
  function App() {
    const [isShown, show] = useState(true);
    return el("main", null, el("button", { id: "toggle", onClick: () => show(!isShown) }, "Toggle"), isShown && el(Pay));
  }
  createRoot(document.querySelector("#app")).render(el(StrictMode, null, el(App)));
  window.ready = true;`;

const VUE = `${CLIENT}
  import { createApp, h, ref } from "vue";
  import { useOncegate } from "oncegate/vue";
  const Pay = {
    setup() {
      const { submit, end, state, busy, result, messages } = useOncegate(() => "cart-1", { client, lang: document.documentElement.lang });
      return () => h("div", [
        h("button", { id: "pay", "aria-disabled": busy.value, onClick: () => submit(order).then(keep) }, busy.value ? "Sending" : "Pay"),
        h("button", { id: "end", onClick: end }, "New order"),
        h("output", { "data-state": state.value, "data-key": result.value?.key }, messages.value?.title),
      ]);
    },
  };
  createApp({
    setup() {
      const isShown = ref(true);
      return () => h("main", [h("button", { id: "toggle", onClick: () => (isShown.value = !isShown.value) }, "Toggle"), isShown.value && h(Pay)]);
    },
  }).mount("#app");
  window.ready = true;`;

const SVELTE = `${CLIENT}
  import { mount } from "svelte";
  import App from "./App.svelte";
  mount(App, { target: document.querySelector("#app"), props: { client, order, keep } });
  window.ready = true;`;

const COMPONENTS = {
  "./App.svelte": `<script>
    import Pay from "./Pay.svelte";
    let props = $props();
    let isShown = $state(true);
  </script>
  <main><button id="toggle" onclick={() => (isShown = !isShown)}>Toggle</button>{#if isShown}<Pay {...props} />{/if}</main>`,
  "./Pay.svelte": `<script>
    import { useOncegate } from "oncegate/svelte";
    let { client, order, keep } = $props();
    const pay = useOncegate("cart-1", { client, lang: document.documentElement.lang });
  </script>
  <div><button id="pay" aria-disabled={$pay.busy} onclick={() => pay.submit(order).then(keep)}>{$pay.busy ? "Sending" : "Pay"}</button>
  <button id="end" onclick={pay.end}>New order</button>
  <output data-state={$pay.state} data-key={$pay.result?.key}>{$pay.messages?.title}</output></div>`,
};

const components = {
  name: "components",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.svelte$/ }, ({ path }) => ({ path, namespace: "component" }));
    onLoad({ filter: /.*/, namespace: "component" }, ({ path }) => ({
      contents: compile(COMPONENTS[path], { generate: "client", filename: path }).js.code,
      resolveDir: import.meta.dirname,
    }));
  },
};

const frameworks = { React: [REACT], Vue: [VUE], Svelte: [SVELTE, [components]] };

export const FRAMEWORKS = Object.keys(frameworks);

/** The script of a framework's page. */
export function pageOf(name, order) {
  const [source, plugins] = frameworks[name];
  return bundle(source, { plugins, define: { ORDER: JSON.stringify(order) } });
}
