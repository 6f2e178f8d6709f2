// WebDriver BiDi over a WebSocket: as much of it as these tests need. Invariant: every call ends, with an answer or at its time limit.

import { until } from "../stack.mjs";
import { Tab } from "./tab.mjs";

const LIMIT_MS = 30_000;

/** Connects to a browser and begins the one session that it has. */
export async function openBidi(url) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no WebDriver BiDi at ${url}`));
  });
  const bidi = new Bidi(socket);
  await bidi.send("session.new", { capabilities: {} });
  return bidi;
}

class Bidi {
  #socket;
  #waiting = new Map();
  #id = 0;

  constructor(socket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#answer(JSON.parse(data));
    socket.onclose = () => this.#waiting.forEach(({ reject }) => reject(new Error("the browser has closed the connection")));
  }

  async send(method, params) {
    const id = (this.#id += 1);
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    const late = setTimeout(() => this.#answer({ id, type: "error", error: "timeout", message: `${LIMIT_MS} ms` }), LIMIT_MS);
    this.#socket.send(JSON.stringify({ id, method, params }));
    try {
      return await answer;
    } catch (error) {
      throw Object.assign(new Error(`${method}: ${error.message}`), { code: error.code });
    } finally {
      clearTimeout(late);
    }
  }

  close() {
    this.#socket.close();
  }

  #answer({ id, type, result, error, message }) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (type === "error") waiting?.reject(Object.assign(new Error(`${error}: ${message}`), { code: error }));
    else waiting?.resolve(result);
  }
}

/** A new tab of a user context. */
export async function openTab(bidi, userContext, type) {
  const { context } = await bidi.send("browsingContext.create", { type, userContext });
  return toTab(bidi, context);
}

/** A second tab like this one, as the tab's own menu makes it: for that, the browser's window is asked. */
export async function duplicate(bidi, { driver: { context } }) {
  const contexts = async (scope) => (await bidi.send("browsingContext.getTree", scope)).contexts.map((tree) => tree.context);
  const [window] = await contexts({ "moz:scope": "chrome" });
  const before = await contexts({});
  await bidi.send("browsingContext.activate", { context });
  await bidi.send("script.evaluate", { expression: "void gBrowser.duplicateTab(gBrowser.selectedTab)", target: { context: window }, awaitPromise: false });
  const after = await until(() => contexts({}), ({ length }) => length > before.length);
  return toTab(bidi, after.find((tab) => !before.includes(tab)));
}

function toTab(bidi, context) {
  return new Tab({
    context,
    goto: (url) => bidi.send("browsingContext.navigate", { context, url, wait: "complete" }),
    call: (source, json) => call(bidi, context, source, json),
    perform: (actions) => bidi.send("input.performActions", { context, actions }),
    reload: () => bidi.send("browsingContext.reload", { context, wait: "complete" }),
    back: () => bidi.send("browsingContext.traverseHistory", { context, delta: -1 }),
    picture: async () => (await bidi.send("browsingContext.captureScreenshot", { context })).data,
    close: () => bidi.send("browsingContext.close", { context }),
  });
}

async function call(bidi, context, functionDeclaration, json) {
  const { type, result, exceptionDetails } = await bidi.send("script.callFunction", {
    functionDeclaration,
    arguments: [{ type: "string", value: json }],
    target: { context },
    awaitPromise: true,
  });
  if (type === "exception") throw new Error(exceptionDetails.text);
  return result.value;
}
