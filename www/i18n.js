/**
 * The page's language: English or simplified Chinese, by the browser's wish until the visitor chooses.
 *
 * Invariant: every text a visitor sees comes from `words-en.js` and `words-zh.js`, or from what a page adds to them; both
 * languages have the same keys.
 */

import { recall, remember } from "./storage.js";
import { en } from "./words-en.js";
import { zh } from "./words-zh.js";

const words = { en: { ...en }, zh: { ...zh } };
const listeners = [];
let current = words[recall("language")] ? recall("language") : preferred();

/** @returns {"en" | "zh"} */
export function language() {
  return current;
}

/** Adds a page's own texts; one of the same key takes the place of the shop's. */
export function addWords(own) {
  for (const name of Object.keys(words)) Object.assign(words[name], own[name]);
}

/** The text of `key` in the current language; texts with places to fill are functions of `values`. */
export function t(key, values = {}) {
  const text = words[current][key];
  if (text === undefined) throw new Error(`The page has no text named "${key}" in the language "${current}".`);
  return typeof text === "function" ? text(values) : text;
}

/** Whether there is a text of this name, for names that come from outside (problem codes). */
export function hasText(key) {
  return Object.hasOwn(words[current], key);
}

/** Switches the page and remembers the choice. */
export function setLanguage(next) {
  current = next;
  remember("language", next);
  applyLanguage();
}

/** `listener` runs after each switch, when the page's fixed texts are already in the new language. */
export function onLanguage(listener) {
  listeners.push(listener);
}

/** Puts the fixed texts of the page into the current language and tells everyone else to follow. */
export function applyLanguage() {
  document.documentElement.lang = current === "zh" ? "zh-CN" : "en";
  document.title = t("title");
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = t(node.dataset.text);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", t(node.dataset.label));
  for (const listener of listeners) listener();
}

/** @param {number} cents */
export function money(cents, currency = "EUR") {
  return new Intl.NumberFormat(current === "zh" ? "zh-CN" : "en-IE", { style: "currency", currency }).format(cents / 100);
}

function preferred() {
  return /^zh\b/i.test(navigator.language) ? "zh" : "en";
}
