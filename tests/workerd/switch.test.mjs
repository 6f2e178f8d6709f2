// An isolate that did not set the switch itself hears of it by asking, behind a request.

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";

import { effects, newKey, send, until } from "./support/gate.mjs";

function set(mode) {
  const position = { mode, actor: "anna", reason: "a test", since_ms: 1 };
  const body = `1 ${JSON.stringify({ to: "set_switch", route: null, position })}`;
  return env.DESK.getByName("desk").fetch("https://desk/", { method: "POST", body });
}

test("an isolate acts on a change that another one made, and goes back", async () => {
  const key = newKey();
  expect((await send(key)).status).toBe(201);
  await set("refuse");
  const refused = await until(() => send(key), ({ status }) => status === 503);
  expect([refused.body.code, refused.body.executed]).toEqual(["gate_unavailable", null]);
  await set("enforce");
  await until(() => send(key), ({ says }) => says === "replayed");
  expect(await effects(key)).toBe(1);
});
