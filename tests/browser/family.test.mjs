// The page of the family in Chromium, against the gate and the origin that `cargo xtask up` starts: what goes
// wrong without protection goes wrong, and with it the database holds what should have come of it.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { clickPay, ending, newCustomer, openShop, startBrowser, watchOrders } from "../support/browser.mjs";
import { lookUp, startStack, until } from "../support/stack.mjs";

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
  await page.getByTestId(`${name}-${step}`).click();
  return judged(name);
}

async function judged(name) {
  const card = page.getByTestId(name);
  await card.locator("xpath=self::*[@data-state='holds' or @data-state='broken']").waitFor({ timeout: 60_000 });
  return { state: await card.getAttribute("data-state"), verdict: await page.getByTestId(`${name}-verdict`).textContent() };
}

/** Hears that it holds, and in which words. */
async function holds(judgement) {
  const { state, verdict } = await judgement;
  assert.equal(state, "holds", verdict);
  return verdict;
}

/** What a row of the evidence says. */
const shown = (name, what) => page.getByTestId(name).locator(`[data-what=${what}] dd`).textContent();

const [WAIT_PAY, PAID] = [1, 2];
const callbacks = () => stack.query("SELECT outcome FROM callbacks");
const corrections = () => stack.query("SELECT quantity FROM stock_moves WHERE id LIKE 'correction-%' ORDER BY id").map(({ quantity }) => quantity);
const stock = () => stack.query("SELECT stock FROM products WHERE sku = 'beans'")[0].stock;
const notices = () => stack.query("SELECT id FROM notices").length;
const settlements = () => stack.query("SELECT id FROM job_runs").length;

test("double submit from a page: one token, sent twenty times at once, is one order", async () => {
  await holds(press("tokens", "many"));
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("double submit from a page: a used token takes no other order, and a forged one takes none", async () => {
  await holds(press("tokens", "changed"));
  assert.deepEqual(stack.query("SELECT quantity FROM order_items"), [{ quantity: 1 }]);
  await holds(press("tokens", "forged"));
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("double submit from a page: a server that looks a token up and deletes it later lets several through", async () => {
  await page.getByTestId("tokens-naive").click();
  await page.locator("#tokens[data-state=broken]").waitFor();
  assert.match(await page.getByTestId("tokens-verdict").textContent(), /^([2-9]|1\d|20) orders from one token/);
});

test("double submit from a page: a form without code, pressed five times and once more, is one order until it is emptied", async () => {
  await holds(press("form", "five"));
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
  await page.getByTestId("form-order").click();
  await page.getByTestId("form-board").getByText("6", { exact: true }).waitFor();
  await holds(judged("form"));
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
  await page.getByTestId("form-reset").click();
  await page.getByTestId("form-order").click();
  await until(() => stack.rows().orders, (orders) => orders === 2);
});

test("double submit from a page: a form that is not filled in is not sent, and its card says so and goes on", async () => {
  await page.locator("#plain-email").fill("nobody");
  await page.getByTestId("form-five").click();
  await page.locator("#form[data-state=broken]").waitFor();
  assert.match(await page.getByTestId("form-verdict").textContent(), /Nothing was sent/);
  await page.locator("#plain-email").fill("ada@example.com");
  await holds(press("form", "five"));
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("a shop that may not be played with has no form on its page that could order", async () => {
  await page.route("**/faults", (route) => route.fulfill({ status: 404 }));
  await page.reload();
  await page.locator("#closed:not([hidden])").waitFor();
  assert.equal(await page.locator("form").count(), 0);
  assert.equal(await page.getByTestId("tokens-many").getAttribute("aria-disabled"), "true");
});

test("payment callback, sent five times: one payment, one change of state, its side effects once", async () => {
  await holds(press("webhooks", "five"));
  assert.deepEqual(callbacks(), [{ outcome: "settled" }]);
  assert.deepEqual(stack.query("SELECT status FROM orders"), [{ status: PAID }]);
  assert.equal(stack.query("SELECT id FROM outbox").length, 3);
  assert.match(await page.getByTestId("webhooks-board").textContent(), /success ×5/);
});

test("payment callback: two events about one payment are stopped by the index on its number", async () => {
  await holds(press("webhooks", "two"));
  assert.deepEqual(callbacks(), [{ outcome: "settled" }]);
  assert.equal(stack.query("SELECT id FROM outbox").length, 3);
  assert.match(await page.getByTestId("webhooks-board").textContent(), /success ×2.*executed ×2/);
});

test("payment callback: one whose amount was changed on the way is answered fail, and nothing happens", async () => {
  await holds(press("webhooks", "tampered"));
  assert.deepEqual(callbacks(), []);
  assert.deepEqual(stack.query("SELECT status FROM orders"), [{ status: WAIT_PAY }]);
  assert.match(await page.getByTestId("webhooks-board").textContent(), /403 fail.*tries at the shop\s*0/);
});

test("stock: two who count one shelf at once write what is missing twice, and with a lock once", async () => {
  const full = stock();
  assert.equal((await press("locks", "nothing")).state, "broken");
  assert.deepEqual([corrections(), stock()], [[2, 2], full - 2]);
  await stack.clear();
  await holds(press("locks", "lock"));
  assert.deepEqual([corrections(), stock()], [[2], full]);
});

test("stock, a lock shorter than the work: duplicates get through, and the fence stops them in the row's own transaction", async () => {
  const full = stock();
  assert.equal((await press("locks", "short")).state, "broken");
  assert.deepEqual([corrections(), stock()], [[2, 2], full - 2]);
  await stack.clear();
  const verdict = await holds(press("locks", "fence"));
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
  await holds(press("claims", "claimed"));
  assert.equal(notices(), 1);
  assert.match(await shown("claims", "heard"), /\bacquired, |\bacquired$/);
  assert.match(await shown("claims", "heard"), /\bdone ×4\b/);
});

for (const [step, what] of [["before", "before its work"], ["after", "after its work and before it could say so"]]) {
  test(`message consumed twice: a worker that dies ${what} is taken over, and the customer is told once`, async () => {
    await holds(press("claims", step));
    assert.equal(notices(), 1);
    assert.equal(await shown("claims", "taken"), "2");
  });
}

test("message consumed twice: five copies in a Cloudflare Queue are one call of the origin", async () => {
  await holds(press("queues", "five"));
  assert.equal(notices(), 1);
  assert.equal(await shown("queues", "attempts"), "1");
});

test("message consumed twice: an answer that is lost brings it again out of the queue, and it was done once", async () => {
  await holds(press("queues", "lost"));
  assert.equal(notices(), 1);
  assert.equal(await shown("queues", "attempts"), "2");
});

test("job run twice: a slot that fires five times is run once", async () => {
  const before = settlements();
  await holds(press("cron", "five"));
  assert.equal(settlements(), before + 1);
});

test("job run twice: a re-run by hand is deliberate and named, and one run however often it is called", async () => {
  const before = settlements();
  await holds(press("cron", "named"));
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

test("a card claims nothing of what it could not read", async () => {
  await page.route("**/.oncegate/v1/operations?*", (route) => route.abort());
  for (const [name, step] of [["webhooks", "five"], ["webhooks", "two"], ["webhooks", "tampered"], ["tokens", "changed"], ["form", "five"]]) {
    await page.getByTestId(`${name}-${step}`).click();
    await page.locator(`#${name}[data-state=broken]`).waitFor();
    assert.match(await page.getByTestId(`${name}-verdict`).textContent(), /could not be read in full/, `${name}-${step}`);
    const told = await page.getByTestId(`${name}-board`).locator("[data-source=gate] dd").allTextContents();
    assert.ok(told.every((value) => value === "cannot be read"), `${name}-${step}: ${told}`);
  }
});

test("a card that read something else than it should claims no success", async () => {
  await page.route("**/.oncegate/v1/operations?*", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), attempts: 2 } });
  });
  for (const [name, step] of [["webhooks", "five"], ["tokens", "many"], ["form", "five"]]) {
    await page.getByTestId(`${name}-${step}`).click();
    await page.locator(`#${name}[data-state=broken]`).waitFor();
    assert.match(await page.getByTestId(`${name}-verdict`).textContent(), /not as it should be/, `${name}-${step}`);
  }
});

test("the page speaks Chinese, and says so; what was found stays", async () => {
  await holds(press("webhooks", "five"));
  await page.getByTestId("lang-zh").click();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN");
  for (const part of ["webhooks", "webhooks-verdict", "form", "tokens"]) assert.match(await page.getByTestId(part).textContent(), /[\u4e00-\u9fff]/);
  assert.match(await page.getByTestId("webhooks-board").textContent(), /success ×5/);
});

test("both pages say the same before their scripts run as after", async () => {
  const wordsOf = (root) => [...root.querySelectorAll("[data-text]")].map((node) => [node.dataset.text, node.textContent]);
  for (const file of ["", "family.html"]) {
    await page.goto(`${stack.gate}/${file}`);
    await page.locator("#boot").waitFor({ state: "detached" });
    const [raw, live] = await page.evaluate(`(async (wordsOf) => {
      const html = await (await fetch(location.href)).text();
      return [wordsOf(new DOMParser().parseFromString(html, "text/html")), wordsOf(document)];
    })(${wordsOf})`);
    const said = new Map(live);
    for (const [name, text] of raw.filter(([name, text]) => text !== "" && said.has(name))) assert.equal(text, said.get(name), name);
  }
});

test("the shop beside the family: it pays, and shows what the gate has on record", async () => {
  await openShop(page, stack.gate);
  await clickPay(page);
  await ending(page, "done");
  assert.equal(await page.getByTestId("attempts").textContent(), "1");
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});

test("each card names a page that exists, in both languages", async () => {
  for (const language of ["en", "zh"]) {
    await page.getByTestId(`lang-${language}`).click();
    const guides = await page.locator(".guide").allTextContents();
    assert.equal(guides.length, 7);
    for (const guide of guides) {
      const [named] = guide.match(/docs\S+\.md/);
      assert.ok(existsSync(new URL(`../../${named}`, import.meta.url)), named);
    }
  }
});

test("the shop beside the family: another card after a reload cancels the first payment, though the gate has several routes", async () => {
  const sends = watchOrders(customer.context);
  await openShop(page, stack.gate);
  await stack.tell("stop-origin");
  await page.getByTestId("card-number").fill("5555 5555 5555 4444");
  await clickPay(page);
  await until(() => sends.keys.size, (keys) => keys === 1);
  const [key] = sends.keys;
  const state = async () => (await lookUp(stack, key, "orders")).state;
  await until(state, (word) => word === "unknown");
  await page.reload();
  await page.locator("[data-testid=pay]:not([disabled])").waitFor();
  await page.getByTestId("card-number").fill("4111 1111 1111 1111");
  await stack.tell("start-origin");
  await clickPay(page);
  await ending(page, "done");
  assert.equal(await state(), "cancelled");
  assert.deepEqual(stack.rows(), { orders: 1, payments: 1 });
});
