/**
 * The timeline: clicks, sends, what the gate said, what was charged; one event per row, each in its lane.
 *
 * Invariant: a row is added only for something that happened (a click, an event of the SDK) or that the gate or the shop
 * has on record (`witness.js`). Rows are kept for the tab, per cart, so that a reload does not hide what led to it.
 */

import { byId, el } from "./dom.js";
import { money, t } from "./i18n.js";
import { booksOf } from "./witness.js";

const LANES = ["click", "send", "gate", "charge"];
const MOST_ROWS = 200;

export function createStrip({ cart }) {
  const list = byId("strip-rows");
  let entries = load(cart.id);

  function add(lane, kind, facts = {}) {
    const entry = { lane, kind, at: Date.now(), ...facts };
    entries = [...entries, entry].slice(-MOST_ROWS);
    list.append(row(entry, entries[0].at));
    list.scrollTop = list.scrollHeight;
    changed();
  }

  function changeLast(facts) {
    const last = { ...entries.at(-1), ...facts };
    entries = [...entries.slice(0, -1), last];
    list.lastElementChild.replaceWith(row(last, entries[0].at));
    changed();
  }

  function lastClick() {
    const last = entries.at(-1);
    return last?.kind === "click" ? last : null;
  }

  function changed() {
    save(cart.id, entries);
    byId("strip-empty").hidden = entries.length > 0;
    for (const lane of LANES) showCount(lane, counters[lane](entries));
    showEvidence(entries);
  }

  function render() {
    list.replaceChildren(...entries.map((entry) => row(entry, entries[0].at)));
    list.scrollTop = list.scrollHeight;
    changed();
  }

  render();
  return {
    add,
    render,
    /** Clicks that follow one another share a row. */
    click() {
      const last = lastClick();
      if (last) changeLast({ count: last.count + 1 });
      else add("click", "click", { count: 1, held: 0 });
    },
    /** The last click did not become a request. */
    held() {
      const last = lastClick();
      if (last) changeLast({ held: last.held + 1 });
    },
    clear() {
      entries = load(cart.id);
      render();
    },
    isEmpty: () => entries.length === 0,
  };
}

const sum = (entries, value) => entries.reduce((total, entry) => total + value(entry), 0);
const of = (entries, kind) => entries.filter((entry) => entry.kind === kind);

const counters = {
  click: (entries) => sum(of(entries, "click"), (entry) => entry.count),
  send: (entries) => of(entries, "send").length,
  gate: (entries) => {
    const perKey = new Map(of(entries, "attempt").map((entry) => [entry.key, entry.attempts]));
    return [...perKey.values()].reduce((total, attempts) => total + attempts, 0);
  },
  charge: (entries) => of(entries, "charge").length,
};

function row(entry, start) {
  const seconds = (entry.at - start) / 1000;
  const held = entry.kind === "click" && entry.held === entry.count;
  return el("li", { class: "row", "data-lane": entry.lane, "data-kind": held ? "held" : entry.kind },
    el("time", {}, seconds < 60 ? seconds.toFixed(2) : `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`),
    el("span", { class: "chip", title: entry.key ?? null }, textOf(entry)));
}

function textOf(entry) {
  const total = entry.kind === "charge" ? money(entry.cents, entry.currency) : "";
  const key = entry.key ? `${entry.key.slice(0, 4)}…${entry.key.slice(-4)}` : "";
  return t(`row_${entry.kind}`, { ...entry, total, key });
}

function showCount(lane, count) {
  byId(`count-${lane}`).textContent = String(count);
  byId(`lane-${lane}`).textContent = t(`count_${lane}`, { count });
}

function showEvidence(entries) {
  const key = entries.findLast((entry) => entry.key)?.key;
  const link = byId("evidence");
  link.hidden = !key;
  if (key) link.href = booksOf(key);
}

function load(cartId) {
  try {
    return JSON.parse(sessionStorage.getItem(`shop:strip:${cartId}`)) ?? [];
  } catch {
    return [];
  }
}

function save(cartId, entries) {
  try {
    sessionStorage.setItem(`shop:strip:${cartId}`, JSON.stringify(entries));
  } catch {
    // Without session storage the timeline starts anew after a reload; the payment does not need it.
  }
}
