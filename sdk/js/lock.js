// The entry `oncegate/lock`: named locks of the gate, for servers, jobs and pages of one's own staff.
//
// Invariant: a lock counts its time from before the request that gave it, so that it never believes in itself longer than
// the gate does. Whoever gives up calls its request off: no lock stays with nobody because an answer was lost.

const LONGEST_WAIT_MS = 25_000;

/** How long an answer may take beyond the time for which the gate waits. */
const PATIENCE_MS = 10_000;

/** How long after the gate was last heard of it is out of reach. */
const OUT_OF_REACH_MS = 30_000;
const PAUSE_MS = 500;

/** A clock that nobody sets. */
const now = () => performance.now();

export class LockError extends Error {
  constructor(code, message, options) {
    super(`oncegate/lock: ${message}`, options);
    this.name = "LockError";
    this.code = code;
  }
}

export function createLocks({ gate, secret, fetch = globalThis.fetch }) {
  const base = new URL("/.oncegate/v1/locks/", gate);
  const call = (method, name, headers, body, patienceMs, signal) => send(fetch, new URL(encodeURIComponent(name), base), secret, { method, headers, body, patienceMs, signal });
  return { lock: (name, options = {}) => acquire(call, name, options) };
}

/** One call: what the gate said, or `undefined` if it said nothing. */
async function send(fetch, url, secret, { method, headers, body, patienceMs, signal }) {
  const signals = [AbortSignal.timeout(Math.max(1, Math.ceil(patienceMs))), ...(signal ? [signal] : [])];
  try {
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
      body: body && JSON.stringify(body),
      // A secret must not follow to where an answer points; a Worker's `fetch` knows no other word for that.
      redirect: "manual",
      signal: AbortSignal.any(signals),
    });
    const text = await response.text();
    if (response.status === 204) return { said: {} };
    const said = JSON.parse(text);
    if (response.ok) return { said };
    return typeof said.code === "string" ? { problem: said, place: response.headers.get("oncegate-place") } : undefined;
  } catch {
    return undefined;
  }
}

async function acquire(call, name, { ttlMs = 30_000, waitMs = 0, signal } = {}) {
  const key = crypto.randomUUID();
  const begun = now();
  let heard = begun;
  let place;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const left = Math.max(0, waitMs - (now() - begun));
      const wait = Math.min(left, LONGEST_WAIT_MS);
      const sent = now();
      const headers = { "idempotency-key": key, ...(place && { "oncegate-place": place }) };
      const answer = await call("POST", name, headers, { ttl_ms: ttlMs, wait_ms: Math.floor(wait) }, wait + PATIENCE_MS, signal);
      signal?.throwIfAborted();
      if (answer?.said) return await hold(call, name, answer.said, sent);
      const { problem } = answer ?? {};
      if (problem && !problem.retryable) throw refused("taking", name, problem);
      if (problem?.code === "lock_busy") {
        heard = now();
        if (now() - begun >= waitMs) throw refused("taking", name, problem);
      } else if (now() - heard >= Math.max(OUT_OF_REACH_MS, left)) {
        throw problem ? refused("taking", name, problem) : silent("taking", name);
      }
      place = answer?.place ?? place;
      if (!answer?.place) await pause(PAUSE_MS);
    }
  } catch (error) {
    // Nobody waits for it: at the latest the lock ends by itself.
    void call("DELETE", name, { "idempotency-key": key }, undefined, PATIENCE_MS);
    throw error;
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const refused = (doing, name, { code, detail }) => new LockError(code, `${doing} the lock "${name}": ${detail}`);
const silent = (doing, name) => new LockError("no_answer", `${doing} the lock "${name}": the gate did not answer, and it is not known what became of it`);

/** Holds what was granted to a request sent at that moment. */
async function hold(call, name, grant, sent) {
  const lost = new AbortController();
  const held = { owner: grant.owner, ttlMs: grant.ttl_ms, ends: sent + grant.expires_in_ms, timer: undefined, over: false };
  const headers = { "oncegate-owner": grant.owner };
  const renew = async () => {
    for (;;) {
      const asked = now();
      const answer = await call("PUT", name, headers, undefined, held.ends - asked);
      if (answer?.said) return void (held.ends = asked + answer.said.expires_in_ms);
      if (answer?.problem && !answer.problem.retryable) throw refused("renewing", name, answer.problem);
      if (now() >= held.ends) throw silent("renewing", name);
      await pause(Math.min(held.ttlMs / 20, Math.max(0, held.ends - now())));
    }
  };
  const goOn = () => {
    const due = held.ends - held.ttlMs + held.ttlMs / 3;
    held.timer = setTimeout(async () => {
      try {
        await renew();
        if (!held.over) goOn();
      } catch (error) {
        if (!held.over) lost.abort(error);
      }
    }, Math.max(0, due - now()));
  };
  // Given after a wait it is a short one, and when it was given is not known: a renewal knows both.
  if (now() - sent >= grant.ttl_ms / 3 || grant.expires_in_ms < grant.ttl_ms / 2) {
    held.ends = now() + grant.expires_in_ms;
    await renew();
  }
  goOn();
  return {
    name,
    fence: grant.fence,
    lost: lost.signal,
    async release() {
      if (held.over) return;
      held.over = true;
      clearTimeout(held.timer);
      for (let tries = 3; tries > 0; tries -= 1) {
        const answer = await call("DELETE", name, headers, undefined, PATIENCE_MS);
        if (answer?.said) return;
        if (answer?.problem && !answer.problem.retryable) throw refused("releasing", name, answer.problem);
      }
      throw silent("releasing", name);
    },
  };
}
