// Canonical JSON against an implementation of RFC 8785 that others wrote. Where the contract departs from it (numbers by
// their exact decimal value, bodies that two readers may understand differently), the difference is asserted as such.

import assert from "node:assert/strict";
import test from "node:test";
import canonicalize from "canonicalize";
import { Random, decide } from "../support/decide.mjs";

const CASES = 4_000;

function answers(bodies) {
  return decide(bodies.map((json) => ({ json })));
}

const foreign = (body) => canonicalize(JSON.parse(body));

/** A value as data: names of members are unique, and `number` is how a number is meant. */
function value(random, depth, withNumbers) {
  const kind = random.below(depth > 0 ? 7 : 5);
  if (kind === 5) return random.times(0, 4, () => value(random, depth - 1, withNumbers));
  if (kind === 6) {
    const names = new Set(random.times(0, 4, () => string(random)));
    return new Map([...names].map((name) => [name, value(random, depth - 1, withNumbers)]));
  }
  if (kind === 4 && withNumbers) return decimal(random);
  return random.pick([null, true, false, string(random), string(random)]);
}

function string(random) {
  const pieces = ["a", "B", "0", " ", "/", "\"", "\\", "\b", "\n", "\u0000", "\u001f", "\u007f", "\u00e9", "\u20ac"];
  return random.times(0, 5, () => random.pick([...pieces, "\u2028", "\ufb33", "\ufeff", "\u{1f600}", "\u{10000}"])).join("");
}

/** At most 15 digits: a double holds it exactly enough to be told apart from every other such number. */
function decimal(random) {
  const digits = random.times(1, 15, () => random.below(10)).join("").replace(/^0+(?=.)/, "");
  return { digits, power: random.below(20) - 10, minus: random.chance(30) };
}

/** One of the spellings of a value. */
function spelled(random, data) {
  const space = () => (random.chance(20) ? random.pick([" ", "\n", "\t", "\r\n"]) : "");
  const list = (open, parts, close) => open + space() + parts.join(space() + "," + space()) + space() + close;
  if (Array.isArray(data)) return list("[", data.map((part) => spelled(random, part)), "]");
  if (data instanceof Map) {
    const members = [...data].map(([name, part]) => quoted(random, name) + space() + ":" + space() + spelled(random, part));
    return list("{", members.sort(() => random.below(3) - 1), "}");
  }
  if (typeof data === "string") return quoted(random, data);
  return data?.digits === undefined ? String(data) : number(random, data);
}

function quoted(random, text) {
  const unit = (character) =>
    [...Array(character.length).keys()]
      .map((index) => "\\u" + character.charCodeAt(index).toString(16).padStart(4, "0"))
      .map((escape) => (random.chance(50) ? escape : escape.toUpperCase().replace("\\U", "\\u")))
      .join("");
  const characters = [...text].map((character) => {
    if (random.chance(20)) return unit(character);
    if (character === "/" && random.chance(50)) return "\\/";
    return JSON.stringify(character).slice(1, -1);
  });
  return `"${characters.join("")}"`;
}

function number(random, { digits, power, minus }) {
  const sign = minus ? "-" : "";
  const exponent = (by) => random.pick(["e", "E"]) + (by >= 0 ? random.pick(["", "+"]) : "") + by;
  switch (random.below(3)) {
    case 0:
      return sign + digits + exponent(power);
    case 1:
      return sign + digits + "." + "0".repeat(1 + random.below(3)) + exponent(power);
    default:
      return sign + digits[0] + "." + digits.slice(1) + "0" + exponent(power + digits.length - 1);
  }
}

test("k3 without numbers the canonical text is that of RFC 8785", () => {
  const random = new Random(3);
  const bodies = Array.from({ length: CASES }, () => spelled(random, value(random, 4, false)));
  for (const [index, { ok }] of answers(bodies).entries()) assert.equal(ok, foreign(bodies[index]), bodies[index]);
});

test("k3 with numbers the canonical text says the same, and two spellings of one value are one", () => {
  const random = new Random(4);
  const pairs = Array.from({ length: CASES }, () => {
    const data = value(random, 4, true);
    return [spelled(random, data), spelled(random, data)];
  });
  const texts = answers(pairs.flat());
  for (const [index, [one, other]] of pairs.entries()) {
    const [first, second] = [texts[2 * index].ok, texts[2 * index + 1].ok];
    assert.equal(first, second, `${one} and ${other}`);
    assert.equal(canonicalize(JSON.parse(first)), foreign(one), one);
  }
});

test("k3 numbers of up to 15 digits are equal where RFC 8785 takes them for equal, and nowhere else", () => {
  const random = new Random(5);
  const near = ({ digits, power, minus }) =>
    random.pick([
      { digits: String(BigInt(digits + "0")), power: power - 1, minus },
      { digits, power: power + 1, minus },
      { digits, power, minus: !minus },
      { digits: String(BigInt(digits) + 1n), power, minus },
    ]);
  const pairs = Array.from({ length: CASES }, () => {
    const one = decimal(random);
    const other = near({ ...one, digits: one.digits.slice(0, 14) });
    return [number(random, { ...one, digits: one.digits.slice(0, 14) }), number(random, other)];
  });
  const texts = answers(pairs.flat());
  let equal = 0;
  for (const [index, [one, other]] of pairs.entries()) {
    const same = texts[2 * index].ok === texts[2 * index + 1].ok;
    equal += same;
    assert.equal(same, foreign(one) === foreign(other), `${one} and ${other}`);
  }
  assert.ok(equal > CASES / 10 && equal < CASES / 2, `${equal} of ${CASES} are equal`);
});

test("k3 decimals that doubles confuse stay apart", () => {
  const confused = [
    ["9007199254740992", "9007199254740993"],
    ["0.1", "0.1000000000000000055511151231257827"],
    ["1e-400", "0"],
    ["123456789012345678901234567890", "123456789012345678901234567891"],
  ];
  for (const [one, other] of confused) {
    assert.equal(foreign(one), foreign(other));
    const [first, second] = answers([one, other]);
    assert.notEqual(first.ok, second.ok);
  }
  assert.throws(() => foreign("1e400"));
  assert.equal(answers(["1e400"])[0].ok, "1e400");
});

test("k3 a body that two readers may understand differently is refused", () => {
  const refused = [
    ['{"a":1,"a":2}', /occurs twice/],
    ['{"a":1,"\\u0061":1}', /occurs twice/],
    ['["\\ud800"]', /surrogate/],
    ["[".repeat(65) + "]".repeat(65), /nested/],
    ["1e99999999999999999999", /exponent/],
  ];
  for (const [body, reason] of refused) {
    assert.doesNotThrow(() => JSON.parse(body));
    assert.match(answers([body])[0].error, reason);
  }
});

test("k3 what is no JSON for others is none here, and what is refused beyond that has its reason", () => {
  const random = new Random(6);
  const broken = () => {
    const body = [...spelled(random, value(random, 3, true))];
    const at = random.below(body.length + 1);
    const piece = random.pick(["", "", ",", "}", "]", "\"", "\\", "0", "-", ".", "e", " ", "\u0001", "tru", "{\"a\":"]);
    return [...body.slice(0, at), piece, ...body.slice(at + random.below(2))].join("");
  };
  const bodies = Array.from({ length: CASES }, broken);
  let invalid = 0;
  for (const [index, { ok, error }] of answers(bodies).entries()) {
    let valid = true;
    try {
      JSON.parse(bodies[index]);
    } catch {
      valid = false;
      invalid += 1;
    }
    if (!valid) assert.equal(ok, undefined, bodies[index]);
    else if (ok === undefined) assert.match(error, /occurs twice|surrogate|exponent/, bodies[index]);
  }
  assert.ok(invalid > CASES / 10 && invalid < CASES, `${invalid} of ${CASES} are broken`);
});
