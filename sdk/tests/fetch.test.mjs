// `oncegate/fetch`, and axios and ky on top of it, in Chromium: the same meanings in three dialects.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drop, executeAndDrop, hold, inOnePage, later, refuse, unavailable } from "./pages.mjs";

const PAGE = `
  import axios from "axios";
  import ky from "ky";
  import { createOncegate } from "oncegate";
  import { installOncegate } from "oncegate/axios";
  import { createFetch, fetch } from "oncegate/fetch";
  import { oncegateOptions } from "oncegate/ky";
  const client = createOncegate({ backoff: { baseMs: 5, capMs: 10 }, quietMs: 0 });
  const api = axios.create({ baseURL: "/", headers: { "x-shop": "1" } });
  const uninstall = installOncegate(api, { client });
  const kyApi = ky.extend({ ...oncegateOptions({ client }), headers: { "x-shop": "1" } });
  Object.assign(window, { axios, client, api, installOncegate, uninstall, kyApi, sharedFetch: fetch });
  window.fetch = createFetch({ client });
  const own = ({ name, message, result }) => ({ name, message, outcome: result?.outcome, reason: result?.reason, changed: result?.changed });
  const dialects = {
    fetch: { post: async (body, intent, more) => (({ status, json }) => json().then((body) => ({ status, body })))(bound(await window.fetch("/orders", { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, ...(intent && { intent }), ...more }))) },
    axios: { post: async (body, intent, more) => (({ status, data }) => ({ status, body: data }))(await api.post("orders", body, { intent, validateStatus: () => true, ...more })), cause: (error) => error.cause },
    ky: { post: async (json, intent, more) => (({ status, json }) => json().then((body) => ({ status, body })))(bound(await kyApi.post("/orders", { json, ...(intent && { intent }), throwHttpErrors: false, ...more }))) },
  };
  const bound = (response) => ({ status: response.status, json: () => response.json() });
  window.post = (dialect, ...order) => dialects[dialect].post(...order).catch((error) => own(dialects[dialect].cause?.(error) ?? error));
  window.ready = true;`;

let shop;
let browser;
let page;

inOnePage(PAGE, (met) => ({ shop, browser, page } = met));

const post = (...order) => page.evaluate((order) => window.post(...order), order);

for (const dialect of ["fetch", "axios", "ky"]) {
  test(`${dialect}: done is the service's answer, with a key and the request as it was meant`, async () => {
    assert.deepEqual(await post(dialect, { mug: 1 }, "cart-1"), { status: 201, body: { id: 1 } });
    const [{ key, body, type, headers, url }] = shop.arrivals;
    assert.ok(key);
    assert.deepEqual([JSON.parse(body), type, url, headers["oncegate-intent"]], [{ mug: 1 }, "application/json", "/orders", undefined]);
    if (dialect !== "fetch") assert.equal(headers["x-shop"], "1");
  });

  test(`${dialect}: two calls in one task for one intent are one order, and both get the answer`, async () => {
    shop.script = [later(100)];
    const answers = await page.evaluate((dialect) => Promise.all([1, 2].map(() => window.post(dialect, { mug: 1 }, "cart-1"))), dialect);
    assert.deepEqual(answers, [{ status: 201, body: { id: 1 } }, { status: 201, body: { id: 1 } }]);
    assert.equal(shop.arrivals.length, 1);
  });

  test(`${dialect}: a lost answer is asked for again under the same key`, async () => {
    shop.script = [executeAndDrop, executeAndDrop, executeAndDrop];
    assert.deepEqual(await post(dialect, { mug: 1 }, "cart-1"), { status: 201, body: { id: 1 } });
    assert.ok(shop.arrivals.length > 1);
    assert.deepEqual([shop.orders.size, shop.keys().length], [1, 1]);
  });

  test(`${dialect}: a refusal is an answer`, async () => {
    shop.script = [refuse('{"code":"declined"}')];
    assert.deepEqual(await post(dialect, { mug: 1 }, "cart-1"), { status: 402, body: { code: "declined" } });
  });

  test(`${dialect}: what is not known rejects, with the result; the next call asks under the same key`, async () => {
    shop.script = [unavailable];
    const error = await post(dialect, { mug: 1 }, "cart-1");
    assert.deepEqual([error.name, error.outcome, error.reason], ["NoResponseError", "unknown", "not_understood"]);
    assert.match(error.message, /Do not pay again/);
    assert.equal((await post(dialect, { mug: 1 }, "cart-1")).status, 201);
    assert.equal(shop.keys().length, 1);
  });

  test(`${dialect}: another payload of an executed intent is not answered with that one's answer`, async () => {
    await post(dialect, { mug: 1 }, "cart-1");
    const error = await post(dialect, { mug: 2 }, "cart-1");
    assert.deepEqual([error.name, error.outcome, error.changed], ["NoResponseError", "done", true]);
    assert.equal(shop.orders.size, 1);
  });

  test(`${dialect}: "POST retried on network error, duplicates": without an intent, too, all sends of a call share a key`, async () => {
    shop.script = [executeAndDrop, executeAndDrop, executeAndDrop];
    assert.equal((await post(dialect, { mug: 1 })).status, 201);
    assert.equal((await post(dialect, { mug: 1 })).status, 201);
    assert.deepEqual([shop.orders.size, shop.keys().length], [2, 2]);
  });
}

test("an abort is an AbortError, and has the result", async () => {
  shop.script = [hold];
  const error = await page.evaluate(() => window.post("fetch", {}, "cart-1", { signal: AbortSignal.timeout(100) }));
  assert.deepEqual([error.name, error.outcome, error.reason], ["AbortError", "unknown", "aborted"]);
});

test("it may take the place of the browser's own, as it does on this page, and GET passes untouched", async () => {
  const [text, axiosText, kyText] = await page.evaluate(async () => [await (await fetch("/goods")).text(), (await api.get("goods")).data, await kyApi.get("/goods").text()]);
  assert.match(text, /<h1>\/goods/);
  assert.deepEqual([axiosText, kyText], [text, text]);
});

test("a Request is sent as it is: method, headers, forms and bytes, with the intent in a header", async () => {
  await page.evaluate(async () => {
    const form = new FormData();
    form.set("note", "ü");
    form.set("file", new File(["bytes"], "a.txt", { type: "text/plain" }));
    for (const body of [form, new URLSearchParams({ a: "1" }), new Uint8Array([1, 2])]) {
      const send = () => fetch(new Request("/orders", { method: "PUT", body, headers: { "oncegate-intent": `cart-${body.constructor.name}`, "x-shop": "2" } }));
      await send();
      await send();
    }
  });
  const types = shop.arrivals.map(({ type }) => type?.split(";")[0]);
  assert.deepEqual(types, ["multipart/form-data", "multipart/form-data", "application/x-www-form-urlencoded", "application/x-www-form-urlencoded", undefined, undefined]);
  assert.match(shop.arrivals[0].body, /name="file"; filename="a.txt"\r\nContent-Type: text\/plain\r\n\r\nbytes/);
  assert.deepEqual([shop.arrivals[2].body, shop.arrivals[4].body, shop.arrivals[0].headers["x-shop"]], ["a=1", "\u0001\u0002", "2"]);
  assert.deepEqual([shop.orders.size, shop.keys().length], [3, 3]);
});

test("a Request whose answers are lost has the same body every time", async () => {
  shop.script = [executeAndDrop, executeAndDrop, executeAndDrop];
  const status = await page.evaluate(async () => {
    const body = new FormData();
    body.set("file", new File(["bytes"], "a.txt", { type: "text/plain" }));
    return (await fetch(new Request("/orders", { method: "POST", body, headers: { "oncegate-intent": "cart-1" } }))).status;
  });
  const bodies = new Set(shop.arrivals.map(({ body, type }) => `${type} ${body}`));
  assert.deepEqual([status, shop.orders.size, bodies.size], [201, 1, 1]);
  assert.ok(shop.arrivals.length > 2);
});

test("a Request whose body cannot be read is refused before anything is sent, and what is wrong is said of forms only", async () => {
  const refused = await page.evaluate(async () => {
    const stream = new ReadableStream({ start: (controller) => controller.error(new Error()) });
    const bodies = { "multipart/form-data; boundary=x": "no form", "application/json": stream };
    const requests = Object.entries(bodies).map(([type, body]) => new Request("/orders", { method: "POST", body, duplex: "half", headers: { "content-type": type } }));
    return Promise.all(requests.map((request) => fetch(request).catch(({ name, code, message, cause }) => [name, code, message, cause?.name])));
  });
  assert.deepEqual(refused, [
    ["OncegateError", "body_unreadable", "oncegate: the form cannot be read out of this Request (WebKit never reads its files; elsewhere one may be gone, or it is no form): give fetch the address and the form, or submit it", "TypeError"],
    ["TypeError", undefined, "Failed to fetch", undefined],
  ]);
  assert.equal(shop.arrivals.length, 0);
});

test("axios keeps its statuses, and an instance without it is as before", async () => {
  shop.script = [refuse('{"code":"declined"}'), refuse()];
  const status = () => page.evaluate(() => api.post("orders", {}, { intent: "cart-9" }).catch(({ response, code }) => [response.status, response.data, code]));
  assert.deepEqual(await status(), [402, { code: "declined" }, "ERR_BAD_REQUEST"]);
  await page.evaluate(() => uninstall());
  assert.deepEqual(await status(), [402, {}, "ERR_BAD_REQUEST"]);
  assert.equal(shop.arrivals[1].key, undefined);
});

test("an axios that cannot be given a fetch is refused before anything is sent, and its GET is left alone", async () => {
  const refused = await page.evaluate(async () => {
    // As versions before 1.12 do: nobody reads what `env` says of a fetch.
    const old = { interceptors: { request: { use: (intercept) => (old.intercept = intercept) } }, create: () => ({ request: async () => ({ status: 200 }) }) };
    installOncegate(old, { client });
    const get = { method: "get" };
    return [(await old.intercept(get)) === get, await old.intercept({ method: "post" }).catch(({ message }) => message)];
  });
  assert.deepEqual(refused, [true, "oncegate: this axios sends with a fetch of its own; update it to 1.12 or newer"]);
});

test("all entries of a page share one client", async () => {
  shop.script = [drop];
  assert.equal(await page.evaluate(async () => {
    await sharedFetch("/orders", { method: "POST", intent: "cart-3", body: "{}" });
    return globalThis[Symbol.for("oncegate.client")].state("cart-3").phase;
  }), "executed");
});
