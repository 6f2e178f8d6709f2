// Ports below those that the system lends to outgoing connections, so that a server which was stopped finds its port again.

import net from "node:net";

const RANGE = { from: 10_000, to: 30_000 };

/** Listens on a port of the range that is free, and says which. */
export async function listen(server) {
  for (;;) {
    const port = RANGE.from + Math.floor(Math.random() * (RANGE.to - RANGE.from));
    try {
      await listenOn(server, port);
      return port;
    } catch (error) {
      if (error.code !== "EADDRINUSE") throw error;
    }
  }
}

export function listenOn(server, port) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** A port for a program that cannot choose one itself. */
export async function freePort() {
  const server = net.createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
