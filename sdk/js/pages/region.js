// Where a form tells its customer what became of it: a live region, so that it is also read out.

/** A new region needs a moment before assistive technology hears what is put into it. */
const HEARD_AFTER_MS = 50;

/** The region that the attribute asks for: one of the page by its id, or a new one at the end of the form. */
export function askedRegion(form, where = form.getAttribute("data-oncegate-messages")) {
  if (where === null || where === false) return undefined;
  if (where instanceof Element) return live(where);
  const named = typeof where === "string" && where !== "" ? document.getElementById(where) : undefined;
  if (named === null) throw new Error(`oncegate: there is no element with the id "${where}", which data-oncegate-messages names`);
  return named ? live(named) : addRegion(form);
}

/** The region that is made because somebody must be told and nothing else does. */
export function addRegion(form) {
  const region = live(document.createElement("p"));
  region.setAttribute("data-oncegate-region", "");
  form.append(region);
  return region;
}

/** Says title and text; `outcome` is there for style sheets. */
export function say(region, outcome, { title, text }) {
  region.setAttribute("data-outcome", outcome);
  const strong = document.createElement("strong");
  strong.textContent = title;
  setTimeout(() => region.replaceChildren(strong, " ", text), HEARD_AFTER_MS);
}

function live(element) {
  if (!element.hasAttribute("role") && !element.hasAttribute("aria-live")) element.setAttribute("role", "status");
  return element;
}
