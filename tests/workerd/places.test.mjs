// Where objects are made, and where they have to stay: as the settings say, and every one of them.
//
// Workerd on one machine has no jurisdictions. The seam is the prototype of its namespaces; a gate reads its settings once, so that the
// whole file is one gate's.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

import Gate from "../../target/gate/index.js";
import { effects, GATE, newKey } from "./support/gate.mjs";

const PLACE = { jurisdiction: "eu", locationHint: "weur" };
const SECRET = "0123456789abcdef";
const prototype = Object.getPrototypeOf(env.SHARDS);
const { getByName, jurisdiction } = prototype;
/** The objects that were called, and in which place each was looked for. */
const called = [];

beforeAll(() => {
  prototype.jurisdiction = function (jurisdiction) {
    return {
      getByName: (name, options) => ({
        fetch: (...call) => {
          called.push({ name, jurisdiction, ...options });
          return getByName.call(this, name).fetch(...call);
        },
      }),
    };
  };
  prototype.getByName = (name) => {
    throw new Error(`${name} outside of its jurisdiction`);
  };
});
afterAll(() => Object.assign(prototype, { getByName, jurisdiction }));

const gate = new Gate(createExecutionContext(), { ...env, JURISDICTION: PLACE.jurisdiction, LOCATION_HINT: PLACE.locationHint, LOCKS_SECRETS: `a=${SECRET}` });
const authorization = (secret) => ({ authorization: `Bearer ${secret}` });
const fetch = (path, init) => gate.fetch(new Request(`${GATE}${path}`, init));

test("every object is called in the jurisdiction of the settings, and with their hint", async () => {
  const key = newKey();
  const executed = await fetch("/orders", { method: "POST", headers: { "content-type": "application/json", "idempotency-key": key }, body: "{}" });
  expect([executed.status, await effects(key)]).toEqual([201, 1]);
  const locked = await fetch("/.oncegate/v1/locks/a", { method: "POST", headers: { "idempotency-key": key, ...authorization(SECRET) } });
  expect(locked.status).toBe(200);
  const listed = await fetch("/.oncegate/v1/admin/operations?state=trouble", { headers: authorization(inject("admin")) });
  expect(listed.status).toBe(200);
  for (const each of called) expect(each).toEqual({ name: each.name, ...PLACE });
  const kinds = new Set(called.map(({ name }) => name.replace(/-?\d+$/, "")));
  expect([...kinds].sort()).toEqual(["desk", "locks", "shard"]);
});
