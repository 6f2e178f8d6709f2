// The entry `oncegate/auto`: every `<form data-oncegate>` of the page is bound, without code, also one that
// comes later.

import { bindForm } from "oncegate/form";

const SELECTOR = "form[data-oncegate]";
const bound = new Map();

/** Binds what has the attribute, and gives back what has lost it or has left the page. */
function reconcile() {
  for (const [form, unbind] of bound) if (!form.isConnected || !form.matches(SELECTOR)) bound.delete(form) && unbind();
  for (const form of document.querySelectorAll(SELECTOR)) if (!bound.has(form)) bound.set(form, bindForm(form));
}

if (typeof document !== "undefined") {
  new MutationObserver(reconcile).observe(document, { subtree: true, childList: true, attributeFilter: ["data-oncegate"] });
  reconcile();
}
