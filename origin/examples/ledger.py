"""A ledger origin in Python, without a dependency: what docs/origin.md asks for, in one file.

``POST /payments {"order", "cents"}`` takes a payment. Start it with PORT, DATABASE (a file) and ONCEGATE_SIGNING_SECRETS (what the
gate has as SIGNING_SECRETS). With Flask, Django or FastAPI the handler changes, and nothing else does.

Invariant: a payment and the row of its key are committed together or not at all. That only one of several attempts gets through comes
from the primary key: the claim is inserted first, and whoever inserts the same waits for the first one's end.
"""

import hashlib
import hmac
import json
import os
import re
import sqlite3
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLOCK_TOLERANCE_MS = 5 * 60 * 1000
LOCK_WAIT_S = 5
SECRETS = dict(entry.strip().split("=", 1) for entry in os.environ["ONCEGATE_SIGNING_SECRETS"].split(","))
SIGNED = ("Idempotency-Key", "Oncegate-Attempt", "Oncegate-Operation", "Oncegate-Key-Kind", "Oncegate-Fingerprint")
TABLES = """
CREATE TABLE IF NOT EXISTS payments (order_no TEXT NOT NULL, cents INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS ledger (
    op_key TEXT NOT NULL, slot TEXT NOT NULL, fingerprint TEXT NOT NULL, outcome TEXT NOT NULL,
    status INTEGER, body TEXT, claimed_at INTEGER NOT NULL, PRIMARY KEY (op_key, slot)
);
"""


class Call:
    """Who asks for what, as the gate signed it."""

    def __init__(self, headers):
        self.key = headers["Idempotency-Key"]
        self.fingerprint = headers["Oncegate-Fingerprint"]
        self.generated = headers["Oncegate-Key-Kind"] == "generated"


class Answer:
    """What is told, and stored to be told again. ``recorded`` is the fingerprint of the row, where it is another one."""

    def __init__(self, status, outcome, body, recorded=None):
        self.status, self.outcome, self.body, self.recorded = status, outcome, body, recorded


class Refused(Exception):
    """The business says no: what was done is undone, and the answer stays."""


def is_signed(method, path, headers):
    """Whether the call comes from the gate (L1)."""
    match = re.fullmatch(r"t=(\d{1,16}), kid=([^,]+), v1=([0-9a-f]{64})", headers.get("Oncegate-Signature", ""))
    if not match or any(len(headers.get_all(name, [])) > 1 for name in (*SIGNED, "Oncegate-Signature")):
        return False
    t, kid, v1 = match.groups()
    if kid not in SECRETS or abs(time.time() * 1000 - int(t)) > CLOCK_TOLERANCE_MS:
        return False
    lines = ["oncegate-signature-v1", t, method, path, *(headers.get(name, "") for name in SIGNED)]
    mac = hmac.new(SECRETS[kid].encode(), "\n".join(lines).encode("latin-1"), hashlib.sha256)
    return hmac.compare_digest(mac.hexdigest(), v1)


def transaction(act):
    """Runs ``act`` in one transaction. The handler has a connection of its own, as a pool would give it one."""
    database = sqlite3.connect(os.environ["DATABASE"], timeout=LOCK_WAIT_S, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        try:
            answer = act(database)
            if database.in_transaction:
                database.execute("COMMIT")
            return answer
        finally:
            if database.in_transaction:
                database.execute("ROLLBACK")
    finally:
        database.close()


def attempt(call, body):
    """Takes the key, then answers from its row, or does the effect and keeps what it came to (L2 to L5)."""

    def act(database):
        claim = "INSERT INTO ledger VALUES (?, '', ?, 'claimed', NULL, NULL, ?) ON CONFLICT DO NOTHING"
        database.execute(claim, (call.key, call.fingerprint, int(time.time() * 1000)))
        answer = recorded(call, rows(database, call))
        if answer:
            database.execute("ROLLBACK")
            return answer
        database.execute("SAVEPOINT effect")
        try:
            return settle(database, call, Answer(201, "executed", pay(database, body)))
        except Refused as refusal:
            database.execute("ROLLBACK TO effect")
            return settle(database, call, Answer(402, "refused", json.dumps({"error": str(refusal)})))

    return transaction(act)


def probe(call):
    """What became of the key (L6). Without a row: unknown, because an attempt may still be on its way."""
    return transaction(lambda database: settled(call, rows(database, call)) or Answer(200, "unknown", "{}"))


def cancel(call):
    """From now on the key has no effect (L6). If it comes too late, it hears what an attempt would."""

    def act(database):
        answer = settled(call, rows(database, call))
        if answer:
            return answer
        insert = "INSERT INTO ledger VALUES (?, '', ?, 'cancelled', 410, '{}', ?)"
        database.execute(insert, (call.key, call.fingerprint, int(time.time() * 1000)))
        return Answer(410, "cancelled", "{}")

    return transaction(act)


def rows(database, call):
    """What is settled under the key, the strongest first: executed or cancelled, then the refusal of this request."""
    return database.execute(
        "SELECT outcome, fingerprint, status, body FROM ledger WHERE op_key = ? AND outcome <> 'claimed'"
        " ORDER BY outcome = 'refused', fingerprint <> ?",
        (call.key, call.fingerprint),
    ).fetchall()


def recorded(call, found):
    """The answer that stands in the way of an attempt, if there is one."""
    if not found:
        return None
    outcome, fingerprint, status, body = found[0]
    if outcome == "cancelled" or fingerprint == call.fingerprint:
        return Answer(status, outcome, body)
    if outcome == "refused" and call.generated:
        return None  # Another card for the same order.
    return Answer(422, outcome, json.dumps({"error": "this key was used for another payment"}), recorded=fingerprint)


def settled(call, found):
    """The answer to a question about this very request: a refusal of another one is none."""
    return recorded(call, [row for row in found[:1] if row[0] != "refused" or row[1] == call.fingerprint])


def settle(database, call, answer):
    """Turns the claim into what became of it. A generated key may have several refusals, so each has a slot of its own."""
    slot = call.fingerprint if answer.outcome == "refused" else ""
    update = "UPDATE ledger SET slot = ?, outcome = ?, status = ?, body = ? WHERE op_key = ? AND slot = ''"
    database.execute(update, (slot, answer.outcome, answer.status, answer.body, call.key))
    return answer


def pay(database, body):
    """The effect. What your service does already, through this transaction and nothing else."""
    try:
        payment = json.loads(body)
        order, cents = payment["order"], payment["cents"]
    except (ValueError, TypeError, KeyError):
        raise Refused("write an order and its cents") from None
    if not isinstance(order, str) or type(cents) is not int:
        raise Refused("write an order and its cents")
    database.execute("INSERT INTO payments (order_no, cents) VALUES (?, ?)", (order, cents))
    if cents > 100_000:
        raise Refused("declined")
    return json.dumps({"paid": order})


ROUTES = {
    "/payments": attempt,
    "/.oncegate/ledger/probe": lambda call, _body: probe(call),
    "/.oncegate/ledger/cancel": lambda call, _body: cancel(call),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        act = ROUTES.get(self.path.split("?")[0])
        if act is None:
            return self.tell(404)
        if not is_signed("POST", self.path, self.headers):
            return self.tell(401)
        try:
            answer = act(Call(self.headers), body)
        except sqlite3.Error as error:
            # Nobody says what became of the operation: the gate asks again.
            self.log_error("%s", error)
            return self.tell(500)
        headers = {"Idempotency-Outcome": answer.outcome, "Content-Type": "application/json"}
        if answer.recorded:
            headers["Oncegate-Fingerprint"] = answer.recorded
        self.tell(answer.status, headers, answer.body.encode())

    def tell(self, status, headers={}, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code="-", size="-"):
        pass


if __name__ == "__main__":
    connection = sqlite3.connect(os.environ["DATABASE"])
    connection.executescript(f"PRAGMA journal_mode = WAL; {TABLES}")
    connection.close()
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
