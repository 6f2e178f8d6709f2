// The databases of released versions: what they say of each key must never change (rule I5).

import { exports } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, test } from "vitest";

import database from "./fixtures/v0.1/database.json";
import cases from "./fixtures/v0.1/expected.json";
import { GATE, look, shardNamed } from "./support/gate.mjs";

beforeAll(async () => {
  for (const { shard, statements } of database.databases) {
    // Before the shard's first call: it opens its store there.
    await runInDurableObject(shardNamed(shard), (_, { storage }) => statements.forEach((statement) => storage.sql.exec(statement)));
  }
});

for (const { key, route, seen, answer, other } of cases) {
  test(`i5 a record of version 0.1 is read: ${key} (${route})`, async () => {
    expect(await look(`"${key}"`, `?route=${route}`)).toMatchObject(seen);
    if (answer) expect(await replay(key, route)).toEqual(answer);
    if (other) expect(problem(await replay(key, route, "another request"))).toEqual(problem(other));
  });
}

async function replay(key, route, note = "") {
  const headers = { "content-type": "application/json", ...(route !== "generated" && { "idempotency-key": `"${key}"` }) };
  const response = await exports.default.fetch(`${GATE}/${route}`, { method: "POST", headers, body: JSON.stringify({ no: key, note }) });
  const kept = ["content-type", "location", "idempotency-status", "idempotency-replayed", "oncegate-operation"];
  const bytes = await response.bytes();
  return {
    status: response.status,
    headers: Object.fromEntries(kept.filter((name) => response.headers.has(name)).map((name) => [name, response.headers.get(name)])),
    body: btoa(String.fromCharCode(...bytes)),
  };
}

/** What a program reads of a problem; its words may get better. */
function problem({ status, headers, body }) {
  const { code, state, executed, safe_new_key } = JSON.parse(atob(body));
  return { status, headers, code, state, executed, safe_new_key };
}
