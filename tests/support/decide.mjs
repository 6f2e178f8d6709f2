// What the core decides about keys and bodies, asked in one go: `cargo xtask test foreign` builds the program.

import { spawnSync } from "node:child_process";

/** The answers to all questions, in their order. */
export function decide(questions) {
  const program = process.env.ONCEGATE_DECIDE;
  if (!program) throw new Error("ONCEGATE_DECIDE is not set; run `cargo xtask test foreign`");
  const input = questions.map((question) => JSON.stringify(question) + "\n").join("");
  const { status, stdout, stderr } = spawnSync(program, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`the program failed: ${stderr}`);
  const answers = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  if (answers.length !== questions.length) throw new Error("not every question was answered");
  return answers;
}

/** Random numbers of which one seed gives one sequence (mulberry32). */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed;
  }

  /** A number from 0 to below `limit`. */
  below(limit) {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  chance(percent) {
    return this.below(100) < percent;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** `make` from `least` to `most` times. */
  times(least, most, make) {
    return Array.from({ length: least + this.below(most - least + 1) }, make);
  }
}
