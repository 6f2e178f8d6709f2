/**
 * The family's page: one card per scenario. A scenario is a module of its own (`family-<name>.js`) with its words beside it
 * (`family-words-<name>.js`); this file only puts them on the page.
 *
 * Invariant: a scenario that cannot run says so in its own card and stops no other one.
 */

import { byId, el } from "./dom.js";
import { createCard } from "./family-card.js";
import { claims } from "./family-claims.js";
import { cron } from "./family-cron.js";
import { form } from "./family-form.js";
import { locks } from "./family-locks.js";
import { queues } from "./family-queues.js";
import { tokens } from "./family-tokens.js";
import { webhooks } from "./family-webhooks.js";
import { frame } from "./family-words.js";
import { claimsWords } from "./family-words-claims.js";
import { cronWords } from "./family-words-cron.js";
import { formWords } from "./family-words-form.js";
import { locksWords } from "./family-words-locks.js";
import { queuesWords } from "./family-words-queues.js";
import { tokensWords } from "./family-words-tokens.js";
import { webhooksWords } from "./family-words-webhooks.js";
import { addWords, applyLanguage, language, onLanguage, setLanguage, t } from "./i18n.js";

/** In the order of the page. Every one has its words in the line below. */
const SCENARIOS = [tokens, form, webhooks, locks, claims, queues, cron];
const WORDS = [frame, tokensWords, formWords, webhooksWords, locksWords, claimsWords, queuesWords, cronWords];

function changeLanguage(cards) {
  for (const name of ["en", "zh"]) byId(`lang-${name}`).setAttribute("aria-pressed", String(language() === name));
  byId("contents").replaceChildren(...SCENARIOS.map(({ name }) => el("li", {}, el("a", { href: `#${name}` }, t(`${name}_title`)))));
  for (const card of cards) card.render();
}

/** A shop without `--faults` has no back room: then nothing here can be tried. */
async function lookForBackRoom(cards) {
  const isOpen = await fetch("/faults", { cache: "no-store" }).then((answer) => answer.ok, () => false);
  byId("closed").hidden = isOpen;
  for (const card of cards) card.open(isOpen);
}

function start() {
  for (const words of WORDS) addWords(words);
  const cards = SCENARIOS.map(createCard);
  byId("cards").replaceChildren(...cards.map((card) => card.root));
  onLanguage(() => changeLanguage(cards));
  for (const name of ["en", "zh"]) byId(`lang-${name}`).addEventListener("click", () => setLanguage(name));
  applyLanguage();
  byId("boot").remove();
  lookForBackRoom(cards);
}

start();
