// A result, as callers get it.

/** Problems about an executed operation that are not its answer. */
const ABOUT = ["key_reused", "result_expired", "result_unavailable"];

export function toResult({ intent, wish }, ended, verbs) {
  const { outcome, key, sends, problem, state, operation } = ended;
  const result = { outcome, intent, key, sends, operation };
  if (problem !== undefined) result.problem = problem;
  if (outcome === "done") Object.assign(result, done(ended));
  else result.reason = ended.reason;
  if (outcome === "unknown") Object.assign(result, { error: ended.error, state });
  const response = isAnswer(ended, wish) ? ended.response : null;
  // Several callers share a result: each look at its response is a copy that can be read.
  Object.defineProperty(result, "response", { enumerable: true, get: () => response && response.clone() });
  if (outcome !== "unknown") return result;
  for (const [name, value] of Object.entries(verbs)) Object.defineProperty(result, name, { value });
  return result;
}

function done({ replayed, changed, key, operation }) {
  return { replayed, changed, receipt: { key, operation: operation ?? null, replayed, at: Date.now() } };
}

/** What a look-up or a cancellation has said comes without the operation's answer; an earlier send's is another one. */
function isAnswer({ outcome, answered, asked, response, problem }) {
  if (!response) return false;
  return outcome !== "done" || (answered && !asked && !ABOUT.includes(problem?.code));
}
