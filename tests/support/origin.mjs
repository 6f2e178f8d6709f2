// An origin that a test scripts: it does what the test's function says, and keeps every request as it came off the wire.

import http from "node:http";

import { listen, listenOn } from "./ports.mjs";

/** What an origin answers that knows no better: done. */
const done = (request, response) => {
  response.writeHead(201, { "content-type": "application/json", "idempotency-outcome": "executed" });
  response.end(JSON.stringify({ did: request.url }));
};

/**
 * Starts an origin. `handle(request, response)` is called with node's response and with what has arrived:
 * { method, url, headers, rawHeaders, body (a Buffer), whole (false if the body broke off), socket }. It may be replaced at any time:
 * `origin.handle = …`. `origin.seen` has every request in the order of arrival; the function is called after the body has arrived.
 */
export async function startOrigin(handle = done) {
  const origin = { handle, seen: [] };
  const server = http.createServer({ maxHeaderSize: 65_536 }, async (incoming, response) => {
    const { method, url, headers, rawHeaders, socket } = incoming;
    const request = { method, url, headers, rawHeaders, socket, ...(await bodyOf(incoming)) };
    origin.seen.push(request);
    await origin.handle(request, response);
  });
  const port = await listen(server);
  return Object.assign(origin, {
    url: `http://127.0.0.1:${port}`,
    /** What an origin does that the test does not care about. */
    done,
    /** Forgets what has come, and goes back to the first function. */
    clear() {
      origin.seen.length = 0;
      origin.handle = handle;
    },
    /** Ends every connection and refuses new ones. */
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
    /** Listens again, on the same port. */
    start: () => listenOn(server, port),
  });
}

async function bodyOf(incoming) {
  const chunks = [];
  try {
    for await (const chunk of incoming) chunks.push(chunk);
    return { body: Buffer.concat(chunks), whole: incoming.complete };
  } catch {
    return { body: Buffer.concat(chunks), whole: false };
  }
}
