// WebKit (GTK), driven by WebKitWebDriver, on a display of its own: without one a session request hangs for ever.

import { freePort } from "../ports.mjs";
import { endGroup, program, says, startGroup } from "./processes.mjs";
import { openSession, ready } from "./webdriver.mjs";

export const webkit = {
  name: "webkit",

  /**
   * Without a driver, as a customer starts it: what it stores stays in `folder` when it is killed. The driver's sessions store nothing, and end
   * when a page's process dies.
   */
  async alone(folder) {
    const { display, env } = await newDisplay(folder);
    return {
      open: (url) => startGroup("minibrowser", program("ONCEGATE_WEBKIT"), [url], folder, env),
      stores: /\.localstorage/,
      stop: () => endGroup(display),
    };
  },

  async start(folder) {
    const { display, env } = await newDisplay(folder);
    const port = await freePort();
    const group = await startGroup("webkit", program("ONCEGATE_WEBKIT_DRIVER"), [`--port=${port}`], folder, env);
    const driver = `http://127.0.0.1:${port}`;
    await ready(driver);
    return {
      customer: () => newCustomer(driver),
      async stop() {
        await endGroup(group);
        await endGroup(display);
      },
    };
  },
};

async function newDisplay(folder) {
  const display = await startGroup("xvfb", program("ONCEGATE_XVFB"),
    ["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"], folder);
  const [, number] = await says(display, /^(\d+)\n/m);
  return { display, env: { DISPLAY: `:${number}` } };
}

async function newCustomer(driver) {
  const options = { binary: program("ONCEGATE_WEBKIT"), args: ["--automation"] };
  const session = await openSession(driver, { browserName: "MiniBrowser", "webkitgtk:browserOptions": options });
  return {
    first: () => session.first(),
    tab: () => session.another("tab"),
    slow: (tab, rate) => tab.slow(rate),
    duplicate: (tab) => session.appearing(() => openItself(tab)),
    close: () => session.close(),
  };
}

/** This browser has no menu that duplicates a tab. A window that a page opens itself, when it is clicked on, gets a copy of its session, too. */
async function openItself(tab) {
  await tab.run(() => document.addEventListener("click", () => open(location.href), { once: true }));
  await tab.click("html");
}
