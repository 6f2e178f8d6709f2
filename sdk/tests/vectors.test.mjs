// The vectors of tests/vectors, asked of the very engine that the package brings, in both of its encodings.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { toVerbs } from "../js/letter.js";

const engines = new URL("../../target/xtask/sdk-glue/", import.meta.url);
const vectors = (name) => JSON.parse(readFileSync(new URL(`../../tests/vectors/${name}.json`, import.meta.url), "utf8"));

const DAY_MS = 86_400_000;
const SECRET = "07".repeat(32);
const ORDER = { wish: "submit", intent: "cart-42", digest: "00000000", attemptTimeoutMs: DAY_MS, deadlineMs: 2 * DAY_MS, maxAttempts: 12 };
const REFUSED_FOR_NOW = { event: "answered", http: 503, status: "not_executed" };

async function start(encoding, instantiate) {
  const engine = await import(`${engines}engine.js?${encoding}`);
  engine.setUp(instantiate(engine.imports()));
  return toVerbs(engine);
}

const wasm = readFileSync(new URL("engine.wasm", engines));
const { default: script } = await import(`${engines}script.js`);
const encodings = {
  wasm: await start("wasm", (imports) => new WebAssembly.Instance(new WebAssembly.Module(wasm), imports).exports),
  js: await start("js", script),
};

const bytes = (digits) => new Uint8Array(Buffer.from(digits, "hex"));

/** Begins a flow and reports the answer to its send; what is to be done next. */
function afterAnswer(engine, order, answer) {
  const { flow, write } = engine.begin({ ...ORDER, ...order }, { now: 0, budget: 0 }, SECRET);
  return { flow, write, step: engine.next(flow, { ...answer, now: 1, stored: write, budget: 0 }) };
}

/** How the native answers say it. */
function word({ act, outcome, replayed, changed, reason }) {
  if (act !== "finish") return act;
  return [outcome, replayed && "replayed", changed && "changed", reason].filter(Boolean).join(" ");
}

const answered = {
  keys: (engine, { secret, intent, epoch }) => {
    const closed = { key: "", phase: "none", epoch, digest: "", sends: 0, firstSent: 0 };
    return engine.current(secret, intent, closed).key;
  },

  payloads: (engine, { secret, parts }) => engine.digest(secret, parts.map(bytes)),

  backoff: (engine, { base_ms: baseMs, cap_ms: capMs, seed, expected }) => {
    let { flow, write, step } = afterAnswer(engine, { baseMs, capMs, seed, deadlineMs: 100 * DAY_MS }, REFUSED_FOR_NOW);
    let now = 1;
    const waits = [];
    while (waits.length < expected.length) {
      waits.push(step.untilMs - now);
      now = step.untilMs;
      const send = engine.next(flow, { event: "over", now, stored: write, budget: 0 });
      write = send.write ?? write;
      step = engine.next(flow, { ...REFUSED_FOR_NOW, now, stored: write, budget: 0 });
    }
    return waits;
  },

  "retry-after": (engine, { value: retryAfter, date }) => {
    // What is not asked for is drawn: from a second to an hour, so that it is told from what is asked for by its base.
    const wait = (baseMs) => afterAnswer(engine, { baseMs, capMs: baseMs, seed: 5 }, { ...REFUSED_FOR_NOW, retryAfter, date }).step.untilMs - 1;
    const [short, long] = [wait(1), wait(3_600_000)];
    return short === long ? short : null;
  },

  answers: (engine, { expected, proven, ...answer }) => {
    const { flow, write, step } = afterAnswer(engine, { baseMs: 300, capMs: 10_000, seed: 1, proven }, { event: "answered", ...answer });
    if (step.act !== "wait") return word(step);
    return `wait ${word(engine.next(flow, { event: "over", now: step.untilMs, stored: step.write ?? write, budget: 0 }))}`;
  },
};

/** "Retry-After: 0" is no opinion: the client draws a wait of its own. */
const asked = (name, expected) => (name === "retry-after" && expected === 0 ? null : expected);

for (const [encoding, engine] of Object.entries(encodings)) {
  for (const [name, ask] of Object.entries(answered)) {
    test(`${encoding}: ${name}`, () => {
      for (const vector of vectors(name)) assert.deepEqual(ask(engine, vector), asked(name, vector.expected), JSON.stringify(vector));
    });
  }
}
