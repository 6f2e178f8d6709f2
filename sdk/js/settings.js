// The options of createOncegate, checked and completed.

import { OncegateError } from "./error.js";

const LONGEST_MS = 24 * 60 * 60 * 1000;

export function toSettings({ backoff = {}, attemptTimeoutMs, deadlineMs, maxAttempts, quietMs, trailingMs, lockPatienceMs, retryUnproven = false }) {
  return {
    baseMs: whole("backoff.baseMs", backoff.baseMs ?? 300, 0, LONGEST_MS),
    capMs: whole("backoff.capMs", backoff.capMs ?? 10_000, 0, LONGEST_MS),
    attemptTimeoutMs: whole("attemptTimeoutMs", attemptTimeoutMs ?? 25_000, 1, LONGEST_MS),
    deadlineMs: whole("deadlineMs", deadlineMs ?? 90_000, 1, LONGEST_MS),
    maxAttempts: whole("maxAttempts", maxAttempts ?? 12, 1, 1000),
    quietMs: whole("quietMs", quietMs ?? 300, 0, LONGEST_MS),
    trailingMs: whole("trailingMs", trailingMs ?? 0, 0, LONGEST_MS),
    lockPatienceMs: whole("lockPatienceMs", lockPatienceMs ?? 2_000, 0, LONGEST_MS),
    retryUnproven: retryUnproven === true,
  };
}

function whole(name, value, least, most) {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new OncegateError("option_invalid", `${name} must be a whole number from ${least} to ${most}`);
}
