// A real Chromium with the checkout page, and a proxy that loses answers between browser and gate.

import { createServer, request } from "node:http";

import { chromium } from "playwright-core";

import { listen } from "./ports.mjs";

/** Starts the browser that `cargo xtask test` has found or installed. */
export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.ONCEGATE_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  });
}

/** A customer: a browser profile of its own. */
export async function newCustomer(browser) {
  const context = await browser.newContext({ locale: "en-GB" });
  return { context, page: await context.newPage() };
}

/** Watches the orders that a customer's pages send: how many are under way, and under which keys. */
export function watchOrders(context) {
  const watched = { open: 0, keys: new Set() };
  const isOrder = (request) => request.method() === "POST" && new URL(request.url()).pathname === "/orders";
  context.on("request", (request) => {
    if (!isOrder(request)) return;
    watched.open += 1;
    watched.keys.add(request.headers()["idempotency-key"]);
  });
  const ended = (request) => (watched.open -= isOrder(request) ? 1 : 0);
  context.on("requestfinished", ended);
  context.on("requestfailed", ended);
  return watched;
}

/** Opens the shop and waits until a customer could pay. */
export async function openShop(page, url) {
  await page.goto(url);
  await page.locator("[data-testid=pay]:not([disabled])").waitFor();
}

/** Slows the page's processor down. */
export async function throttle(page, rate) {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate });
}

/** Presses the mouse on the pay button, with real gestures `gapMs` apart. */
export async function clickPay(page, { times = 1, gapMs = 0 } = {}) {
  const button = page.getByTestId("pay");
  await button.scrollIntoViewIfNeeded();
  await atRest(page);
  const { x, y, width, height } = await button.boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  for (let click = 1; click <= times; click += 1) {
    if (click > 1 && gapMs > 0) await new Promise((resolve) => setTimeout(resolve, gapMs));
    await page.mouse.down({ clickCount: click });
    await page.mouse.up({ clickCount: click });
  }
}

/** Waits until the pay button lies where it will be clicked: while the shop's shelves fill, it moves. */
function atRest(page) {
  const isAtRest = () => {
    const button = document.querySelector("[data-testid=pay]");
    const { x, y, width, height } = button.getBoundingClientRect();
    const place = `${x} ${y}`;
    const stayed = button.dataset.testPlace === place;
    button.dataset.testPlace = place;
    return stayed && button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  };
  return page.waitForFunction(isAtRest, null, { polling: 100 });
}

/** Waits until the page says how the payment ended. */
export async function ending(page, outcome, timeout = 60_000) {
  await page.locator(`[data-testid=result][data-outcome=${outcome}]`).waitFor({ timeout });
}

/** Forwards to the gate. While `lose` is above 0, an answer to an order is dropped with its connection after it arrived. */
export async function startLossyProxy(gate) {
  const state = { lose: 0, arrivals: [] };
  const server = createServer((incoming, outgoing) => {
    const isOrder = incoming.method === "POST";
    if (isOrder) state.arrivals.push(incoming.headers["idempotency-key"]);
    const options = { method: incoming.method, path: incoming.url, headers: incoming.headers };
    const forward = request(gate, options, (answer) => {
      if (isOrder && state.lose > 0) {
        state.lose -= 1;
        answer.resume().on("end", () => incoming.socket.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    forward.on("error", () => incoming.socket.destroy());
    incoming.pipe(forward);
  });
  const port = await listen(server);
  return {
    ...state,
    url: `http://127.0.0.1:${port}`,
    arrivals: state.arrivals,
    loseNext: (count) => (state.lose = count),
    stop: () => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())),
  };
}
