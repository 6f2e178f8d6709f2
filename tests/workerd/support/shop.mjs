// Another Worker, bound to the gate as SHOP: an origin without a host, in two kinds. Below /shop/ledger it keeps a row for each key, as a
// ledger does; below /shop/plain it only does what it is asked. The body says how it answers, as JSON: { throws, redirects, breaks, shows }.

const rows = new Map();
const effects = new Map();

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const key = request.headers.get("idempotency-key") ?? searchParams.get("key");
    if (pathname === "/shop/effects") return new Response(String(effects.get(key) ?? 0));
    if (pathname === "/.oncegate/ledger/cancel") return said(key, "cancelled");
    const asked = await request.json();
    const known = rows.get(key);
    if (pathname === "/shop/plain" || !known) effects.set(key, (effects.get(key) ?? 0) + 1);
    const answer = pathname === "/shop/ledger" ? said(key, "executed") : new Response(`done for ${key}`);
    return known ? answer : as(asked, answer, request);
  },
};

/** The row's word; the first one stays. */
function said(key, outcome) {
  if (!rows.has(key)) rows.set(key, outcome);
  return new Response(`${rows.get(key)}: ${key}`, { headers: { "idempotency-outcome": rows.get(key) } });
}

function as({ throws, redirects, breaks, shows }, answer, request) {
  if (throws) throw new Error("this Worker has failed after its work");
  if (redirects) return new Response(null, { status: 303, headers: { location: "/thanks" } });
  if (breaks) return new Response(broken());
  if (shows) return Response.json({ url: request.url, headers: [...request.headers] }, { headers: outcome(answer) });
  return answer;
}

function outcome({ headers }) {
  return [...headers].filter(([name]) => name === "idempotency-outcome");
}

/** More than a record can hold, and then an error. */
function broken() {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent++ < 40) controller.enqueue(new Uint8Array(64 * 1024));
      else controller.error(new Error("this Worker has failed in its answer"));
    },
  });
}
