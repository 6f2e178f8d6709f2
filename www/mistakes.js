/**
 * The human mistakes, made for the visitor: they press the real Pay button and reload the real page.
 *
 * Invariant: nothing here knows the SDK; a mistake can do only what a hand can do.
 */

import { byId } from "./dom.js";

const SLOW_FAULT = "slow";
const RELOAD_AFTER_MS = 1000;

export function createMistakes({ pay, faults, beforeEach }) {
  const clicks = (count, gapMs) => {
    beforeEach();
    for (let n = 0; n < count; n += 1) setTimeout(() => click(pay, n + 1), n * gapMs);
  };

  byId("mistakes").disabled = false;
  byId("mistake-double").addEventListener("click", () => clicks(2, 80));
  byId("mistake-ten").addEventListener("click", () => clicks(10, 20));
  byId("mistake-reload").addEventListener("click", async () => {
    beforeEach();
    if (faults.available) await faults.arm(SLOW_FAULT);
    click(pay, 1);
    setTimeout(() => location.reload(), RELOAD_AFTER_MS);
  });
  byId("mistake-tab").addEventListener("click", () => window.open(location.href, "_blank", "noopener"));
}

/** A click as the browser reports it: `detail` counts the clicks that follow one another quickly. */
function click(button, detail) {
  button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail }));
}
