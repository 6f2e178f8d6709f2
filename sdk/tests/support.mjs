// What the SDK's tests share: a page that can be reloaded, a storage that can fail, a network that
// answers by script.

let loads = 0;

/** The package as a page gets it that is loaded anew: no state is shared with earlier ones. */
export function load() {
  loads += 1;
  return import(`../dist/index.js?load=${loads}`);
}

/** A localStorage. `faults.read` and `faults.write` make it throw. */
export function memoryStorage(entries = {}) {
  const map = new Map(Object.entries(entries));
  const faults = { read: false, write: false };
  const guard = (fault) => {
    if (fault) throw new DOMException("not now", "QuotaExceededError");
  };
  return {
    faults,
    getItem: (name) => (guard(faults.read), map.get(name) ?? null),
    setItem: (name, value) => (guard(faults.write), void map.set(name, String(value))),
    key: (index) => [...map.keys()][index] ?? null,
    get length() {
      return (guard(faults.read), map.size);
    },
    clear: () => map.clear(),
    record: (intent) => JSON.parse(map.get(`oncegate:intent:${intent}`) ?? "null"),
    entries: () => Object.fromEntries(map),
  };
}

/** What a gate says of a key that it has never seen. */
export const absent = () => Response.json({ operation: "op_0", state: "absent", executed: null, safe_new_key: false });

/**
 * Replaces fetch by answers in order; the last one repeats. Keeps what was sent. Look-ups are answered by `sent.look` and
 * kept in `sent.looks`: at first, as by a gate that has never seen the key.
 */
export function network(...answers) {
  const sent = [];
  sent.look = absent;
  sent.looks = [];
  globalThis.fetch = (url, init) => {
    if (init.method === "GET") {
      sent.looks.push({ url, key: init.headers.get("idempotency-key") });
      return Promise.resolve().then(() => sent.look({ signal: init.signal, init }));
    }
    const answer = answers[Math.min(sent.length, answers.length - 1)];
    const { method, headers, body, signal } = init;
    sent.push({ url, method, key: headers.get("idempotency-key"), type: headers.get("content-type"), body, at: performance.now() });
    return Promise.resolve().then(() => answer({ signal, init }));
  };
  sent.keys = () => [...new Set(sent.map(({ key }) => key))];
  return sent;
}

/** An answer of the gate. */
export const gate = (word, { status = 200, body = "{}", headers = {} } = {}) => () =>
  new Response(body, {
    status,
    headers: { "idempotency-status": word, "idempotency-key-lifetime": "604800", "content-type": "application/json", ...headers },
  });

/** A problem of the gate. */
export const problem = (status, word, members, headers = {}) =>
  gate(word, { status, body: JSON.stringify(members), headers: { "content-type": "application/problem+json", ...headers } });

/** An answer of somebody else. */
export const bare = (status, headers = {}) => () => new Response(status === 204 ? null : "x", { status, headers });

export const lost = () => {
  throw new TypeError("Failed to fetch");
};

/** Never answers, and honours an abort as fetch does. */
export const hangs = ({ signal }) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** Never answers, and does not even honour an abort. */
export const dead = () => new Promise(() => {});

/** Headers arrive, the body breaks off. */
export const cut = () =>
  new Response(new ReadableStream({ pull: (body) => body.error(new TypeError("network error")) }), {
    headers: { "idempotency-status": "executed" },
  });

/** Headers arrive, the body never ends. */
export const drips = () => new Response(new ReadableStream({}), { headers: { "idempotency-status": "executed" } });

export const ORDER = Object.freeze({
  intent: "cart-42",
  url: "https://shop.example/orders",
  headers: { "content-type": "application/json" },
  body: '{"mug":1}',
});

/** A client of a freshly loaded page, with short waits, and what it tells. */
export async function page(storage, options = {}) {
  const { createOncegate } = await load();
  const events = [];
  const client = createOncegate({
    storage,
    backoff: { baseMs: 2, capMs: 4 },
    quietMs: 0,
    onEvent: (event) => events.push(event),
    ...options,
  });
  events.types = () => events.map(({ type }) => type);
  return { client, events };
}

/** A page that sends the order and is closed before an answer comes. */
export async function closedPage(storage) {
  const { client } = await page(storage);
  const controller = new AbortController();
  const running = client.submit({ ...ORDER, signal: controller.signal });
  await pause(5);
  const stored = () => JSON.stringify({ ...storage.entries(), "oncegate:log": "" });
  const before = stored();
  controller.abort();
  await running;
  if (stored() !== before) throw new Error("the closed page wrote something");
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
