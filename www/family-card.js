/**
 * One scenario's card: what goes wrong without protection, buttons that do it, what was found, and the verdict.
 *
 * A scenario is
 *   { name, guide, stage?, start?, steps: { <step>: async (tell) => { holds, say, otherwise?, values? } } }
 * `tell(rows)` shows what has been found so far, each row `[source, what, value]` with the source "page" (counted here),
 * "program" (the shop's program, about itself), "gate" or "shop" (read from there); a value with words is a function. `holds` says
 * whether what was read is as it should be; `say` names the words for that, and `otherwise` those for what else may have come of it.
 * `guide` is the page that says more, in each language. `stage` is an element that stands above the buttons, hidden until they work; what happens there may be
 * a step as well, without a button: `start(run)` is called once, and `run(step)` runs one.
 *
 * Its words: <name>_title, _without, _do_<step>, _hint_<step>, _row_<what>, and one for each `say` and `otherwise`.
 *
 * Invariant: what a card shows is the evidence of its last step only, as data, so that the other language shows the same. The words of
 * success are shown only where it holds, and where something could not be read, nothing is said of it.
 */

import { el, isUnavailable, setUnavailable } from "./dom.js";
import { language, t } from "./i18n.js";

const SOURCES = ["page", "program", "gate", "shop"];

export function createCard(scenario) {
  const { name, steps } = scenario;
  const parts = makeParts(scenario);
  const { root, board, verdict } = parts;
  const buttons = Object.keys(steps).map((step) => button(name, step, () => run(steps[step])));
  let rows = [];
  let ending = null;
  let running = null;
  let isOpen = false;

  async function run(step) {
    if (running) return;
    running = step;
    rows = [];
    ending = null;
    draw();
    ending = await step(tell).catch((error) => ({ holds: false, failure: error.message }));
    running = null;
    draw();
  }

  function tell(found) {
    rows = found;
    draw();
  }

  function draw() {
    root.setAttribute("aria-busy", String(running !== null));
    root.dataset.state = running ? "running" : (ending && (ending.holds ? "holds" : "broken")) || "idle";
    for (const { root: each, step } of buttons) {
      setUnavailable(each, running !== null || !isOpen);
      each.setAttribute("aria-busy", String(running === steps[step]));
    }
    board.replaceChildren(...boardOf(name, rows));
    verdict.textContent = running ? t("running") : verdictOf(name, rows, ending);
  }

  function render() {
    parts.render();
    for (const each of buttons) each.render();
    draw();
  }

  parts.actions.append(...buttons.map((each) => each.root));
  scenario.start?.(run);

  /** Where nothing may be tried, there is no stage either: what stands on it would be tried all the same. */
  function open(value) {
    isOpen = value;
    if (scenario.stage) scenario.stage.hidden = false;
    if (!isOpen) scenario.stage?.remove();
    draw();
  }

  return { root, render, open };
}

function makeParts({ name, stage, guide }) {
  const texts = { title: el("h2", { id: `${name}-title` }), without: el("p", { class: "without" }), guide: el("p", { class: "note guide" }) };
  const actions = el("div", { class: "actions" });
  const board = el("div", { class: "board", "data-testid": `${name}-board` });
  const verdict = el("p", { class: "verdict", role: "status", "data-testid": `${name}-verdict` });
  const root = el("section", { class: "scenario", id: name, "data-testid": name, "aria-labelledby": `${name}-title` },
    texts.title, texts.without, stage ?? null, actions, board, verdict, texts.guide);

  function render() {
    texts.title.textContent = t(`${name}_title`);
    texts.without.replaceChildren(el("strong", {}, t("without")), " ", t(`${name}_without`));
    texts.guide.textContent = t("guide", { page: guide[language()] });
  }

  return { root, actions, board, verdict, render };
}

function button(name, step, act) {
  const label = el("span");
  const hint = el("small");
  const root = el("button", { type: "button", "data-testid": `${name}-${step}` }, label, " ", hint);
  root.addEventListener("click", () => !isUnavailable(root) && act());
  return {
    root,
    step,
    render() {
      label.textContent = t(`${name}_do_${step}`);
      hint.textContent = t(`${name}_hint_${step}`);
    },
  };
}

/** What was found, by who says so. */
function boardOf(name, rows) {
  if (rows.length === 0) return [el("p", { class: "note" }, t("boardEmpty"))];
  const of = (source) => rows.filter(([from]) => from === source);
  return SOURCES.filter((source) => of(source).length > 0).map((source) => el("div", { "data-source": source },
    el("h3", {}, t(`source_${source}`)),
    el("dl", {}, ...of(source).map((row) => fact(name, row)))));
}

function fact(name, [, what, found]) {
  const value = typeof found === "function" ? found() : found;
  return el("div", { "data-what": what }, el("dt", {}, t(`${name}_row_${what}`)), el("dd", {}, isUnread(value) ? t("unread") : String(value)));
}

function verdictOf(name, rows, ending) {
  if (!ending) return "";
  const { holds, say, otherwise, values, failure } = ending;
  if (failure !== undefined) return t("couldNotRun", { reason: failure });
  if (holds) return t(`${name}_${say}`, values);
  if (rows.some(([, , found]) => isUnread(found))) return t("notRead");
  return otherwise ? t(`${name}_${otherwise}`, values) : t("notSo");
}

function isUnread(found) {
  return found === null || found === undefined;
}
