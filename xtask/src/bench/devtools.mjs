// Chromium over its DevTools protocol: as much of it as the benchmark needs, and nothing in the page that is measured. A driver's library would
// watch its network and its console, which costs the page time.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { endGroup, program, says, startGroup } from "../../../tests/support/engines/processes.mjs";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** One browser, which stays: what is measured are pages, not its start. */
export async function startBrowser() {
  const folder = await mkdtemp(join(tmpdir(), "oncegate-bench-"));
  const group = await startGroup("chromium", program("ONCEGATE_CHROMIUM"), [...FLAGS, `--user-data-dir=${folder}/profile`, "--remote-debugging-port=0"], folder);
  const [, url] = await says(group, /DevTools listening on (ws:\S+)/);
  const browser = new Browser(new WebSocket(url));
  await browser.opened;
  return {
    freshPage: (url) => freshPage(browser, url),
    async stop() {
      browser.close();
      await endGroup(group);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

class Browser {
  #socket;
  #waiting = new Map();
  #listeners = new Set();
  #id = 0;

  constructor(socket) {
    this.#socket = socket;
    this.opened = new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
    socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
    socket.onclose = () => this.#waiting.forEach(({ reject }) => reject(new Error("the browser has closed the connection")));
  }

  send(method, params = {}, sessionId = undefined) {
    const id = (this.#id += 1);
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise((resolve, reject) => this.#waiting.set(id, { method, resolve, reject }));
  }

  /** The next event of this name in a page. */
  event(method, sessionId) {
    return new Promise((resolve) => {
      const listener = (said) => said.method === method && said.sessionId === sessionId && (this.#listeners.delete(listener), resolve(said.params));
      this.#listeners.add(listener);
    });
  }

  close() {
    this.#socket.close();
  }

  #hear(said) {
    if (said.id === undefined) return this.#listeners.forEach((listener) => listener(said));
    const { method, resolve, reject } = this.#waiting.get(said.id);
    this.#waiting.delete(said.id);
    return said.error ? reject(new Error(`${method}: ${said.error.message}`)) : resolve(said.result);
  }
}

/** A page in a context of its own: nothing is stored, nothing is cached, no connection is open. It has loaded. */
async function freshPage(browser, url) {
  const { browserContextId } = await browser.send("Target.createBrowserContext");
  const { targetId } = await browser.send("Target.createTarget", { url: "about:blank", browserContextId });
  const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
  const send = (method, params) => browser.send(method, params, sessionId);
  await send("Page.enable");
  const loaded = browser.event("Page.loadEventFired", sessionId);
  await send("Page.navigate", { url });
  await loaded;
  // Counted by the processor time of the page's thread: other programs do not add to it.
  await send("Performance.enable", { timeDomain: "threadTicks" });
  return {
    /** Calls a function in the page. */
    async run(action, ...args) {
      const expression = `(${action})(...${JSON.stringify(args)})`;
      const { result, exceptionDetails: fault } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
      if (fault) throw new Error(fault.exception?.description ?? fault.text);
      return result.value;
    },

    /** The milliseconds that the page's thread has worked. */
    async worked() {
      const { metrics } = await send("Performance.getMetrics");
      return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
    },

    close: () => browser.send("Target.disposeBrowserContext", { browserContextId }),
  };
}
