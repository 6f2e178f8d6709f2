// Events that services send: proved, known by their identity, acknowledged in the sender's words, and executed once however often they come.

import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { DatabaseSync } from "node:sqlite";

import { startOrigin } from "../support/origin.mjs";
import {
  alipay, alipayKey, chinaTime, github, hmac, nextWechatKey, opensslEd25519, opensslHmac, opensslHmacOfBytes, opensslRsa, provider, seconds, secrets, settings, standard,
  stripe, wechat, wechatKey,
} from "../support/senders.mjs";
import { json, order, startStack, until } from "../support/stack.mjs";

const TIMES = "lease_ms = 1500, wait_ms = 1000, client_timeout_ms = 1000";
const ORDERS = `{ name = "orders", methods = ["POST"], path = "/orders", origin = "ledger" }`;
let [origin, stack] = [];

before(async () => {
  origin = await startOrigin();
  process.env.ONCEGATE_CALLBACK_SECRET = secrets.provider;
  stack = await startStack({ ...settings(TIMES, ORDERS), METRICS_SECRETS: "m=0123456789abcdef", ORIGINS: `[{ path = "/hooks/*", url = "${origin.url}" }]` });
});
after(async () => {
  delete process.env.ONCEGATE_CALLBACK_SECRET;
  await stack?.stop();
  await origin?.stop();
});
beforeEach(() => origin.clear());

async function deliver({ path, body, headers }) {
  const response = await fetch(`${stack.gate}${path}`, { method: "POST", headers, body });
  const text = await response.text();
  return { status: response.status, text, code: response.headers.get("oncegate-decision"), says: response.headers.get("idempotency-status") };
}

const wechatYes = `{"code":"SUCCESS","message":"成功"}`;
const wechatNo = `{"code":"FAIL","message":"失败"}`;

/** Each sender: an event of this name, signed now, and its words. */
const senders = {
  stripe: { event: (id, options) => stripe({ id, type: "charge.succeeded" }, options), yes: "", key: (id) => id },
  github: { event: (id, options) => github({ ref: "refs/heads/main" }, { id, ...options }), yes: "", key: (id) => id },
  standard: { event: (id, options) => standard({ type: "invoice.paid" }, { id, ...options }), yes: "", key: (id) => id },
  ed25519: { event: (id, options) => standard({ type: "invoice.paid" }, { id, asymmetric: true, ...options }), yes: "", key: (id) => id },
  wechat: { event: (id, options) => wechat({ transaction_id: id, out_trade_no: "o" }, { id: randomUUID(), ...options }), yes: wechatYes, no: wechatNo, key: (id) => `TRANSACTION.SUCCESS:${id}` },
  alipay: { event: (id, options) => alipay({ notify_id: id, trade_no: "7", trade_status: "TRADE_SUCCESS" }, options), yes: "success", no: "fail", key: (id) => id },
};

for (const [name, { event, yes, key }] of Object.entries(senders)) {
  test(`${name}: five deliveries at once are one call, and all are acknowledged in the sender's words; so is a repetition that is signed anew`, async () => {
    const id = randomUUID();
    origin.handle = (request, response) => setTimeout(() => origin.done(request, response), 200);
    const answers = await Promise.all(Array.from({ length: 5 }, () => deliver(event(id))));
    const again = await deliver(event(id));
    for (const { status, text } of [...answers, again]) assert.deepEqual([status, text], [200, yes]);
    assert.equal(again.says, "replayed");
    assert.equal(origin.seen.length, 1);
    const { headers, body } = origin.seen[0];
    assert.deepEqual([headers["idempotency-key"], headers["oncegate-key-kind"], headers["oncegate-attempt"]], [key(id), "generated", "1"]);
    assert.ok(body.length > 0 && headers["oncegate-signature"]);
  });
}

/** A delivery with something changed. */
const changed = (delivery, change) => ({ ...delivery, headers: { ...delivery.headers }, ...change(delivery) });
const header = (name, value) => ({ headers }) => ({ headers: { ...headers, [name]: typeof value === "function" ? value(headers[name]) : value } });
const body = (from, to) => (delivery) => ({ body: delivery.body.replace(from, to) });
const without = (name) => ({ headers }) => ({ headers: Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name)) });

const forged = [
  ["stripe, another time", () => changed(senders.stripe.event("e"), header("stripe-signature", (value) => value.replace(/t=\d+/, `t=${seconds(1)}`)))],
  ["stripe, an old copy", () => senders.stripe.event("e", { time: seconds(-400) })],
  ["stripe, from the future", () => senders.stripe.event("e", { time: seconds(400) })],
  ["stripe, a retired secret", () => senders.stripe.event("e", { secret: "whsec_retired_12345678" })],
  ["github, the weak signature only", () => changed(changed(senders.github.event("e"), header("x-hub-signature", `sha1=${hmac(secrets.github, "{}", "sha1")}`)), without("x-hub-signature-256"))],
  ["standard, another time", () => changed(senders.standard.event("e"), header("webhook-timestamp", seconds(1)))],
  ["standard, an old copy", () => senders.standard.event("e", { time: seconds(-400) })],
  ["wechat, an old copy", () => senders.wechat.event("e", { time: seconds(-400) })],
  ["wechat, the serial of another key", () => senders.wechat.event("e", { serial: "PUB_KEY_ID_2" })],
  ["wechat, a serial that nobody has", () => senders.wechat.event("e", { serial: "PUB_KEY_ID_3" })],
  ["wechat, its probe for those who do not verify", () => changed(senders.wechat.event("e"), header("wechatpay-signature", (value) => `WECHATPAY/SIGNTEST/${value}`))],
  ["wechat, another way of sealing", () => senders.wechat.event("e", { algorithm: "NONE" })],
  ["wechat, sealed for another merchant", () => senders.wechat.event("e", { apiv3: "00000000000000000000000000000000" })],
  ["alipay, another amount", () => changed(alipay({ notify_id: "e", total_amount: "2.00" }), body("2.00", "9.00"))],
  ["alipay, a field more", () => changed(senders.alipay.event("e"), ({ body: form }) => ({ body: `${form}&a=1` }))],
  ["alipay, another charset", () => changed(senders.alipay.event("e"), ({ body: form }) => ({ body: form.replace("%E5%A4%A7", "%B4%F3") }))],
  ["alipay, older than any repetition", () => alipay({ notify_id: "e", notify_time: chinaTime(-3 * 86_400) })],
  ["alipay, no time", () => alipay({ notify_id: "e", notify_time: undefined })],
  ["alipay, not a form", () => changed(senders.alipay.event("e"), header("content-type", "application/json"))],
];

/** An event of the shop's own provider. */
const paid = (id, options) => provider({ pay_no: "p", order_no: "o", amount_cents: 1 }, { id, ...options });

/** Of each sender: an event, where its signature stands, what else is signed in header fields, other names for its algorithm, and an event that somebody else has signed. */
const proofs = {
  stripe: { event: senders.stripe.event, signature: "stripe-signature", others: ["v1=", "v0=", "v2="], elsewhere: { secret: secrets.github } },
  github: { event: senders.github.event, signature: "x-hub-signature-256", others: ["sha256=", "sha1=", "sha512=", ""], elsewhere: { secret: secrets.stripe } },
  standard: { event: senders.standard.event, signature: "webhook-signature", signed: ["webhook-id", "webhook-timestamp"], others: ["v1,", "v1a,", "v2,", ""], elsewhere: { secret: randomBytes(24) } },
  ed25519: {
    event: senders.ed25519.event, signature: "webhook-signature", signed: ["webhook-id", "webhook-timestamp"], others: ["v1a,", "v1,", "v2a,"],
    elsewhere: { key: generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }) },
  },
  wechat: { event: senders.wechat.event, signature: "wechatpay-signature", signed: ["wechatpay-timestamp", "wechatpay-nonce", "wechatpay-serial"], elsewhere: { key: alipayKey.privateKey } },
  alipay: { event: senders.alipay.event, elsewhere: { key: wechatKey.privateKey } },
  provider: { event: paid, signature: "x-provider-signature", signed: ["x-provider-event"], elsewhere: { secret: secrets.stripe } },
};

/** The same text with its middle changed. */
function dented(text) {
  const middle = text.length >> 1;
  return text.slice(0, middle) + (text[middle] === "0" ? "1" : "0") + text.slice(middle + 1);
}

/** Everything that can be done to a field, whatever it means. */
const faults = {
  changed: dented,
  "cut short": (text) => text.slice(0, -4),
  empty: () => "",
  twice: (text) => `${text}, ${text}`,
};

/** Each way to tamper with an event of this sender. */
function* tampering(name, { event, signature, signed = [], others: [own, ...others] = [], elsewhere }) {
  const whole = event("e");
  for (const [how, fault] of Object.entries({ ...faults, longer: (text) => `${text} ` })) yield [`${name}, the body ${how}`, { ...whole, body: fault(whole.body) }];
  for (const field of signature ? [signature, ...signed] : []) {
    for (const [how, fault] of Object.entries(faults)) yield [`${name}, ${field} ${how}`, changed(whole, header(field, fault))];
    yield [`${name}, without ${field}`, changed(whole, without(field))];
  }
  for (const other of others) yield [`${name}, ${other} for ${own}`, changed(whole, header(signature, (value) => value.replace(own, other)))];
  if (!signature) yield* tamperingWithForm(name, whole);
  yield [`${name}, signed by somebody else`, event("e", elsewhere)];
}

/** The same where everything is a field of the form. */
function* tamperingWithForm(name, whole) {
  const fields = [...new URLSearchParams(whole.body)];
  const form = (changed) => ({ ...whole, body: new URLSearchParams(changed).toString() });
  for (const [index, [field, value]] of fields.entries()) {
    const rest = fields.toSpliced(index, 1);
    yield [`${name}, without ${field}`, form(rest)];
    yield [`${name}, ${field} twice`, form([...fields, [field, value]])];
    for (const how of ["changed", "cut short", "empty"]) {
      if (faults[how](value) !== value) yield [`${name}, ${field} ${how}`, form([...rest, [field, faults[how](value)]])];
    }
  }
}

test("what is changed on its way, old, or signed by somebody else is refused in the sender's words and reaches nobody", async () => {
  const tampered = Object.entries(proofs).flatMap(([name, proof]) => [...tampering(name, proof)]);
  assert.ok(tampered.length > 150, `${tampered.length}`);
  for (const [what, delivery] of [...forged.map(([what, make]) => [what, make()]), ...tampered]) {
    const { status, text, code } = await deliver(delivery);
    const no = { "/hooks/wechat": wechatNo, "/hooks/alipay": "fail", "/callbacks/payment": "fail" }[delivery.path];
    assert.deepEqual([status, code], [403, "sender_unverified"], `${what}: ${text}`);
    if (no) assert.equal(text, no, what);
  }
  assert.deepEqual(origin.seen, []);
});

test("signatures that openssl makes are the senders' own", async () => {
  const id = randomUUID();
  const made = [
    senders.stripe.event(id, { mac: opensslHmac }),
    senders.github.event(id, { mac: opensslHmac }),
    senders.standard.event(id, { mac: opensslHmacOfBytes }),
    senders.ed25519.event(randomUUID(), { signer: opensslEd25519 }),
    paid(randomUUID(), { mac: opensslHmac }),
    senders.wechat.event(id, { signer: opensslRsa, key: nextWechatKey.privateKey, serial: "PUB_KEY_ID_2" }),
    senders.alipay.event(id, { signer: opensslRsa, key: alipayKey.privateKey, order: (fields) => fields.reverse() }),
  ];
  for (const delivery of made) assert.notEqual((await deliver(delivery)).code, "sender_unverified", delivery.path);
  // The shop's own provider is served by the shop.
  assert.equal(origin.seen.length, made.length - 1);
});

test("while a secret is replaced both are the sender's, and an event signed with either is the same event", async () => {
  const id = randomUUID();
  assert.equal((await deliver(senders.stripe.event(id))).says, "executed");
  assert.equal((await deliver(senders.stripe.event(id, { secret: secrets.next }))).says, "replayed");
  assert.equal(origin.seen.length, 1);
});

const answerWith = (status, outcome) => (_, response) => response.writeHead(status, { "idempotency-outcome": outcome }).end("what the origin says");

test("p7 what the origin did not execute is not acknowledged, and the next delivery tries again", async () => {
  for (const [name, { event, yes, no }] of Object.entries(senders)) {
    const id = randomUUID();
    origin.clear();
    origin.handle = answerWith(404, "not_executed");
    const failed = await deliver(event(id));
    assert.deepEqual([failed.status, failed.says], [404, "not_executed"], name);
    if (no) assert.equal(failed.text, no);
    origin.handle = answerWith(200, "executed");
    const taken = await deliver(event(id));
    assert.deepEqual([taken.status, taken.text], [200, yes], name);
    assert.equal(origin.seen.length, 2);
  }
});

test("what the origin refuses for good is never acknowledged, and not tried again", async () => {
  const id = randomUUID();
  origin.handle = answerWith(200, "refused");
  for (const _ of [1, 2]) {
    const { status, text, says } = await deliver(senders.alipay.event(id));
    assert.deepEqual([status, text, says], [503, "fail", "refused"]);
  }
  assert.equal(origin.seen.length, 1);
});

test("when the sender's deadline passes it is told to come again, and the late answer is there when it does", async () => {
  const id = randomUUID();
  let answer;
  origin.handle = (request, response) => (answer = () => origin.done(request, response));
  const late = await deliver(senders.wechat.event(id));
  assert.deepEqual([late.status, late.text, late.says], [409, wechatNo, "in_progress"]);
  answer();
  const taken = await until(() => deliver(senders.wechat.event(id)), ({ status }) => status === 200);
  assert.equal(taken.text, wechatYes);
  assert.equal(origin.seen.length, 1);
});

test("an event that fails with 500 is processed once when it comes again, and never lost", async () => {
  const id = randomUUID();
  const effects = new Set();
  origin.handle = ({ headers }, response) => {
    const key = headers["idempotency-key"];
    if (!effects.has(key)) {
      effects.add(key);
      return response.writeHead(500).end();
    }
    response.writeHead(200, { "idempotency-outcome": "executed" }).end();
  };
  const first = await deliver(senders.stripe.event(id));
  assert.deepEqual([first.status, first.says], [500, "unknown"]);
  await until(() => deliver(senders.stripe.event(id)), ({ status }) => status === 200);
  assert.equal(effects.size, 1);
});

test("i2 events whose gate is killed again and again are each executed once, and none is lost", async () => {
  const effects = new Map();
  origin.handle = ({ headers }, response) => {
    const key = headers["idempotency-key"];
    effects.set(key, effects.get(key) ?? randomUUID());
    // The answer is lost half of the time.
    if (Math.random() < 0.5) return response.socket.destroy();
    response.writeHead(200, { "idempotency-outcome": "executed" }).end();
  };
  const ids = Array.from({ length: 12 }, () => randomUUID());
  const acknowledged = new Map();
  // A sender repeats until it is acknowledged.
  const sender = async (id) => {
    for (;;) {
      const said = await deliver(senders.alipay.event(id)).catch(() => undefined);
      if (said?.text === "success") return acknowledged.set(id, effects.get(id));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const all = Promise.all(ids.map(sender));
  for (const _ of [1, 2]) {
    await until(() => effects.size, (size) => size >= 3);
    await stack.tell("kill-gate");
    await stack.tell("start-gate");
  }
  await all;
  for (const id of ids) assert.ok(effects.get(id) && acknowledged.get(id) === effects.get(id), id);
  assert.equal(effects.size, ids.length);
  const { length } = origin.seen;
  for (const id of ids) assert.equal((await deliver(senders.alipay.event(id))).says, "replayed");
  assert.equal(origin.seen.length, length);
});

test("keys that end soon are said in the log and in the metrics, and no secret is", async () => {
  await deliver(senders.stripe.event(randomUUID()));
  const log = await until(() => readFile(join(stack.folder, "gate.log"), "utf8"), (text) => text.includes("webhook_keys_end"));
  const line = JSON.parse(log.split("\n").find((text) => text.includes("webhook_keys_end")).match(/\{.*\}/)[0]);
  assert.deepEqual([line.level, line.route, line.days], ["warn", "stripe", 20]);
  assert.ok(!log.includes(secrets.stripe) && !log.includes(secrets.apiv3));
  const metrics = await (await fetch(`${stack.gate}/.oncegate/v1/metrics`, { headers: { authorization: "Bearer 0123456789abcdef" } })).text();
  const [, end] = metrics.match(/oncegate_webhook_keys_end_seconds\{route="stripe"\} (\d+)/);
  assert.ok(Number(end) > Number(seconds(20 * 86_400)) && Number(end) < Number(seconds(21 * 86_400)));
  assert.ok(!metrics.includes('keys_end_seconds{route="github"}'));
});

/** Rows of the shop. */
function shop(sql) {
  const database = new DatabaseSync(stack.database, { readOnly: true });
  const rows = database.prepare(sql).all();
  database.close();
  return rows;
}

test("a payment callback, sent five times, twice under another event: one payment, one change of the order's status; an unknown order is answered fail", async () => {
  const unknown = provider({ pay_no: "p0", order_no: "nobody", amount_cents: 2400 }, { id: randomUUID() });
  for (const _ of [1, 2]) {
    const said = await deliver(unknown);
    assert.deepEqual([said.text, said.says], ["fail", "not_executed"]);
  }
  const later = order({ card: undefined, pay: "later" });
  const placed = await (await fetch(`${stack.gate}/orders`, { method: "POST", headers: { ...json, "idempotency-key": randomUUID() }, body: later })).json();
  const { id: order_no, total_cents: amount_cents } = placed.order;
  const fact = { pay_no: `p-${randomUUID()}`, order_no, amount_cents };
  const [one, other] = [{ id: randomUUID() }, { id: randomUUID() }];
  const answers = await Promise.all([one, one, one, other, other].map((event) => deliver(provider(fact, event))));
  assert.deepEqual(answers.map(({ status, text }) => [status, text]), Array(5).fill([200, "success"]));
  // Two events, two operations, and the index on the payment's number: one payment.
  assert.deepEqual(shop(`SELECT order_id, outcome FROM callbacks WHERE pay_no = '${fact.pay_no}'`).map(({ outcome }) => outcome), ["settled"]);
  assert.deepEqual(shop(`SELECT status FROM orders WHERE id = '${order_no}'`).map(({ status }) => status), [2]);
  assert.equal(shop(`SELECT count(*) AS n FROM outbox WHERE aggregate = '${order_no}'`)[0].n, 3);
  // Another amount under the number is no payment of this shop's.
  const wrong = await deliver(provider({ ...fact, amount_cents: 1 }, { id: randomUUID() }));
  assert.deepEqual([wrong.text, wrong.says], ["fail", "refused"]);
});
