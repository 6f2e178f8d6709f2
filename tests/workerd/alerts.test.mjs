// Who is told of trouble, and from when on. A gate reads its settings once, so that the whole file is one gate's.

import { createExecutionContext, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, inject, test } from "vitest";

import Gate from "../../target/gate/index.js";
import { came, GATE, newKey, query } from "./support/gate.mjs";

const AFTER_MS = 5 * 60_000;
const told = newKey();

beforeAll(async () => {
  const webhook = `${inject("origin")}/alerts?key=${told}`;
  const gate = new Gate(createExecutionContext(), { ...env, ALERTS: { webhook, after_minutes: 5 } });
  expect((await gate.fetch(new Request(`${GATE}/.oncegate/v1/health`))).status).toBe(200);
});

test("an alert comes when the first trouble has lasted for so many minutes, and names what has", async () => {
  const desk = env.DESK.getByName(newKey());
  const alarm = () => runInDurableObject(desk, (_, { storage }) => storage.getAlarm());
  const now = Date.now();
  const troubled = (operation, since_ms) => ({ operation, route: "orders", state: "held", since_ms });
  const added = [troubled("op_new", now - 60_000), troubled("op_old", now - 240_000)];
  await desk.fetch("https://desk/", { method: "POST", body: `1 ${JSON.stringify({ to: "trouble", shard: 7, at_ms: 1, added, removed: [] })}` });
  const due = now - 240_000 + AFTER_MS;
  const isDue = async () => Math.abs((await alarm()) - due) < 10_000;
  expect(await isDue()).toBe(true);
  await runDurableObjectAlarm(desk);
  expect([await came(told), await isDue()]).toEqual(["", true]);

  await query(desk, "UPDATE trouble SET since_ms = since_ms - 90000");
  await runDurableObjectAlarm(desk);
  const { operations, more } = JSON.parse((await came(told)).replace("application/json ", ""));
  expect([operations, more]).toEqual([[troubled("op_old", now - 330_000)], 0]);
});
