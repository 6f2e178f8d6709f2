/**
 * The switches that break the shop: they set the fault queue of an origin that was started with `--faults`.
 *
 * Invariant: what a switch shows is what the origin holds (GET /faults); the page keeps no opinion of its own.
 */

import { byId, el } from "./dom.js";
import { t } from "./i18n.js";

/** Each arriving order takes the first entry of the queue. Longer than the gate's lease: only then does it try a second time. */
const LONGER_THAN_THE_LEASE_MS = 38_000;
const SCENARIOS = {
  none: [],
  drop_after_commit: ["drop_after_commit"],
  drop_before: ["drop_before"],
  unavailable: ["unavailable"],
  unavailable_after_commit: ["unavailable_after_commit"],
  fail: ["fail"],
  slow: [{ delay_before: 4000 }],
  slow_then_declined: [{ delay_before: LONGER_THAN_THE_LEASE_MS }, "refuse"],
  refuse: ["refuse"],
  storm: ["unavailable", "drop_before", "drop_after_commit"],
};

export function createFaults({ onRestocked }) {
  const set = byId("faults");
  const note = byId("faults-note");
  const restock = byId("restock");
  const inputs = new Map(Object.keys(SCENARIOS).map((name) => [name, radio(name, () => arm(name))]));
  let available = false;

  /** Reads the queue and shows it. */
  async function refresh() {
    try {
      const answer = await fetch("/faults", { cache: "no-store" });
      if (answer.status === 404) return showOff("faultsOff");
      if (!answer.ok) return showOff("faultsUnreachable");
      show(await answer.json());
    } catch {
      showOff("faultsUnreachable");
    }
  }

  async function arm(name) {
    await fetch("/faults", { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(SCENARIOS[name]) }).catch(() => null);
    await refresh();
  }

  function show(queue) {
    setAvailable(true);
    const name = Object.keys(SCENARIOS).find((each) => JSON.stringify(SCENARIOS[each]) === JSON.stringify(queue));
    for (const [each, input] of inputs) input.checked = each === name;
    note.textContent = name ? t("faultsOnce") : t("faultsOther", { count: queue.length });
  }

  function showOff(key) {
    setAvailable(false);
    note.textContent = t(key);
  }

  function setAvailable(value) {
    available = value;
    set.disabled = !value;
    restock.hidden = !value;
  }

  function render() {
    byId("fault-list").replaceChildren(...[...inputs].map(([name, input]) => el("label", { class: "fault" },
      input,
      el("span", { class: "words" }, el("span", { class: "name" }, t(`fault_${name}`)), el("span", { class: "hint" }, t(`fault_${name}_hint`))))));
    return refresh();
  }

  restock.addEventListener("click", async () => {
    await fetch("/shop", { method: "DELETE" }).catch(() => null);
    onRestocked();
  });

  return { arm, refresh, render, get available() { return available; } };
}

function radio(name, choose) {
  return el("input", { type: "radio", name: "fault", value: name, "data-testid": `fault-${name}`, onchange: choose });
}
