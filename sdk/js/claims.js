// Claims of messages and jobs at the gate (docs/claims.md): for consumers in Node, in workers, wherever there is `fetch`.
//
// A call whose answer was lost is made again with the nonce that it had, so that it is not locked out by itself. What the gate did
// not decide is an error, and never taken for an answer.

const TRIES = 3;
const PATIENCE_MS = 10_000;
const PAUSE_MS = 200;

export class ClaimError extends Error {
  constructor(code, message, retryAfterMs) {
    super(message);
    this.name = "ClaimError";
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

export function createClaims({ gate, secret, scope, leaseMs = 30_000, fetch = (...call) => globalThis.fetch(...call) }) {
  const base = `${String(gate).replace(/\/+$/, "")}/.oncegate/v1/claims`;
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };

  /** Asks until there is an answer, each time the same. */
  async function ask(path, call) {
    const body = JSON.stringify({ scope, ...call });
    for (let tries = 1; ; tries++) {
      try {
        return await once(path, body, call.items.length);
      } catch (error) {
        if (error.code !== "no_answer" || tries === TRIES) throw error;
        await pause(PAUSE_MS * tries);
      }
    }
  }

  async function once(path, body, count) {
    let response;
    let said;
    try {
      // A secret must not follow to where an answer points.
      response = await fetch(base + path, { method: "POST", headers, body, redirect: "manual", signal: AbortSignal.timeout(PATIENCE_MS) });
      said = await response.json();
    } catch (error) {
      throw new ClaimError("no_answer", `the gate did not answer: ${error.message}`);
    }
    if (!response.ok && said?.code) throw new ClaimError(said.code, said.detail, said.retry_after_ms ?? undefined);
    if (!response.ok || said?.items?.length !== count) throw new ClaimError("no_answer", `somebody in between answered with ${response.status}`);
    return said.items.map(told);
  }

  async function claimAll(messages) {
    const items = messages.map((message) => (typeof message === "string" ? { key: message } : { key: message.key, sent_at: message.sentAt }));
    return ask("", { nonce: crypto.randomUUID(), lease_ms: leaseMs, items });
  }

  async function say(verb, { key, owner }, more = {}, lease = {}) {
    const [said] = await ask(`/${verb}`, { ...lease, items: [{ key, owner, ...more }] });
    return decided(said).answer;
  }

  const claim = async (message) => decided((await claimAll([message]))[0]);
  const complete = (held, result) => say("complete", held, { result });
  const heartbeat = (held) => say("heartbeat", held, {}, { lease_ms: leaseMs });
  const release = (held) => say("release", held);

  async function run(message, work) {
    const held = await claim(message);
    if (held.answer !== "acquired") return held;
    const beats = beating(() => heartbeat(held), leaseMs / 3);
    let result;
    try {
      result = await work({ ...held, signal: beats.signal });
    } catch (error) {
      beats.stop();
      // The broker brings it again; if this is not heard, when the lease is over.
      await release(held).catch(() => {});
      throw error;
    }
    beats.stop();
    return { ...held, answer: await complete(held, result), result };
  }

  return { claim, claimAll, complete, heartbeat, release, run };
}

/** Heartbeats until they are stopped; the signal tells that somebody has taken over. */
function beating(heartbeat, everyMs) {
  const lost = new AbortController();
  let timer;
  let stopped = false;
  const beat = async () => {
    // One that fails is made good by the next, as long as the lease lasts.
    const answer = await heartbeat().catch(() => "held");
    if (stopped) return;
    if (answer === "held") next();
    else lost.abort(new ClaimError("lost", "somebody has taken over"));
  };
  const next = () => {
    timer = setTimeout(beat, everyMs);
  };
  next();
  return {
    signal: lost.signal,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

const told = ({ lease_ends_in_ms, retry_after_ms, ...said }) => ({ ...said, leaseEndsInMs: lease_ends_in_ms, retryAfterMs: retry_after_ms });

const WORDS = ["acquired", "busy", "done", "held", "lost", "released", "too_old"];

function decided(said) {
  if (WORDS.includes(said.answer)) return said;
  throw new ClaimError(said.code ?? "no_answer", said.detail ?? "what came is not what this gate says of claims", said.retryAfterMs);
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
