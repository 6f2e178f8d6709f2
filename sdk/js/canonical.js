// JSON by what it says: members in order, without those that change from one attempt to the next.

import { OncegateError } from "./error.js";

/** The canonical text of a JSON document without the members at these pointers (RFC 6901). A text that is no JSON stands for itself. */
export function canonical(text, ignore) {
  const pointers = ignore.map(toTokens);
  try {
    return JSON.stringify(sorted(JSON.parse(text), pointers));
  } catch {
    return text;
  }
}

function toTokens(pointer) {
  if (!pointer.startsWith("/")) {
    throw new OncegateError("ignore_invalid", `ignore names members of JSON as pointers such as "/csrf", not ${JSON.stringify(pointer)}`);
  }
  return pointer.slice(1).split("/").map((token) => token.replace(/~1/g, "/").replace(/~0/g, "~"));
}

function sorted(value, pointers) {
  if (value === null || typeof value !== "object") return value;
  const below = (name) => pointers.filter(([first]) => first === name).map((tokens) => tokens.slice(1));
  const kept = Object.keys(value).filter((name) => below(name).every((rest) => rest.length > 0));
  if (Array.isArray(value)) return kept.map((name) => sorted(value[name], below(name)));
  return Object.fromEntries(kept.sort().map((name) => [name, sorted(value[name], below(name))]));
}
