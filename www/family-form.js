/**
 * A form without code: its attributes are all that `oncegate/auto` needs. The form itself stands in family.html; this file
 * presses its button and shows what came of it.
 *
 * Invariant: nothing here takes part in sending. Without this file the form orders just the same, once.
 */

import { byId } from "./dom.js";
import { operation, orders } from "./witness.js";

const PRESSES = 5;
const TARGET = "/lab/orders";

export const form = { name: "form", guide: { en: "docs/sdk/guide.md", zh: "docs/sdk/guide.zh-CN.md" }, stage: byId("plain-form"), steps: { five }, start };

let presses = 0;

/** The visitor presses it, or the button below does; either way the SDK tells how it ended. */
function start(run) {
  const { stage } = form;
  stage.addEventListener("submit", () => { presses += 1; }, true);
  stage.addEventListener("reset", () => { presses = 0; });
  stage.addEventListener("oncegate:progress", () => run(ended));
}

/** As a hand does that gets no answer. The browser sends nothing from a form that is not filled in, so nothing would come of it. */
async function five(tell) {
  if (!form.stage.reportValidity()) return { holds: false, otherwise: "invalid" };
  const submitted = ended(tell);
  for (let press = 0; press < PRESSES; press += 1) byId("plain-order").click();
  return submitted;
}

async function ended(tell) {
  const result = await new Promise((resolve) => form.stage.addEventListener("oncegate:result", ({ detail }) => resolve(detail), { once: true }));
  if (result.outcome !== "done") throw new Error(result.problem?.detail ?? result.reason);
  const { order } = await result.response.json();
  const [gate, booked] = await Promise.all([operation(order.request_id, { path: TARGET }), orders(order.request_id)]);
  tell([["page", "presses", presses], ["gate", "state", gate?.state], ["gate", "attempts", gate?.attempts], ["shop", "orders", booked?.length]]);
  return { holds: gate?.attempts === 1 && booked?.length === 1, say: "once", values: { presses } };
}
