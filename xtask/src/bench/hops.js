// The hops of a first execution and nothing else: the gate's calls, bodies, header fields and rows, as many and about as large as its
// own, and no decision. What a first execution costs above these is what deciding costs.

const SHARDS = 16;
const filled = (length) => "x".repeat(length);
const CLAIM = filled(640);
const DISPATCH = filled(600);
const STAMP = filled(64);
const COMPLETION = filled(260);
const RECORD = filled(720);
const VIEW = { view: filled(300) };

const table = (name) => `CREATE TABLE IF NOT EXISTS ${name} (
  id BLOB PRIMARY KEY, record TEXT NOT NULL, keep_until_ms INTEGER NOT NULL,
  status INTEGER, headers TEXT, body BLOB, request TEXT, request_body BLOB) WITHOUT ROWID`;
const FIND = `SELECT record, status, headers, body, 1 FROM operations WHERE id = ?1
  UNION ALL SELECT record, status, headers, body, 0 FROM operations_earlier WHERE id = ?1
    AND NOT EXISTS (SELECT 1 FROM operations WHERE id = ?1) LIMIT 1`;
const WRITE = `INSERT INTO operations (id, record, keep_until_ms, status, headers, body, request, request_body)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, NULL)
  ON CONFLICT (id) DO UPDATE SET record = excluded.record, keep_until_ms = excluded.keep_until_ms,
    status = excluded.status, headers = excluded.headers, body = excluded.body,
    request = excluded.request, request_body = excluded.request_body`;

export class Shard {
  constructor(state, env) {
    this.sql = state.storage.sql;
    this.env = env;
    for (const name of ["operations", "operations_earlier"]) this.sql.exec(table(name));
  }

  async fetch(request) {
    const id = new TextEncoder().encode(request.headers.get("hop-key"));
    if (request.headers.has("hop-completes")) {
      const body = await request.arrayBuffer();
      this.write(id, 201, JSON.stringify([["content-type", "application/json"]]), body);
      return Response.json(VIEW);
    }
    this.write(id, null, null, null);
    const headers = { "hop-key": request.headers.get("hop-key"), "hop-fields": request.headers.get("hop-fields"), "hop-carries": DISPATCH, "hop-stamp": STAMP };
    return this.env.COURIER.fetch("https://courier/orders", { method: "POST", headers, body: request.body, redirect: "manual" });
  }

  write(id, ...answer) {
    this.sql.exec(FIND, id).toArray();
    this.sql.exec(WRITE, id, RECORD, 0, ...answer);
  }
}

export default {
  fetch: (request, env) => (request.headers.has("hop-carries") ? carry(request, env) : claim(request, env)),
};

const shardOf = (env, key) => env.SHARDS.getByName(`shard-${Number(key.replace(/\D/g, "")) % SHARDS}`);

async function claim(request, env) {
  const body = await request.arrayBuffer();
  const key = request.headers.get("idempotency-key");
  const headers = [...request.headers].filter(([name]) => name !== "content-length");
  headers.push(["accept-encoding", "identity"], ["oncegate-via", filled(22)], ["traceparent", filled(55)], ["x-forwarded-host", filled(15)]);
  headers.push(["x-forwarded-proto", "http"]);
  const told = { "hop-key": key, "hop-claims": CLAIM, "hop-fields": JSON.stringify(headers) };
  return shardOf(env, key).fetch("https://shard/orders", { method: "POST", headers: told, body, redirect: "manual" });
}

async function carry(request, env) {
  const body = await request.arrayBuffer();
  const key = request.headers.get("hop-key");
  const headers = JSON.parse(request.headers.get("hop-fields"));
  headers.push(["oncegate-attempt", "1"], ["oncegate-operation", filled(46)], ["oncegate-key-kind", "client"]);
  headers.push(["oncegate-fingerprint", filled(64)], ["oncegate-signature", filled(120)]);
  const answer = await fetch(`${env.ORIGIN_URL}/orders`, { method: "POST", headers, body, redirect: "manual" });
  const bytes = await answer.arrayBuffer();
  const kept = { "hop-key": key, "hop-completes": COMPLETION, "content-type": answer.headers.get("content-type") };
  await (await shardOf(env, key).fetch("https://shard/", { method: "POST", headers: kept, body: bytes })).json();
  const fields = [...answer.headers].filter(([name]) => name !== "content-length");
  fields.push(["idempotency-status", "executed"], ["oncegate-operation", filled(46)], ["idempotency-key-lifetime", "604800"]);
  return new Response(bytes, { status: answer.status, headers: fields });
}
