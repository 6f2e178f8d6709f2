// What a form is for. A form that says so keeps its intent for good: only the application ends it. One that
// does not is named by its page and its target.
//
// Invariant: an intent that was made here is ended only if it was executed before this page was opened, and
// the page was opened anew: not by a reload, not by Back, which both may only repeat what was done.

import { submittersOf, targetOf } from "./form-request.js";

const seen = new Set();

export function intentOf(form, submitter, { intent }) {
  const named = typeof intent === "function" ? intent(form, submitter) : intent;
  return named || form.getAttribute("data-oncegate") || derivedIntent(form, submitter);
}

function derivedIntent(form, submitter) {
  const { pathname, search } = location;
  const name = form.getAttribute("id") || form.getAttribute("name") || [...document.forms].indexOf(form);
  return `form ${name} of ${pathname}${search} to ${targetOf(form, submitter).url}`;
}

/** A customer who comes to the form anew may send the same again. */
export function beginVisit(form, client) {
  const isAnew = performance.getEntriesByType("navigation")[0]?.type === "navigate";
  for (const submitter of [null, ...submittersOf(form)]) {
    const intent = derivedIntent(form, submitter);
    if (seen.has(intent)) continue;
    seen.add(intent);
    if (isAnew && client.state(intent).phase === "executed") client.end(intent);
  }
}

/** A form that is emptied begins something new. */
export async function endDerived(form, client) {
  await client.ready;
  for (const submitter of [null, ...submittersOf(form)]) client.end(derivedIntent(form, submitter));
}
