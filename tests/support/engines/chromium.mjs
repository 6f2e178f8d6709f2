// Chromium, driven by chromedriver.

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

import { freePort } from "../ports.mjs";
import { endGroup, program, startGroup } from "./processes.mjs";
import { openSession, ready } from "./webdriver.mjs";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

/** What duplicates a tab. An extension that lies in a folder is named by that. */
const DUPLICATOR = fileURLToPath(new URL("duplicator", import.meta.url));
const EXTENSION = createHash("sha256").update(DUPLICATOR).digest("hex").slice(0, 32).replace(/./g, (digit) => "abcdefghijklmnop"[Number.parseInt(digit, 16)]);
const WITH_DUPLICATOR = [`--load-extension=${DUPLICATOR}`, "--disable-features=DisableLoadExtensionCommandLineSwitch"];

export const chromium = {
  name: "chromium",

  /** Without a driver, as a customer starts it: what it stores stays in `folder` when it is killed. */
  alone: (folder) => ({
    open: (url) => startGroup("chromium", program("ONCEGATE_CHROMIUM"), [...FLAGS, `--user-data-dir=${folder}/profile`, "--remote-debugging-port=0", url], folder),
    stores: /Local Storage\/leveldb/,
    stop: () => {},
  }),

  async start(folder) {
    const port = await freePort();
    const group = await startGroup("chromedriver", program("ONCEGATE_CHROMEDRIVER"), [`--port=${port}`], folder);
    const driver = `http://127.0.0.1:${port}`;
    await ready(driver);
    return { customer: () => newCustomer(driver), stop: () => endGroup(group) };
  },
};

async function newCustomer(driver) {
  const options = { binary: program("ONCEGATE_CHROMIUM"), args: [...FLAGS, ...WITH_DUPLICATOR] };
  const session = await openSession(driver, { browserName: "chrome", "goog:chromeOptions": options });
  const network = (offline) => ({ network_conditions: { offline, latency: 0, upload_throughput: -1, download_throughput: -1 } });
  return {
    first: () => session.first(),
    tab: () => session.another("tab"),
    duplicate: (tab) =>
      session.appearing(() => tab.run((extension) => new Promise((resolve) => chrome.runtime.sendMessage(extension, "duplicate", resolve)), EXTENSION)),
    close: () => session.close(),
    offline: (tab, yes) => tab.driver.send("POST", "/chromium/network_conditions", network(yes)),
    // The driver answers that the tab has crashed. A session whose windows have all crashed opens no other: there must be one more.
    crash: (tab) => tab.driver.send("POST", "/goog/cdp/execute", { cmd: "Page.crash", params: {} }).then(() => 0, ({ code }) => Number(code === "tab crashed")),
    hide: (tab) => tab.driver.send("POST", "/window/minimize", {}),
    slow: (tab, rate) => tab.driver.send("POST", "/goog/cdp/execute", { cmd: "Emulation.setCPUThrottlingRate", params: { rate } }),
  };
}
