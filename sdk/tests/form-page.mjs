// What the tests of `oncegate/form` share: a page with one form, bound, and what happens to it.

import { inOnePage, until } from "./pages.mjs";

export const FORM = `<form id="order" action="/orders" method="post">
  <label>Mugs <input name="mugs" value="2" required></label>
  <button name="pay" value="now"><b>Pay</b> 12 €</button>
</form><p id="told"></p>`;

const PAGE = `
  import { bindForm } from "oncegate/form";
  import { createOncegate } from "oncegate";
  window.form = document.querySelector("form");
  window.client = createOncegate({ backoff: { baseMs: 5, capMs: 10 }, maxAttempts: 3, quietMs: 0 });
  window.results = [];
  addEventListener("oncegate:result", (event) => {
    if (window.takeOver) event.preventDefault();
    results.push({ outcome: event.detail.outcome, changed: event.detail.changed, form: event.target.id });
  });
  window.bind = (options) => (window.unbind = bindForm(form, { client, ...options }));
  if (!window.isUnbound) bind(window.options);
  window.ready = true;`;

export let shop;
export let browser;
export let page;

/** Every test of the file begins with this page anew. */
export const inFormPage = () => inOnePage(PAGE, (met) => ({ shop, browser, page } = met), FORM);

export const button = "form button";
export const arrived = (count = 1) => until(() => shop.arrivals.length >= count);
export const settled = (count = 1) => page.waitForFunction((count) => results.length >= count, count);
export const isFree = () => page.waitForFunction(() => !form.hasAttribute("aria-busy"));
