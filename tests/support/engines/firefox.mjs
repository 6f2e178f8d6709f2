// Firefox, which speaks WebDriver BiDi itself. One browser serves a file's tests; each customer is a user context: own storage, own cookies.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { duplicate, openBidi, openTab } from "./bidi.mjs";
import { endGroup, killMembers, program, says, startGroup } from "./processes.mjs";

export const firefox = {
  name: "firefox",

  /** Without a driver, as a customer starts it: what it stores stays in `folder` when it is killed. */
  alone: (folder) => ({
    async open(url) {
      const profile = join(folder, "profile");
      await mkdir(profile, { recursive: true });
      return startGroup("firefox", program("ONCEGATE_FIREFOX"), ["-headless", "--no-remote", "--profile", profile, url], folder);
    },
    stores: /\/ls\/data\.sqlite/,
    stop: () => {},
  }),

  async start(folder) {
    const profile = join(folder, "profile");
    await mkdir(profile);
    const args = ["-headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "--remote-allow-system-access"];
    const group = await startGroup("firefox", program("ONCEGATE_FIREFOX"), args, folder);
    const [, url] = await says(group, /WebDriver BiDi listening on (ws:\S+)/);
    const bidi = await openBidi(`${url}/session`);
    return {
      customer: () => newCustomer(bidi, group),
      async stop() {
        bidi.close();
        await endGroup(group);
      },
    };
  },
};

async function newCustomer(bidi, group) {
  const { userContext } = await bidi.send("browser.createUserContext", {});
  const network = (offline) => (offline ? { type: "offline" } : null);
  return {
    first: () => openTab(bidi, userContext, "tab"),
    tab: () => openTab(bidi, userContext, "tab"),
    slow: (tab, rate) => tab.slow(rate),
    duplicate: (tab) => duplicate(bidi, tab),
    close: () => bidi.send("browser.removeUserContext", { userContext }),
    // Which process is a tab's, nobody says: all that show pages are killed, and with them every tab.
    crash: () => killMembers(group, / -contentproc .* tab $/),
    offline: ({ driver }, yes) =>
      bidi.send("emulation.setNetworkConditions", { contexts: [driver.context], networkConditions: network(yes) }),
  };
}
