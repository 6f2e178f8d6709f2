// A shop whose form is bound without code: by its attribute, or, with `?element`, by the element in a shadow tree. `?native` leaves it to the
// browser, `?panel` shows what happens.

const asked = new URLSearchParams(location.search);
const form = document.getElementById("order");
const result = document.getElementById("result");

addEventListener("oncegate:result", ({ detail }) => (result.dataset.outcome = detail.outcome));
addEventListener("pageshow", ({ persisted }) => (window.wasKept = persisted));

if (asked.has("element")) {
  const { OncegateForm } = await import("/oncegate/element.js");
  const element = Object.assign(new OncegateForm(), { intent: "cart-1" });
  form.removeAttribute("data-oncegate");
  form.before(element);
  element.attachShadow({ mode: "open" }).append(document.createElement("slot"));
  element.append(form);
}
if (asked.has("panel")) {
  window.violated = [];
  document.addEventListener("securitypolicyviolation", ({ violatedDirective: rule }) => rule.startsWith("style") && violated.push(rule));
  await import("/oncegate/panel.js");
  form.after(document.createElement("oncegate-panel"));
}
if (!asked.has("native")) await import("/oncegate/auto.js");

/** The page's client, which its forms share. */
window.og = globalThis[Symbol.for("oncegate.client")];
await window.og?.ready;
window.isReady = true;
