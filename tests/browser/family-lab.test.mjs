// Locks, claims, queues and cron on the page of the family, in Chromium against the gate and the origin that `cargo xtask up` starts: what
// goes wrong without them goes wrong, and with them the database holds what should have come of it.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { newCustomer, startBrowser } from "../support/browser.mjs";
import { startStack } from "../support/stack.mjs";

let stack;
let browser;
let customer;
let page;

before(async () => {
  [stack, browser] = await Promise.all([startStack({}, undefined, { family: true }), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await stack?.stop();
});
beforeEach(async () => {
  await stack.clear();
  customer = await newCustomer(browser);
  page = customer.page;
  await page.goto(`${stack.gate}/family.html`);
});
afterEach(() => customer.context.close());

/** Presses a button of a scenario, and hears its verdict: "holds" or "broken". */
async function press(name, step) {
  const card = page.getByTestId(name);
  await card.getByTestId(`${name}-${step}`).click();
  await card.locator("xpath=self::*[@data-state='holds' or @data-state='broken']").waitFor({ timeout: 60_000 });
  return { state: await card.getAttribute("data-state"), verdict: await page.getByTestId(`${name}-verdict`).textContent() };
}

/** What a row of the evidence says. */
const shown = (name, what) => page.getByTestId(name).locator(`[data-what=${what}] dd`).textContent();

const corrections = () => stack.query("SELECT quantity FROM stock_moves WHERE id LIKE 'correction-%' ORDER BY id").map(({ quantity }) => quantity);
const stock = () => stack.query("SELECT stock FROM products WHERE sku = 'beans'")[0].stock;
const notices = () => stack.query("SELECT id FROM notices").length;
const settlements = () => stack.query("SELECT id FROM job_runs").length;

test("stock: two who count one shelf at once write what is missing twice, and with a lock once", async () => {
  const full = stock();
  assert.equal((await press("locks", "nothing")).state, "broken");
  assert.deepEqual([corrections(), stock()], [[2, 2], full - 2]);
  await stack.clear();
  const { state, verdict } = await press("locks", "lock");
  assert.equal(state, "holds", verdict);
  assert.deepEqual([corrections(), stock()], [[2], full]);
});

test("stock, a lock shorter than the work: duplicates get through, and the fence stops them in the row's own transaction", async () => {
  const full = stock();
  assert.equal((await press("locks", "short")).state, "broken");
  assert.deepEqual([corrections(), stock()], [[2, 2], full - 2]);
  await stack.clear();
  const { state, verdict } = await press("locks", "fence");
  assert.equal(state, "holds", verdict);
  assert.deepEqual([corrections(), stock()], [[2], full]);
  assert.match(verdict, /refused/);
  const [first, second] = [await shown("locks", "fence_first"), await shown("locks", "fence_second")];
  assert.ok(Number(first) < Number(second), `${first} < ${second}`);
  await page.getByTestId("lang-zh").click();
  assert.match(await shown("locks", "first"), /被拒/);
});

test("message consumed twice: five deliveries are five notices, and with claims one", async () => {
  assert.equal((await press("claims", "unclaimed")).state, "broken");
  assert.equal(notices(), 5);
  await stack.clear();
  const { state, verdict } = await press("claims", "claimed");
  assert.equal(state, "holds", verdict);
  assert.equal(notices(), 1);
  assert.match(await shown("claims", "heard"), /\bacquired, |\bacquired$/);
  assert.match(await shown("claims", "heard"), /\bdone ×4\b/);
});

for (const [step, what] of [["before", "before its work"], ["after", "after its work and before it could say so"]]) {
  test(`message consumed twice: a worker that dies ${what} is taken over, and the customer is told once`, async () => {
    const { state, verdict } = await press("claims", step);
    assert.equal(state, "holds", verdict);
    assert.equal(notices(), 1);
    assert.equal(await shown("claims", "taken"), "2");
  });
}

test("message consumed twice: five copies in a Cloudflare Queue are one call of the origin", async () => {
  const { state, verdict } = await press("queues", "five");
  assert.equal(state, "holds", verdict);
  assert.equal(notices(), 1);
  assert.equal(await shown("queues", "attempts"), "1");
});

test("message consumed twice: an answer that is lost brings it again out of the queue, and it was done once", async () => {
  const { state, verdict } = await press("queues", "lost");
  assert.equal(state, "holds", verdict);
  assert.equal(notices(), 1);
  assert.equal(await shown("queues", "attempts"), "2");
});

test("job run twice: a slot that fires five times is run once", async () => {
  const before = settlements();
  const { state, verdict } = await press("cron", "five");
  assert.equal(state, "holds", verdict);
  assert.equal(settlements(), before + 1);
});

test("job run twice: a re-run by hand is deliberate and named, and one run however often it is called", async () => {
  const before = settlements();
  const { state, verdict } = await press("cron", "named");
  assert.equal(state, "holds", verdict);
  assert.equal(settlements(), before + 2);
  assert.equal(await shown("cron", "states"), "executed, replayed");
});

test("a card whose secret the shop was not given says which", async () => {
  await page.route("**/lab/locks", (route) => route.fulfill({ status: 503, json: { code: "gate_not_known" } }));
  const { state, verdict } = await press("locks", "lock");
  assert.equal(state, "broken");
  assert.match(verdict, /--locks-secret/);
});

test("the narrowest phones show the whole page without scrolling sideways", async () => {
  await page.setViewportSize({ width: 320, height: 640 });
  for (const language of ["lang-en", "lang-zh"]) {
    await page.getByTestId(language).click();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
  }
});
