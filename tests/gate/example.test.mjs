// The ledger origins that docs/origins shows, behind the gate: they do what they tell others to do.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";

import { startOrigin } from "../support/origin.mjs";
import { json, startStack, until } from "../support/stack.mjs";

const source = (name) => new URL(`../../origin/examples/${name}`, import.meta.url).pathname;

for (const [language, prepare] of [
  ["Node", sqlite(process.execPath, source("ledger.mjs"))],
  ["Python", sqlite(process.env.ONCEGATE_PYTHON ?? "python3", source("ledger.py"))],
  ["Go", go],
]) {
  describe(language, () => check(prepare));
}

/** An example that makes its tables itself, in a file. */
function sqlite(program, file) {
  return (folder) => {
    const path = join(folder, "payments.sqlite");
    const charges = (order) => {
      const database = new DatabaseSync(path, { readOnly: true });
      const { n } = database.prepare("SELECT count(*) AS n FROM payments WHERE order_no = ?").get(order);
      database.close();
      return n;
    };
    return { command: [program, file], env: { DATABASE: path }, charges, stop() {} };
  };
}

/** Built with Debian's driver, on a server of its own, with the tables that the guide shows. */
async function go(folder) {
  const program = join(folder, "ledger");
  const GOPATH = process.env.ONCEGATE_GO_PQ ? resolve(process.env.ONCEGATE_GO_PQ, "../../../../..") : "/usr/share/gocode";
  const env = { ...process.env, GOPATH, GO111MODULE: "off", GOFLAGS: "", GOCACHE: join(tmpdir(), "oncegate-go-cache") };
  execFileSync(process.env.ONCEGATE_GO ?? "go", ["build", "-o", program, source("go/main.go")], { env, stdio: "inherit" });
  const data = await mkdtemp(join(tmpdir(), "oncegate-go-"));
  const [xtask, ...first] = process.env.ONCEGATE_XTASK?.split(" ") ?? ["cargo", "xtask"];
  const server = spawn(xtask, [...first, "database", "postgres", "--state-dir", data], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  const { url } = JSON.parse(line);
  const ask = (sql) => execFileSync(process.env.ONCEGATE_PSQL ?? "psql", ["-XAtq", url, "-c", sql], { encoding: "utf8" });
  const guide = await readFile(new URL("../../docs/origins/README.md", import.meta.url), "utf8");
  ask(/^-- PostgreSQL\n(.+?^\);)$/ms.exec(guide)[1]);
  ask("CREATE TABLE payments (order_no TEXT PRIMARY KEY, cents BIGINT NOT NULL)");
  return {
    command: [program],
    env: { DATABASE_URL: `${url}?sslmode=disable` },
    charges: (order) => Number(ask(`SELECT count(*) FROM payments WHERE order_no = '${order}'`)),
    async stop() {
      server.stdin.end();
      await once(server, "exit");
      await rm(data, { recursive: true, force: true });
    },
  };
}

function check(prepare) {
  let proxy;
  let stack;
  let place;
  let example;
  let secret;
  let losing = false;

  before(async () => {
    // What the gate calls: it passes everything on to the example, and loses an answer if it is told to.
    proxy = await startOrigin();
    stack = await startStack({ path: "/payments", lease_ms: 1_000, wait_ms: 500, client_timeout_ms: 1_000 }, proxy);
    const secrets = await readFile(join(stack.folder, ".dev.vars"), "utf8");
    const ONCEGATE_SIGNING_SECRETS = /^SIGNING_SECRETS=(.*)$/m.exec(secrets)[1];
    secret = ONCEGATE_SIGNING_SECRETS.split("=");
    place = await prepare(stack.folder);
    const env = { ...process.env, ...place.env, PORT: 0, ONCEGATE_SIGNING_SECRETS };
    const [program, ...rest] = place.command;
    example = spawn(program, rest, { env, stdio: ["ignore", "pipe", "inherit"] });
    const [url] = await once(createInterface({ input: example.stdout }), "line");
    proxy.handle = (request, response) => forward(url, request, response);
  });
  after(async () => {
    example?.kill();
    await place?.stop();
    await stack?.stop();
    await proxy?.stop();
  });

  const charges = (order) => place.charges(order);

  async function forward(url, { method, url: path, headers, body }, response) {
    const { host, connection, "content-length": length, ...rest } = headers;
    const answer = await fetch(url + path, { method, headers: rest, body: body.length ? body : undefined });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (losing) return response.destroy();
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(bytes);
  }

  const pay = async (key, payment) => {
    const answer = await fetch(`${stack.gate}/payments`, {
      method: "POST",
      headers: { ...json, "idempotency-key": key },
      body: JSON.stringify(payment),
    });
    return { status: answer.status, says: answer.headers.get("idempotency-status"), body: await answer.json() };
  };

  test("a payment is taken once, and its duplicates get its answer", async () => {
    const first = await pay("p-1", { order: "A1", cents: 500 });
    assert.deepEqual(first, { status: 201, says: "executed", body: { paid: "A1" } });
    assert.deepEqual(await pay("p-1", { order: "A1", cents: 500 }), { ...first, says: "replayed" });
    assert.equal(charges("A1"), 1);
  });

  test("a lost answer is found in the row", async () => {
    losing = true;
    const first = await pay("p-2", { order: "A2", cents: 500 });
    losing = false;
    assert.equal(first.says, "unknown");
    const again = await until(() => pay("p-2", { order: "A2", cents: 500 }), ({ status }) => status === 201);
    assert.equal(again.body.paid, "A2");
    assert.equal(charges("A2"), 1);
  });

  test("a refusal undoes the effect and stays", async () => {
    const first = await pay("p-3", { order: "A3", cents: 200_000 });
    assert.deepEqual(first, { status: 402, says: "refused", body: { error: "declined" } });
    assert.equal(charges("A3"), 0);
  });

  test("another payment under a known key is not taken", async () => {
    const { status, body } = await pay("p-1", { order: "A4", cents: 500 });
    assert.deepEqual([status, body.code], [422, "key_reused"]);
    assert.equal(charges("A4"), 0);
  });

  test("a key that was never seen is dead after its cancellation", async () => {
    const headers = { "idempotency-key": "p-5" };
    const answer = await fetch(`${stack.gate}/.oncegate/v1/operations/cancel`, { method: "POST", headers });
    assert.deepEqual([answer.status, (await answer.json()).state], [200, "cancelled"]);
    assert.equal((await pay("p-5", { order: "A5", cents: 500 })).status, 410);
    assert.equal(charges("A5"), 0);
  });

  test("a cancellation that comes too late hears of the payment", async () => {
    losing = true;
    await pay("p-6", { order: "A6", cents: 500 });
    losing = false;
    const headers = { "idempotency-key": "p-6" };
    const answer = await fetch(`${stack.gate}/.oncegate/v1/operations/cancel`, { method: "POST", headers });
    assert.equal((await answer.json()).state, "executed");
    assert.equal(charges("A6"), 1);
  });

  /** A call as the gate signs it, without the gate. */
  async function signed(path, key, fingerprint, { kind = "client", cents = 500 } = {}) {
    const [kid, value] = secret;
    const t = Date.now();
    const text = ["oncegate-signature-v1", t, "POST", path, key, "1", "op_1", kind, fingerprint].join("\n");
    const v1 = createHmac("sha256", value).update(text).digest("hex");
    const headers = {
      "idempotency-key": key,
      "oncegate-attempt": "1",
      "oncegate-operation": "op_1",
      "oncegate-key-kind": kind,
      "oncegate-fingerprint": fingerprint,
      "oncegate-signature": `t=${t}, kid=${kid}, v1=${v1}`,
    };
    const answer = await fetch(proxy.url + path, { method: "POST", headers, body: JSON.stringify({ order: key, cents }) });
    const says = answer.headers.get("idempotency-outcome");
    return { status: answer.status, says, of: answer.headers.get("oncegate-fingerprint") };
  }

  test("l5 another fingerprint hears what is recorded, and a probe what became of its own", async () => {
    const [one, other] = ["1".repeat(64), "2".repeat(64)];
    const probe = (fingerprint) => signed("/.oncegate/ledger/probe", "p-7", fingerprint);
    assert.deepEqual(await probe(one), { status: 200, says: "unknown", of: null });
    assert.deepEqual(await signed("/payments", "p-7", one), { status: 201, says: "executed", of: null });
    assert.deepEqual(await signed("/payments", "p-7", other), { status: 422, says: "executed", of: one });
    assert.deepEqual(await probe(one), { status: 201, says: "executed", of: null });
    assert.equal(charges("p-7"), 1);
  });

  test("l5 another card may pay the order of a generated key after a refusal, and each hears its own answer", async () => {
    const [poor, rich] = ["3".repeat(64), "4".repeat(64)];
    const attempt = (fingerprint, cents) => signed("/payments", "order-9", fingerprint, { kind: "generated", cents });
    assert.deepEqual(await attempt(poor, 200_000), { status: 402, says: "refused", of: null });
    assert.deepEqual(await attempt(rich, 500), { status: 201, says: "executed", of: null });
    assert.deepEqual(await attempt(poor, 200_000), { status: 422, says: "executed", of: rich });
    assert.equal(charges("order-9"), 1);
  });

  test("l3 twenty attempts at once have one effect and one answer", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => signed("/payments", "p-10", "5".repeat(64))));
    for (const answer of answers) assert.deepEqual(answer, { status: 201, says: "executed", of: null });
    assert.equal(charges("p-10"), 1);
  });

  test("who is not the gate is turned away", async () => {
    const { url } = proxy;
    const answer = await fetch(`${url}/payments`, { method: "POST", headers: { "idempotency-key": "p-8" }, body: "{}" });
    assert.equal(answer.status, 401);
  });
}
