// What a browser does with the answer to a form: it goes where a redirect leads, and shows a page.

/**
 * Follows the answer, if it leads anywhere: `"away"` (the browser is leaving this page), `"shown"` (the
 * answer is the page now), or `undefined` (an answer for programs, such as JSON, or none).
 */
export async function follow(response) {
  if (response?.redirected) {
    location.assign(response.url);
    return "away";
  }
  if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(response?.headers.get("content-type") ?? "")) return undefined;
  show(new DOMParser().parseFromString(await response.text(), "text/html"));
  return "shown";
}

/**
 * Puts the answer's document in the place of this one; the address stays, so that a reload sends nothing.
 * Files of scripts that this page has run already stay as they are: they are still at work.
 */
function show({ documentElement }) {
  const ran = new Set(Array.from(document.scripts, ({ src }) => src).filter(Boolean));
  document.documentElement.replaceWith(document.adoptNode(documentElement));
  for (const script of [...document.scripts]) if (!ran.has(script.src)) revive(script);
  scrollTo(0, 0);
  document.querySelector("[autofocus], [aria-invalid='true']")?.focus();
}

/** A parsed script does not run; a copy that is made here does. */
function revive(script) {
  const copy = document.createElement("script");
  for (const { name, value } of script.attributes) copy.setAttribute(name, value);
  copy.async = script.hasAttribute("async");
  copy.textContent = script.textContent;
  script.replaceWith(copy);
}
