// The vectors of tests/vectors, answered by the core as it is built for the edge, in workerd.

import { expect, test } from "vitest";

import { answer, initSync } from "../../target/contract/bundle.js";
import wasm from "../../target/contract/contract_bg.wasm";
import answers from "../vectors/answers.json";
import backoff from "../vectors/backoff.json";
import fingerprints from "../vectors/fingerprints.json";
import keys from "../vectors/keys.json";
import payloads from "../vectors/payloads.json";
import retryAfter from "../vectors/retry-after.json";

initSync({ module: wasm });

const files = { answers, backoff, fingerprints, keys, payloads, "retry-after": retryAfter };

for (const [name, vectors] of Object.entries(files)) {
  test(name, () => {
    for (const vector of vectors) {
      expect(JSON.parse(answer(name, JSON.stringify(vector))), JSON.stringify(vector)).toEqual(vector.expected);
    }
  });
}
