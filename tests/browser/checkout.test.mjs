// The whole chain in a real browser. Each test ends the same way: the page says that the order is paid, and the database
// holds exactly one order and one payment for each purchase that the customer intended.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { clickPay, ending, newCustomer, openShop, startBrowser, startLossyProxy, throttle, watchOrders } from "../support/browser.mjs";
import { pause, startStack, until } from "../support/stack.mjs";

const LEASE_MS = 2_000;
let stack;
let browser;
let customer;
let page;
let sends;

before(async () => {
  stack = await startStack({ lease_ms: LEASE_MS, wait_ms: 1_000, client_timeout_ms: 1_500 });
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await stack?.stop();
});
beforeEach(async () => {
  await stack.clear();
  customer = await newCustomer(browser);
  page = customer.page;
  sends = watchOrders(customer.context);
});
afterEach(() => customer.context.close());

/** The page says that it is paid, and when nothing is under way any more, the database agrees. */
async function paid(orders = 1) {
  await ending(page, "done");
  await pause(300);
  await until(() => sends.open, (open) => open === 0);
  assert.deepEqual(stack.rows(), { orders, payments: orders });
}

/** What the gate says of a key. */
async function stateOf(key) {
  const answer = await fetch(`${stack.gate}/.oncegate/v1/operations`, { headers: { "idempotency-key": key } });
  return (await answer.json()).state;
}

test("one click", async () => {
  await openShop(page, stack.gate);
  await clickPay(page);
  await paid();
  assert.equal(await page.getByTestId("charges").textContent(), "1");
});

test("the pay button waits for the goods: an early click is not swallowed", async () => {
  await page.route("**/catalog", async (route) => {
    await pause(600);
    await route.continue();
  });
  await page.goto(stack.gate);
  assert.equal(await page.getByTestId("pay").isDisabled(), true);
  await openShop(page, stack.gate);
  await clickPay(page, { times: 2 });
  await paid();
});

test("two clicks in one task", async () => {
  await openShop(page, stack.gate);
  await page.getByTestId("pay").evaluate((button) => (button.click(), button.click()));
  await paid();
  assert.equal(sends.keys.size, 1);
});

for (const rate of [1, 20]) {
  for (const gapMs of [0, 80]) {
    test(`a double click, ${gapMs} ms apart, processor slowed down ${rate} times`, async () => {
      await openShop(page, stack.gate);
      await throttle(page, rate);
      await clickPay(page, { times: 2, gapMs });
      await paid();
    });
  }
}

test("a double click on a slow shop", async () => {
  await stack.faults({ delay_before: 700 });
  await openShop(page, stack.gate);
  await clickPay(page, { times: 2, gapMs: 80 });
  await paid();
});

test("ten clicks in 200 ms", async () => {
  await openShop(page, stack.gate);
  await clickPay(page, { times: 10, gapMs: 20 });
  await paid();
  assert.equal(sends.keys.size, 1);
});

test("Enter twice", async () => {
  await openShop(page, stack.gate);
  await page.getByTestId("card-number").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await paid();
});

test("reload 100 ms after the click, and paying again", async () => {
  await stack.faults({ delay_before: 900 });
  await openShop(page, stack.gate);
  await clickPay(page);
  await pause(100);
  await page.reload();
  await page.locator("[data-testid=pay]:not([disabled])").waitFor();
  await clickPay(page);
  await paid();
});

test("reload 100 ms after the click, and doing nothing: the page finds out by itself", async () => {
  await stack.faults({ delay_before: 900 });
  await openShop(page, stack.gate);
  await clickPay(page);
  await pause(100);
  await page.reload();
  await paid();
});

test("the shop's answer is lost after the execution", async () => {
  await stack.faults("drop_after_commit");
  await openShop(page, stack.gate);
  await clickPay(page);
  await paid();
});

test("the gate's answer is lost after the execution, and the browser itself sends again", async () => {
  const proxy = await startLossyProxy(stack.gate);
  try {
    await openShop(page, proxy.url);
    proxy.loseNext(2);
    await clickPay(page);
    await paid();
    assert.ok(proxy.arrivals.length >= 3, `${proxy.arrivals.length} arrivals`);
    assert.equal(new Set(proxy.arrivals).size, 1, "every arrival carries the same key");
  } finally {
    await proxy.stop();
  }
});

test("503 with Retry-After twice, said honestly, then fine", async () => {
  await stack.faults("unavailable", "unavailable");
  await openShop(page, stack.gate);
  await clickPay(page);
  await paid();
});

test("a bare 503 with Retry-After twice after the commit, then fine", async () => {
  await stack.faults("unavailable_after_commit", "unavailable_after_commit");
  await openShop(page, stack.gate);
  await clickPay(page);
  await paid();
});

test("the first attempt is abandoned, the second refused, the customer pays again, the first wakes up late", async () => {
  const wakesAfterMs = LEASE_MS + 4_000;
  await stack.faults({ delay_before: wakesAfterMs }, "refuse");
  await openShop(page, stack.gate);
  const started = Date.now();
  await clickPay(page);
  await ending(page, "failed");
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
  await pause(700);
  await clickPay(page);
  await paid();
  await pause(Math.max(0, started + wakesAfterMs + 1_000 - Date.now()));
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("a declined card says that nothing was charged, and another card pays", async () => {
  await openShop(page, stack.gate);
  await page.getByTestId("card-declined").click();
  await clickPay(page);
  await ending(page, "failed");
  assert.deepEqual(stack.rows(), { orders: 0, payments: 0 });
  await page.getByTestId("card-good").click();
  await pause(700);
  await clickPay(page);
  await paid();
});

test("the shop is stopped, the page reloaded, and another card pays: the first payment is cancelled", async () => {
  await openShop(page, stack.gate);
  await stack.tell("stop-origin");
  await page.getByTestId("card-number").fill("5555 5555 5555 4444");
  await clickPay(page);
  await until(() => sends.keys.size, (keys) => keys === 1);
  const [key] = sends.keys;
  await until(() => stateOf(key), (state) => state === "unknown");
  await page.reload();
  await page.locator("[data-testid=pay]:not([disabled])").waitFor();
  await page.getByTestId("card-number").fill("4111 1111 1111 1111");
  await stack.tell("start-origin");
  await clickPay(page);
  await paid();
  assert.equal(await stateOf(key), "cancelled");
  assert.equal(sends.keys.size, 2);
});

test("the shop has taken the payment, the page is reloaded, and another card comes too late", async () => {
  await stack.faults({ delay_after: 4_000 });
  await openShop(page, stack.gate);
  await page.getByTestId("card-number").fill("5555 5555 5555 4444");
  await clickPay(page);
  await until(async () => stack.rows().orders, (orders) => orders === 1);
  await page.reload();
  await page.locator("[data-testid=pay]:not([disabled])").waitFor();
  await page.getByTestId("card-number").fill("4111 1111 1111 1111");
  await clickPay(page);
  await paid();
  assert.equal(sends.keys.size, 1);
  assert.match(await page.getByTestId("result").textContent(), /already paid/);
});

test("the shop is stopped and started again", async () => {
  await openShop(page, stack.gate);
  await stack.tell("stop-origin");
  await clickPay(page);
  await pause(1_000);
  await stack.tell("start-origin");
  await paid();
});

test("a changed cart after a success makes a new order", async () => {
  await openShop(page, stack.gate);
  await clickPay(page);
  await paid();
  const first = await page.getByTestId("order-id").textContent();
  await page.getByTestId("qty-plus-mug").click();
  await clickPay(page);
  await until(async () => stack.rows().orders, (orders) => orders === 2);
  await paid(2);
  assert.notEqual(await page.getByTestId("order-id").textContent(), first);
});

test("a reload after a success pays nothing again", async () => {
  await openShop(page, stack.gate);
  await clickPay(page);
  await paid();
  await page.reload();
  await paid();
});

test("two tabs with the same cart", async () => {
  await stack.faults({ delay_before: 400 });
  await openShop(page, stack.gate);
  const other = await customer.context.newPage();
  await openShop(other, stack.gate);
  // A real mouse can press in one tab only: the other one is hidden.
  await Promise.all([page, other].map((tab) => tab.getByTestId("pay").evaluate((button) => button.click())));
  await Promise.all([ending(page, "done"), ending(other, "done")]);
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
  assert.equal(await page.getByTestId("order-id").textContent(), await other.getByTestId("order-id").textContent());
  for (const tab of [page, other]) {
    assert.doesNotMatch(await tab.getByTestId("result").textContent(), /another tab/, "both have paid it themselves");
  }
});

test("the page speaks Chinese", async () => {
  await openShop(page, stack.gate);
  await page.getByTestId("lang-zh").click();
  await clickPay(page);
  await paid();
  assert.match(await page.getByTestId("result").textContent(), /[\u4e00-\u9fff]/);
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN");
});
