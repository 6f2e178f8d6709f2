// A monotonic clock that stands still while the browser has frozen the page (back/forward cache,
// a tab put to sleep). Without it, a customer who comes back after the deadline would be told
// "unknown" although one more send would bring the answer.

let frozenMs = 0;
let frozenAt;
const hidden = new Set();
const shown = new Set();

export function now() {
  return (frozenAt ?? performance.now()) - frozenMs;
}

/** Calls `listener` once when the page is left. */
export function onHide(listener) {
  hidden.add(listener);
}

/** What is done need not be done when the page is left. Where there is no page, nothing else forgets it. */
export function offHide(listener) {
  hidden.delete(listener);
}

/** Calls `listener` whenever the page comes back from the back/forward cache. */
export function onReturn(listener) {
  shown.add(listener);
}

function freeze() {
  frozenAt ??= performance.now();
}

function thaw() {
  if (frozenAt !== undefined) frozenMs += performance.now() - frozenAt;
  frozenAt = undefined;
}

function leave({ persisted }) {
  for (const listener of hidden) listener();
  hidden.clear();
  if (persisted) freeze();
}

function comeBack({ persisted }) {
  thaw();
  if (persisted) for (const listener of shown) listener();
}

let started = false;

/** Begins to watch the page; call it where there is one. */
export function start() {
  if (started) return;
  started = true;
  addEventListener("pagehide", leave);
  addEventListener("pageshow", comeBack);
  document.addEventListener("freeze", freeze);
  document.addEventListener("resume", thaw);
}
