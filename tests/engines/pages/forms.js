// A shop whose form is bound without code: by its attribute, or, with `?element`, by the element in a shadow tree. `?native` leaves it to the
// browser.

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
if (!asked.has("native")) await import("/oncegate/auto.js");

/** The page's client, which its forms share. */
window.og = globalThis[Symbol.for("oncegate.client")];
await window.og?.ready;
window.isReady = true;
