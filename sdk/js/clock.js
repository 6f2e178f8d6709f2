// A monotonic clock that stands still while the browser has frozen the page (back/forward cache,
// a tab put to sleep). Without it, a customer who comes back after the deadline would be told
// "unknown" although one more send would bring the answer.

let frozenMs = 0;
let frozenAt;

export function now() {
  return (frozenAt ?? performance.now()) - frozenMs;
}

function freeze() {
  frozenAt ??= performance.now();
}

function thaw() {
  if (frozenAt !== undefined) frozenMs += performance.now() - frozenAt;
  frozenAt = undefined;
}

let started = false;

/** Begins to watch the page; call it where there is one. */
export function start() {
  if (started) return;
  started = true;
  addEventListener("pagehide", ({ persisted }) => persisted && freeze());
  addEventListener("pageshow", thaw);
  document.addEventListener("freeze", freeze);
  document.addEventListener("resume", thaw);
}
