// A database of an earlier version (see fixtures/make.mjs): what it says of each key must never change (rule I5).

import { env, exports } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, test } from "vitest";

import { GATE, look } from "./gate.mjs";

const BINDINGS = { shard: "SHARDS", desk: "DESK", locks: "LOCKS" };

/** An object by its name, which begins with what it is. */
export function objectNamed(name) {
  return env[BINDINGS[name.split("-")[0]]].getByName(name);
}

/** Puts the rows into their objects, and asks for every key that is among them. */
export function readsAsBefore({ version, databases }, cases) {
  beforeAll(async () => {
    for (const { object, statements } of databases) {
      // Before the object's first call: it opens its store there.
      await runInDurableObject(objectNamed(object), (_, { storage }) => statements.forEach((statement) => storage.sql.exec(statement)));
    }
  });
  for (const { key, route, seen, answer, other } of cases) {
    test(`i5 a record of ${version} is read: ${key} (${route})`, async () => {
      expect(await look(`"${key}"`, `?route=${route}`, user(route))).toMatchObject(seen);
      if (answer) expect(told(await replay(key, route))).toEqual(told(answer));
      if (other) expect(told(await replay(key, route, "another request"))).toEqual(told(other));
    });
  }
}

/** Who asks, where it matters. */
export function user(route, name = "ada") {
  return route === "bound" ? { "x-user": name } : {};
}

/** The next request under a key. */
export async function replay(key, route, note = "", headers = user(route)) {
  const named = { "content-type": "application/json", ...(route !== "generated" && { "idempotency-key": `"${key}"` }), ...headers };
  const response = await exports.default.fetch(`${GATE}/${route}`, { method: "POST", headers: named, body: JSON.stringify({ no: key, note }) });
  const kept = ["content-type", "location", "idempotency-status", "idempotency-replayed", "oncegate-operation"];
  const bytes = await response.bytes();
  return {
    status: response.status,
    headers: Object.fromEntries(kept.filter((name) => response.headers.has(name)).map((name) => [name, response.headers.get(name)])),
    body: btoa(String.fromCharCode(...bytes)),
  };
}

/** What a program reads of an answer. The words of a problem may get better. */
export function told(answer) {
  const { status, headers, body } = answer;
  if (headers["content-type"] !== "application/problem+json") return answer;
  const { code, state, executed, safe_new_key } = JSON.parse(atob(body));
  return { status, headers, code, state, executed, safe_new_key };
}
