// An isolate that did not set the switch itself hears of it by asking, behind a request.

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";

import { later } from "./support/clock.mjs";
import { effects, newKey, query, send, until } from "./support/gate.mjs";

function set(mode) {
  const position = { mode, actor: "anna", reason: "a test", since_ms: 1 };
  const body = `1 ${JSON.stringify({ to: "set_switch", route: null, position })}`;
  return env.DESK.getByName("desk").fetch("https://desk/", { method: "POST", body });
}

test("an isolate acts on a change that another one made, and goes back", async () => {
  const key = newKey();
  expect((await send(key)).status).toBe(201);
  await set("refuse");
  later(6_000);
  const refused = await until(() => send(key), ({ status }) => status === 503);
  expect([refused.body.code, refused.body.executed]).toEqual(["gate_unavailable", null]);
  await set("enforce");
  later(6_000);
  await until(() => send(key), ({ says }) => says === "replayed");
  expect(await effects(key)).toBe(1);
});

test("while the Desk cannot be asked, an isolate keeps to what it knows, however old that is", async () => {
  const desk = env.DESK.getByName("desk");
  await set("refuse");
  later(31_000);
  expect((await send(newKey())).status).toBe(503);
  await query(desk, "ALTER TABLE notes RENAME TO elsewhere");
  for (const ms of [6_000, 31_000, 3_600_000]) {
    later(ms);
    const key = newKey();
    expect([(await send(key)).status, await effects(key)]).toEqual([503, 0]);
  }
  await query(desk, "ALTER TABLE elsewhere RENAME TO notes");
  await set("enforce");
  later(31_000);
  expect((await send(newKey())).says).toBe("executed");
});
