// The grammar of the key against a parser of structured fields that others wrote. Where the contract departs from
// RFC 9651, the difference is asserted as such.

import assert from "node:assert/strict";
import test from "node:test";
import { Token, parseItem } from "structured-headers";
import { Random, decide } from "../support/decide.mjs";

const CASES = 20_000;
const BARE = /^[A-Za-z0-9\-_.~:/+=@!$&'()*#]{1,255}$/;
const LONGEST = 255;

/** What the foreign parser takes the header value for; nothing, if it is no item. */
function foreign(text) {
  try {
    const [value, parameters] = parseItem(text.replace(/^[ \t]+|[ \t]+$/g, ""));
    return { value, parameters };
  } catch {
    return undefined;
  }
}

function answers(texts) {
  return decide(texts.map((key) => ({ key })));
}

function quoted(random) {
  const pieces = ["a", "Z", "0", " ", "-", "_", ";", "=", "\\\"", "\\\\", "'", "%", "{", "~"];
  const strange = [",", "\\", "\"", "\\n", "\t", "\u00e9", "\u0000", "\u007f", "\u2028"];
  const piece = () => (random.chance(3) ? random.pick(strange) : random.pick(pieces));
  const parameter = () => {
    const value = random.pick(["", "=1", "=-2.5", "=?0", "=tok/en", '="x;y"', "=:YQ==:", "=@5", "=", '="', "=(1)"]);
    return `;${random.pick(["", " ", "  "])}${random.pick(["a", "*b", "c-d", "E", "1"])}${value}`;
  };
  const parameters = random.chance(30) ? random.times(1, 3, parameter).join("") : "";
  return `${random.pick(["", " "])}"${random.times(0, 12, piece).join("")}"${parameters}${random.pick(["", " ", "x"])}`;
}

function bare(random) {
  const pieces = [..."abcXYZ0189-_.~:/+=@!$&'()*#"];
  const strange = [..."%^`|;,?{}[]<>\\ \"", "\u00fc"];
  return random.times(1, 20, () => (random.chance(3) ? random.pick(strange) : random.pick(pieces))).join("");
}

test("k1 a quoted key is a string of structured fields, and the other way round", () => {
  const random = new Random(1);
  const texts = Array.from({ length: CASES }, () => quoted(random));
  let keys = 0;
  for (const [index, { ok }] of answers(texts).entries()) {
    const text = texts[index];
    const item = foreign(text);
    const string = typeof item?.value === "string" ? item.value : undefined;
    if (string !== undefined && string !== "" && !text.includes(",")) assert.equal(ok, string, text);
    if (ok !== undefined) {
      keys += 1;
      // Difference: what stands in parameters is skipped, not judged. The string itself is the same.
      const alone = /^ *("(?:[^"\\]|\\.)*")/.exec(text)[1];
      assert.equal(ok, string ?? foreign(alone)?.value, text);
    }
  }
  assert.ok(keys > CASES / 4, `${keys} keys are too few to show anything`);
});

test("k1 a token of structured fields is the bare key that it spells", () => {
  const random = new Random(2);
  const texts = Array.from({ length: CASES }, () => bare(random));
  let tokens = 0;
  for (const [index, { ok }] of answers(texts).entries()) {
    const text = texts[index];
    const item = foreign(text);
    if (item?.value instanceof Token && item.parameters.size === 0) {
      tokens += 1;
      // Difference: % ^ ` | are characters of tokens, and not of bare keys.
      assert.equal(ok, /[%^`|]/.test(text) ? undefined : text.trim(), text);
    }
    // Difference: whatever a bare item would be, a bare key is its own text.
    assert.equal(ok !== undefined, BARE.test(text.trim()), text);
    if (ok !== undefined) assert.equal(ok, text.trim());
  }
  assert.ok(tokens > CASES / 20, `${tokens} tokens are too few to show anything`);
});

test("k1 where the contract departs from structured fields it refuses, or takes the text as it is", () => {
  const refused = [
    ['""', "an empty string"],
    ['"a,b"', "a comma, with which runtimes join lines"],
    ['"a";b="c,d"', "a comma in a parameter"],
    [`"${"k".repeat(LONGEST + 1)}"`, "a string of 256 characters"],
    ["key;a=1", "parameters on a bare key"],
    ["?1", "a boolean"],
    ['%"f%c3%bc"', "a display string"],
    ['"a";b=%"c"', "a display string in a parameter"],
  ];
  for (const [text, what] of refused) {
    assert.notEqual(foreign(text), undefined, `${what} is an item`);
    assert.equal(answers([text])[0].ok, undefined, `${what} is no key`);
  }
  const taken = ["42", "-7", "1.5", ":YQ==:", "@1700000000", "8e03978e-40d5-43dd-bc93-6894a57f9324", "a@b", "(x)"];
  for (const text of taken) {
    assert.ok(!(foreign(text)?.value instanceof Token), `${text} is no token`);
    assert.equal(answers([text])[0].ok, text);
  }
});

test("k1 several keys never pass as one", () => {
  const one = ["a", '"a"', '"a";b', '"a";b="', '"', "", " "];
  for (const first of one) {
    for (const second of one) {
      const joined = `${first}, ${second}`;
      assert.equal(answers([joined])[0].ok, undefined, joined);
    }
  }
});
