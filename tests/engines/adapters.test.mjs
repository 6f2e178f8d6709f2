// The package's adapters, with the real libraries, in every engine: a double click is one order, and its answer arrives.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { bundle } from "../../sdk/tests/pages.mjs";
import { inEveryEngine, paid, ready, world } from "../support/engines/index.mjs";
import { order } from "../support/stack.mjs";

const SCRIPT = `
  import axios from "axios";
  import ky from "ky";
  import { createOncegate } from "oncegate";
  import { installOncegate } from "oncegate/axios";
  import { createFetch } from "oncegate/fetch";
  import { oncegateOptions } from "oncegate/ky";

  const client = (window.og = createOncegate({ backoff: { baseMs: 50, capMs: 400 } }));
  const [intent, body] = ["cart-1", ${order()}];
  const said = (outcome) => (document.getElementById("result").dataset.outcome = outcome);
  const sent = ({ status }) => said(status === 201 ? "done" : String(status));
  const press = (send) => (document.getElementById("pay").onclick = () => void send());
  const adapters = {
    fetch: () => press(() => createFetch({ client })("/orders", { method: "POST", body, intent }).then(sent)),
    axios() {
      const api = axios.create({ baseURL: "/" });
      installOncegate(api, { client });
      press(() => api.post("orders", body, { intent }).then(sent));
    },
    ky: () => press(() => ky.extend(oncegateOptions({ client })).post("/orders", { json: body, intent }).then(sent)),
  };
  /** Sends a form with a file; what comes back is the code of a mistake, if it is one. */
  window.sendFile = (name) => {
    const form = new FormData();
    form.append("card", new File(["bytes of the file"], "card.txt", { type: "text/plain" }));
    const api = axios.create();
    installOncegate(api, { client });
    const sends = {
      fetch: () => createFetch({ client })("/orders", { method: "POST", body: form, intent: "file" }),
      axios: () => api.post("/orders", form, { intent: "file" }),
      ky: () => ky.extend(oncegateOptions({ client })).post("/orders", { body: form, intent: "file" }),
    };
    return sends[name]().then(() => undefined, ({ code }) => code);
  };
  adapters[new URLSearchParams(location.search).get("with")]();
  await client.ready;
  window.isReady = true;`;

let script;

inEveryEngine((engine) => {
  before(async () => {
    script ??= await bundle(SCRIPT);
  });

  for (const name of ["fetch", "axios", "ky"]) {
    test(`${name}: a double click is one order, also when its first answer is lost`, async () => {
      world.door.scripts = { "adapters.js": script };
      world.door.acts = ["lose"];
      await world.tab.open(`${world.door.url}/pages/adapters.html?with=${name}`);
      await ready(world.tab);
      await world.tab.click("#pay", { times: 2, gapMs: 80 });
      await paid();
      assert.equal(world.door.keys.size, 1);
    });
  }

  // axios and ky put the form into a Request, out of which WebKit cannot read a file.
  for (const name of ["fetch", "axios", "ky"]) {
    const isRefused = engine === "webkit" && name !== "fetch";
    test(`${name}: a form with a file ${isRefused ? "is refused before anything is sent" : "is sent whole"}`, async () => {
      world.door.scripts = { "adapters.js": script };
      await world.tab.open(`${world.door.url}/pages/adapters.html?with=${name}`);
      await ready(world.tab);
      const code = await world.tab.run((dialect) => window.sendFile(dialect), name);
      assert.equal(code === "body_unreadable", isRefused, code);
      assert.equal(world.door.bodies.filter(({ body }) => body.includes("\r\n\r\nbytes of the file\r\n")).length, isRefused ? 0 : 1);
    });
  }
});
