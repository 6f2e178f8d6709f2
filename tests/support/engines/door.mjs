// What stands between a browser and the gate: it serves the pages of tests/engines/pages from the same origin, passes all else on, and can
// lose answers, hold them back, or shut. Invariant: a request reaches the gate byte for byte, unless a test's own field is added to it.

import { readFile } from "node:fs/promises";
import http from "node:http";
import { extname } from "node:path";

import { listen, listenOn } from "../ports.mjs";
import { until } from "../stack.mjs";

const PAGES = new URL("../../engines/pages/", import.meta.url);
const ORDERS = ["/orders", "/lab/orders"];
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript" };

/** Opens a door; `door.gate` is to be set before the first request. */
export async function openDoor() {
  const door = new Door();
  await door.listen();
  return door;
}

class Door {
  #server = http.createServer((request, response) => this.#handle(request, response).catch(() => request.socket.destroy()));
  #held = [];
  #holds = true;
  #open = 0;

  async listen() {
    // Browsers keep connections for minutes; a server that closes them after 5 s would drop requests that no test has dropped.
    this.#server.keepAliveTimeout = 300_000;
    this.port = await listen(this.#server);
    this.url = `http://127.0.0.1:${this.port}`;
    this.clear();
  }

  /** Forgets what a test has asked for and what has come. */
  clear() {
    /** What becomes of the next orders' answers: "lose", "hold", or anything else for nothing. */
    this.acts = [];
    /** Header fields of every page. */
    this.pageHeaders = {};
    /** Header fields that are added to what goes to the gate, from the request. */
    this.adds = () => ({});
    /** The keys of the orders that have arrived, in their order. */
    this.arrivals = [];
    /** Their bodies, each with its type. */
    this.bodies = [];
    this.letGo();
    this.#holds = true;
    /** Scripts that a test has made for its page, by name. */
    this.scripts = {};
    /** What pages have told, by themselves, without being asked. */
    this.told = [];
  }

  get keys() {
    return new Set(this.arrivals);
  }

  /** How many orders are on their way to the gate or back. */
  get open() {
    return this.#open;
  }

  /** Lets the answers go that are held back, and those that would be: one may still be on its way from the gate. */
  letGo() {
    this.#holds = false;
    this.#held.splice(0).forEach((go) => go());
  }

  /** Waits until so many orders have arrived. */
  arrived(count) {
    return until(() => this.arrivals.length, (arrivals) => arrivals >= count);
  }

  /** Ends every connection and refuses new ones: what a cable pulled out looks like from a page. */
  async shut() {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  reopen() {
    return listenOn(this.#server, this.port);
  }

  async #handle(request, response) {
    const { pathname } = new URL(request.url, this.url);
    if (pathname === "/pages/told") return this.#hear(request, response);
    if (pathname.startsWith("/pages/")) return this.#page(pathname.slice("/pages/".length), request, response);
    if (request.method === "POST" && ORDERS.includes(pathname)) return this.#order(request, response);
    return this.#pass(request, response, () => true);
  }

  async #page(name, request, response) {
    const content = this.scripts[name] ?? (await readFile(new URL(name, PAGES)));
    request.resume();
    response.writeHead(200, { "content-type": TYPES[extname(name)], "cache-control": "no-cache", ...this.pageHeaders }).end(content);
  }

  async #hear(request, response) {
    this.told.push(Buffer.concat(await request.toArray()).toString());
    response.writeHead(204).end();
  }

  async #order(request, response) {
    this.arrivals.push(request.headers["idempotency-key"]);
    this.#keep(request);
    this.#open += 1;
    const act = this.acts.shift();
    try {
      await this.#pass(request, response, async () => {
        if (act === "hold" && this.#holds) await new Promise((resolve) => this.#held.push(resolve));
        return act !== "lose";
      });
    } finally {
      this.#open -= 1;
    }
  }

  /** A body that breaks off is none. */
  #keep(request) {
    const keep = (chunks) => this.bodies.push({ type: request.headers["content-type"], body: Buffer.concat(chunks).toString() });
    request.toArray().then(keep, () => {});
  }

  /** Ends when the answer has passed, or is lost. The gate hears of a client that has left. */
  #pass(request, response, mayAnswer) {
    const { method, url, socket } = request;
    const headers = { ...request.headers, ...this.adds(request) };
    return new Promise((resolve) => {
      const forward = http.request(this.gate, { method, path: url, headers }, async (answer) => {
        if (await mayAnswer()) {
          response.writeHead(answer.statusCode, answer.rawHeaders);
          answer.pipe(response).on("close", resolve);
        } else {
          answer.resume().on("end", () => socket.destroy()).on("close", resolve);
        }
      });
      response.on("close", () => (forward.destroy(), resolve()));
      forward.on("error", () => (socket.destroy(), resolve()));
      request.pipe(forward);
    });
  }
}
