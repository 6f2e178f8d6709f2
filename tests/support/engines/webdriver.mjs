// W3C WebDriver over fetch: as much of it as these tests need. Invariant: the calls of one session run one after the other, each in the
// window that it is meant for, and each within a time limit.

import { until } from "../stack.mjs";
import { Tab } from "./tab.mjs";

const LIMIT_MS = 30_000;

/** One call of a driver. */
async function ask(url, method, body) {
  const init = { method, headers: { "content-type": "application/json" }, signal: AbortSignal.timeout(LIMIT_MS) };
  const answer = await fetch(url, { ...init, body: body && JSON.stringify(body) });
  const { value } = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(`${method} ${new URL(url).pathname}: ${value.error}: ${value.message}`), { code: value.error });
  return value;
}

/** Waits until the driver takes sessions. */
export async function ready(driver) {
  for (const end = Date.now() + LIMIT_MS; ; ) {
    try {
      return await ask(`${driver}/status`, "GET");
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** A browser of its own, with nothing stored. */
export async function openSession(driver, capabilities) {
  const { sessionId } = await ask(`${driver}/session`, "POST", { capabilities: { alwaysMatch: capabilities } });
  return new Session(`${driver}/session/${sessionId}`);
}

class Session {
  #url;
  #last = Promise.resolve();
  #window;

  constructor(url) {
    this.#url = url;
  }

  /** One command, in a window if it is about one. */
  send(method, path, body, window) {
    const turn = this.#last.then(async () => {
      if (window !== undefined && window !== this.#window) {
        await ask(`${this.#url}/window`, "POST", { handle: window });
        this.#window = window;
      }
      return ask(`${this.#url}${path}`, method, body);
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** The window that the session begins with. */
  async first() {
    this.#window = await this.send("GET", "/window");
    return this.#tab(this.#window);
  }

  /** A new tab or window: `type` is one of these words. */
  async another(type) {
    const { handle } = await this.send("POST", "/window/new", { type });
    return this.#tab(handle);
  }

  /** The tab that appears when `act` is done. */
  async appearing(act) {
    const windows = () => this.send("GET", "/window/handles");
    const before = await windows();
    await act();
    const after = await until(windows, ({ length }) => length > before.length);
    return this.#tab(after.find((window) => !before.includes(window)));
  }

  close() {
    return this.send("DELETE", "");
  }

  #tab(window) {
    const send = (method, path, body) => this.send(method, path, body, window);
    return new Tab({
      send,
      goto: (url) => send("POST", "/url", { url }),
      call: (source, json) => send("POST", "/execute/sync", { script: `return (${source})(...arguments)`, args: [json] }),
      perform: (actions) => send("POST", "/actions", { actions }),
      reload: () => send("POST", "/refresh", {}),
      back: () => send("POST", "/back", {}),
      picture: () => send("GET", "/screenshot"),
      close: async () => {
        await send("DELETE", "/window");
        this.#window = undefined;
      },
    });
  }
}
