// A form as the browser would send it: where to, how, and with which entries. Attributes are read by name,
// because a field called "action" or "method" hides the form's property.

const MULTIPART = "multipart/form-data";

/** What a browser asks for when it sends a form; services choose between a page and JSON by it. */
const ACCEPT = "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8";

/** Where the form goes if `submitter` sends it. */
export function targetOf(form, submitter) {
  const attribute = (name) => submitter?.getAttribute(`form${name}`) ?? form.getAttribute(name) ?? "";
  return {
    method: attribute("method").toLowerCase(),
    url: new URL(attribute("action") || document.URL, document.baseURI).href,
    enctype: attribute("enctype").toLowerCase(),
  };
}

/** The request that the form stands for now, the submitter's own value and files included. */
export function requestOf(form, submitter, { headers, ignore = namesIn(form.getAttribute("data-oncegate-ignore")) }) {
  const { url, enctype } = targetOf(form, submitter);
  const entries = new FormData(form, submitter);
  const all = new Headers(headers);
  if (!all.has("accept")) all.set("accept", ACCEPT);
  if (enctype === "text/plain") all.set("content-type", "text/plain;charset=UTF-8");
  return { url, method: "POST", headers: all, body: bodyOf(entries, enctype), ignore };
}

/** Every button that can send the form, also those outside of it. */
export function submittersOf(form) {
  const elements = Reflect.get(HTMLFormElement.prototype, "elements", form);
  return [...elements].filter(({ type }) => type === "submit");
}

function bodyOf(entries, enctype) {
  if (enctype === MULTIPART) return entries;
  const texts = Array.from(entries, ([name, value]) => [lines(name), lines(typeof value === "string" ? value : value.name)]);
  if (enctype === "text/plain") return texts.map(([name, value]) => `${name}=${value}\r\n`).join("");
  return new URLSearchParams(texts);
}

/** Forms send line ends as CRLF. */
function lines(text) {
  return text.replace(/\r\n?|\n/g, "\r\n");
}

function namesIn(text) {
  return text?.split(/\s+/).filter(Boolean) ?? [];
}
