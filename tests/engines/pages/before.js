// What is broken in this browser, before the shop's own script runs: `?without=locks&storage=blocked`.

const asked = new URLSearchParams(location.search);

if (asked.get("without") === "locks") delete Navigator.prototype.locks;

const refuse = (name) => () => {
  throw new DOMException("not here", name);
};
const broken = {
  // As with cookies switched off: to look at it is enough.
  blocked: () => Object.defineProperty(window, "localStorage", { get: refuse("SecurityError") }),
  full: () => (Storage.prototype.setItem = refuse("QuotaExceededError")),
};
broken[asked.get("storage")]?.();
