// The options of createOncegate, checked and completed.

const LONGEST_MS = 24 * 60 * 60 * 1000;

export function toSettings({ backoff = {}, attemptTimeoutMs, deadlineMs, maxAttempts }) {
  return {
    baseMs: whole("backoff.baseMs", backoff.baseMs ?? 300, 0, LONGEST_MS),
    capMs: whole("backoff.capMs", backoff.capMs ?? 10_000, 0, LONGEST_MS),
    attemptTimeoutMs: whole("attemptTimeoutMs", attemptTimeoutMs ?? 25_000, 1, LONGEST_MS),
    deadlineMs: whole("deadlineMs", deadlineMs ?? 90_000, 1, LONGEST_MS),
    maxAttempts: whole("maxAttempts", maxAttempts ?? 12, 1, 1000),
  };
}

function whole(name, value, least, most) {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new TypeError(`oncegate: ${name} must be a whole number from ${least} to ${most}`);
}
