/**
 * Small helpers around the DOM.
 *
 * Invariant: data reaches the page as text nodes and attribute values only, never as markup. Nothing here or
 * anywhere in this site assigns `innerHTML`.
 */

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element with the id "${id}"; script and page are of different versions.`);
  return found;
}

/** Makes an element. Attributes that are `null` or `false` are left out; functions become listeners. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A decorative picture from the sprite. */
export function picture(symbol) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "picture");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `art.svg#${symbol}`);
  svg.append(use);
  return svg;
}

/** Says "not now" without `disabled`: a disabled button drops the keyboard focus, and a greyed-out one is no protection anyway. */
export function setUnavailable(button, unavailable) {
  button.setAttribute("aria-disabled", String(unavailable));
}

/** @returns {boolean} whether a click on this button should be ignored */
export function isUnavailable(button) {
  return button.getAttribute("aria-disabled") === "true";
}
