// What the projects share: a shop that keeps what it was sent, a server for what they have built, and a browser.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import http from "node:http";
import { extname, join, normalize } from "node:path";
import { promisify } from "node:util";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".css": "text/css" };

/** Runs a script of a project in its folder, as a user would; its words are the answer. */
export async function run(folder, script, ...parameters) {
  // The runner of these tests calls its environment "test"; bundlers and frameworks would build for that.
  const { NODE_ENV, NODE_TEST_CONTEXT, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...parameters], { cwd: folder, env });
  return stdout.trim();
}

/**
 * A shop behind a gate, at an address of its own, with what a project has built: from a folder, or from what `serve`
 * answers. `pages` are pages by their paths, `policy` is theirs.
 */
export async function startShop({ folder, pages = {}, policy, serve }) {
  const keys = [];
  const server = http.createServer(async (request, response) => {
    if (request.method === "POST") {
      keys.push(request.headers["idempotency-key"]);
      return response.writeHead(201, { "idempotency-status": "executed", "content-type": "application/json" }).end("{}");
    }
    if (policy) response.setHeader("content-security-policy", policy);
    if (serve) return serve(request, response);
    const { pathname } = new URL(request.url, "http://shop");
    response.setHeader("content-type", TYPES[extname(pathname)] ?? "text/html");
    if (pages[pathname]) return response.end(pages[pathname]);
    const file = join(folder, normalize(pathname.endsWith("/") ? `${pathname}index.html` : pathname));
    const content = await readFile(file).catch(() => undefined);
    return content ? response.end(content) : response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => new Promise((resolve) => (server.close(resolve), server.closeAllConnections()));
  return { keys, url: `http://127.0.0.1:${server.address().port}`, stop };
}

/** Opens a page and waits for its title: what became of its order. */
export async function titleOf(browser, url) {
  const page = await browser.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  try {
    await page.goto(url);
    await page.waitForFunction(() => document.title, null, { timeout: 30_000 });
    return await page.title();
  } catch (error) {
    throw new Error(`no order was made: ${troubles.join("; ") || error.message}`);
  } finally {
    await page.close();
  }
}

/** Starts a server of a project, and waits for the address that it prints. */
export async function startServer(command, parameters, folder) {
  const server = spawn(command, parameters, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const said = [];
  const address = new Promise((resolve, reject) => {
    const hear = (text) => {
      said.push(String(text));
      const found = said.join("").match(/http:\/\/(?:127\.0\.0\.1|localhost):\d+/);
      if (found) resolve(found[0]);
    };
    server.stdout.on("data", hear);
    server.stderr.on("data", hear);
    server.on("exit", () => reject(new Error(`it ended: ${said.join("")}`)));
  });
  const stop = async () => {
    const ended = server.exitCode === null && once(server, "exit");
    process.kill(-server.pid, "SIGKILL");
    await ended;
  };
  return { url: await address, stop };
}
