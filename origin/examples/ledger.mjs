// A ledger origin in Node, without a dependency: what docs/origin.md asks for, in one file. `POST /payments {"order","cents"}` takes
// a payment. Start it with PORT, DATABASE (a file) and ONCEGATE_SIGNING_SECRETS (what the gate has as SIGNING_SECRETS).
//
// Invariant: a payment and the row of its key are committed together or not at all. All of `decide` is synchronous, in one
// transaction, and the key is in the table's primary key: that is where the atomicity comes from.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";

const CLOCK_TOLERANCE_MS = 5 * 60 * 1000;
const secrets = new Map(process.env.ONCEGATE_SIGNING_SECRETS.split(",").map((entry) => entry.trim().split(/=(.*)/s, 2)));
const database = new DatabaseSync(process.env.DATABASE);
database.exec(`
  CREATE TABLE IF NOT EXISTS payments (order_no TEXT NOT NULL, cents INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS ledger (
    op_key TEXT NOT NULL, slot TEXT NOT NULL, fingerprint TEXT NOT NULL, outcome TEXT NOT NULL,
    status INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (op_key, slot)
  ) STRICT;`);

/** Whether the call comes from the gate (L1). */
function isSigned({ method, url, headers }) {
  const [, t, kid, v1] = /^t=(\d+), kid=([^,]+), v1=([0-9a-f]{64})$/.exec(headers["oncegate-signature"]) ?? [];
  if (!secrets.has(kid) || Math.abs(Date.now() - Number(t)) > CLOCK_TOLERANCE_MS) return false;
  const signed = ["idempotency-key", "oncegate-attempt", "oncegate-operation", "oncegate-key-kind", "oncegate-fingerprint"];
  const lines = ["oncegate-signature-v1", t, method, url, ...signed.map((name) => headers[name] ?? "")];
  const mac = createHmac("sha256", secrets.get(kid)).update(lines.join("\n")).digest();
  return timingSafeEqual(mac, Buffer.from(v1, "hex"));
}

/** One transaction: `act` gets what is settled under the key, the strongest row first, and gives what to answer. */
function decide({ key, fingerprint }, act) {
  database.exec("BEGIN IMMEDIATE");
  try {
    const select = "SELECT * FROM ledger WHERE op_key = ? ORDER BY outcome = 'refused', fingerprint <> ? LIMIT 1";
    const answer = act(database.prepare(select).get(key, fingerprint));
    database.exec("COMMIT");
    return answer;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** An attempt: the row's answer if one stands in its way (L2, L5), else the effect and its row. */
const attempt = (call, body) =>
  decide(call, (row) => {
    if (row && !(isForeignRefusal(row, call) && call.generated)) return recorded(row, call);
    database.exec("SAVEPOINT effect");
    const result = pay(body);
    if (result.outcome === "refused") database.exec("ROLLBACK TO effect");
    return record(call, result);
  });

/** What became of the key (L6). Without a row: unknown, because an attempt may still be on its way. */
const probe = (call) =>
  decide(call, (row) => (speaks(row, call) ? recorded(row, call) : { status: 200, outcome: "unknown", body: "{}" }));

/** From now on the key has no effect (L6). If it comes too late, it hears what an attempt would. */
const cancel = (call) =>
  decide(call, (row) => (speaks(row, call) ? recorded(row, call) : record(call, { status: 410, outcome: "cancelled", body: "{}" })));

/** A refusal of another request is no answer to a question about this one. */
const speaks = (row, call) => row && !isForeignRefusal(row, call);
const isForeignRefusal = (row, { fingerprint }) => row.outcome === "refused" && row.fingerprint !== fingerprint;

function recorded(row, { fingerprint }) {
  if (row.outcome === "cancelled" || row.fingerprint === fingerprint) return row;
  return { status: 422, outcome: row.outcome, recorded: row.fingerprint, body: '{"error":"this key was used for another payment"}' };
}

/** The slot lets a generated key have several refusals (another card for the same order), and everything else once. */
function record({ key, fingerprint }, result) {
  const slot = result.outcome === "refused" ? fingerprint : "";
  const insert = "INSERT INTO ledger (op_key, slot, fingerprint, outcome, status, body) VALUES (?, ?, ?, ?, ?, ?)";
  database.prepare(insert).run(key, slot, fingerprint, result.outcome, result.status, result.body);
  return result;
}

/** The effect. What your service does already, inside the transaction and nowhere else; a refusal is rolled back. */
function pay(body) {
  const { order, cents } = parsed(body);
  if (typeof order !== "string" || !Number.isInteger(cents)) return refused("write an order and its cents");
  database.prepare("INSERT INTO payments (order_no, cents) VALUES (?, ?)").run(order, cents);
  if (cents > 100_000) return refused("declined");
  return { status: 201, outcome: "executed", body: JSON.stringify({ paid: order }) };
}

const refused = (error) => ({ status: 402, outcome: "refused", body: JSON.stringify({ error }) });

function parsed(body) {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}

const routes = { "/payments": attempt, "/.oncegate/ledger/probe": probe, "/.oncegate/ledger/cancel": cancel };

const server = createServer(async (request, response) => {
  const act = routes[request.url.split("?")[0]];
  if (request.method !== "POST" || !act) return response.writeHead(404).end();
  if (!isSigned(request)) return response.writeHead(401).end();
  try {
    const chunks = await request.toArray();
    const call = {
      key: request.headers["idempotency-key"],
      fingerprint: request.headers["oncegate-fingerprint"],
      generated: request.headers["oncegate-key-kind"] === "generated",
    };
    const answer = act(call, Buffer.concat(chunks).toString());
    const headers = { "content-type": "application/json", "idempotency-outcome": answer.outcome };
    if (answer.recorded) headers["oncegate-fingerprint"] = answer.recorded;
    response.writeHead(answer.status, headers).end(answer.body);
  } catch (error) {
    // Nobody says what became of the operation: the gate asks again.
    console.error(error);
    response.writeHead(500).end();
  }
});
server.listen(process.env.PORT, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
