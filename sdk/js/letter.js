// What the engine is asked, and what it answers: objects here, and letters on the way. sdk/src/fields.rs says how a letter is written;
// the order of the fields is the one in which sdk/src reads and writes them.

const RECORD = ["epoch", "key", "phase", "digest", "mixed", "sends", "firstSent", "lifetime"];
const ORDER = ["wish", "digest", "proven", "baseMs", "capMs", "attemptTimeoutMs", "deadlineMs", "maxAttempts", "seed"];
const ANSWER = ["event", "http", "redirected", "status", "lifetime", "retryAfter", "date", "foreign", "unnamed"];
const PROBLEM = ["retry_after_ms", "safe_new_key", "retryable", "code", "state"];
const STEP = ["flow", "key", "sends", "budget", "act"];
const CALL = ["timeoutMs"];
const ACT = { cancel: CALL, lookup: CALL, send: CALL, wait: ["untilMs", "online"], finish: ["answered", "outcome", "reason", "replayed", "changed"] };

/** The engine's verbs over the functions that the glue has. */
export function toVerbs({ after, ask, digest }) {
  const answer = (...fields) => heard(ask(fields.map(written).join("\0"))).split("\0").map(read);
  return {
    after,
    begin: (order, moment, secret) => toStep(answer("begin", secret, order.intent, ...members(order, ORDER), ...toFields(moment))),
    current: (secret, intent, stored) => toRecord(answer("current", secret, intent, ...members(stored, RECORD))),
    digest: (secret, parts) => heard(digest(secret, parts)),
    end: (stored) => toRecord(answer("end", ...members(stored, RECORD))),
    next: (flow, said) => toStep(answer("next", flow, ...toFields(said), ...members(said, ANSWER), ...members(said.problem, PROBLEM))),
  };
}

function heard(text) {
  if (text === "") throw new Error("oncegate: the engine was asked out of order; please report this");
  return text;
}

const toFields = ({ now, budget, stored }) => [now, budget, ...members(stored, RECORD)];

const members = (object, names) => names.map((name) => object?.[name]);

function toRecord(fields) {
  return fields[0] === undefined ? undefined : named(RECORD, fields);
}

function toStep(fields) {
  const rest = fields.slice(RECORD.length);
  const step = named(STEP, rest);
  return { write: toRecord(fields), ...step, ...named(ACT[step.act], rest.slice(STEP.length)) };
}

function named(names, fields) {
  return Object.fromEntries(names.map((name, index) => [name, fields[index]]).filter(([, field]) => field !== undefined));
}

function written(value) {
  if (typeof value === "string") return `=${value.replaceAll("\0", "")}`;
  if (typeof value === "boolean") return value ? "t" : "f";
  return typeof value === "number" ? String(Math.floor(value)) : "";
}

function read(field) {
  if (field === "") return undefined;
  if (field[0] === "=") return field.slice(1);
  return field === "t" || (field !== "f" && Number(field));
}
