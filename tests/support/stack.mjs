// A whole chain for one test file: the origin on a SQLite file of its own and the gate in workerd, both ended with the test.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";

/**
 * Starts origin and gate. `overrides` change settings of the protected route, such as { lease_ms: 1500 }, and variables, by their
 * names in capitals. With an `origin` of support/origin.mjs, that one is behind the gate, and no shop is started. With `family`, the page
 * of the family finds what it needs.
 */
export async function startStack(overrides = {}, origin = undefined, { family = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "oncegate-test-"));
  const xtask = process.env.ONCEGATE_XTASK;
  const [command, first] = xtask ? [xtask, []] : ["cargo", ["xtask"]];
  const settings = Object.entries(overrides).flatMap(([name, value]) => ["--route-override", `${name}=${value}`]);
  if (family) settings.push("--family");
  if (origin) settings.push("--origin-url", origin.url);
  const child = spawn(command, [...first, "stack", "--state-dir", folder, "--port", "0", ...settings], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("the stack has ended; what it said is above");
    const said = JSON.parse(value);
    if (said.error) throw new Error(said.error);
    return said;
  };
  const urls = await answer();
  return {
    ...urls,
    /** Where the gate's log and its secrets lie: gate.log, .dev.vars. */
    folder,
    /** One of stop-origin, start-origin, kill-origin, kill-gate, start-gate. */
    async tell(order) {
      child.stdin.write(`${order}\n`);
      return answer();
    },
    /** Puts faults into the origin's queue: one for each order that arrives. */
    async faults(...queue) {
      const answer = await fetch(`${urls.origin}/faults`, { method: "PUT", body: JSON.stringify(queue), headers: json });
      if (!answer.ok) throw new Error(`faults: ${answer.status} ${await answer.text()}`);
    },
    /** Empties the shop and fills its shelves. */
    async clear() {
      await this.faults();
      const answer = await fetch(`${urls.origin}/shop`, { method: "DELETE" });
      if (!answer.ok) throw new Error(`clear: ${answer.status}`);
    },
    /** What the database holds: the oracle of every test. */
    rows() {
      const count = (table) => this.query(`SELECT count(*) AS n FROM ${table}`)[0].n;
      return { orders: count("orders"), payments: count("payments") };
    },
    /** Any rows of the database. */
    query(sql, ...values) {
      const database = new DatabaseSync(urls.database, { readOnly: true });
      try {
        return database.prepare(sql).all(...values).map((row) => ({ ...row }));
      } finally {
        database.close();
      }
    },
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const json = { "content-type": "application/json" };

/** The body of an order that the shop accepts. */
export function order(changes = {}) {
  return JSON.stringify({
    cart: [{ sku: "mug", quantity: 1 }],
    card: { number: "4242 4242 4242 4242", expiry: "12/30", cvc: "123" },
    email: "ada@example.com",
    ...changes,
  });
}

export const declined = { card: { number: "4000 0000 0000 0002", expiry: "12/30", cvc: "123" } };

/** Sends an order through the gate and reads the whole answer. */
export async function send(stack, key, body = order(), init = {}) {
  const response = await fetch(`${stack.gate}/orders`, {
    method: "POST",
    headers: { ...json, ...(key === undefined ? {} : { "idempotency-key": key }), ...init.headers },
    body,
    signal: init.signal,
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  return {
    status: response.status,
    says: response.headers.get("idempotency-status"),
    replayed: response.headers.get("idempotency-replayed") === "true",
    operation: response.headers.get("oncegate-operation"),
    headers: response.headers,
    bytes,
    body: response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text,
  };
}

/** What the gate knows of a key; `route` names one, where keys are its own. */
export async function lookUp(stack, key, route = undefined) {
  const query = route === undefined ? "" : `?route=${route}`;
  const response = await fetch(`${stack.gate}/.oncegate/v1/operations${query}`, { headers: { "idempotency-key": key } });
  return response.json();
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks until `done` says so. Tests wait for what happens, not for a time. */
export async function until(ask, done, limitMs = 30_000) {
  for (const end = Date.now() + limitMs; ; await pause(50)) {
    const value = await ask();
    if (done(value)) return value;
    if (Date.now() > end) throw new Error(`waited ${limitMs} ms in vain; last: ${JSON.stringify(value)}`);
  }
}
