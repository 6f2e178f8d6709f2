// Settings that cannot be used: the gate protects nothing and passes nothing, and its log names the setting, the route, queue or job, and the field. A gate reads its settings once: the tests of this file are never answered by one that has started.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";

import Gate from "../../target/gate/index.js";
import { GATE } from "./support/gate.mjs";

const SECRET = "hunter2-0123456789abcdef";
const APIV3 = { name: "v3", secret: SECRET.padEnd(32, "x") };
const key = (more) => ({ name: "k", secret: SECRET, ...more });
/** One route for events; `keys` are its keys. */
const hook = (webhook, more = {}) => ({ ROUTES: [...env.ROUTES, { name: "hook", methods: ["POST"], path: "/hook", origin: "ledger", webhook, ...more }] });
const hmac = (more) => hook({ sender: "hmac", hmac: { header: "X-Sig", ...more } }, { key_from: { json: "/id" } });
const keys = (sender, ...hookKeys) => ({ ...hook({ sender }), WEBHOOK_SECRETS: JSON.stringify({ ...JSON.parse(env.WEBHOOK_SECRETS), hook: hookKeys }) });
const queue = (more) => ({ QUEUES: [{ queue: "mail", path: "/orders", ...more }] });
const job = (more) => ({ CRON: [{ ...env.CRON[0], name: "nightly", ...more }] });

/** What a gate with these settings says in its log. */
async function said(settings) {
  const lines = [];
  const spy = vi.spyOn(console, "error").mockImplementation((line) => lines.push(String(line)));
  try {
    const gate = new Gate(createExecutionContext(), { ...env, ...settings });
    for (const path of ["/hook", "/orders", "/free"]) expect((await gate.fetch(new Request(`${GATE}${path}`, { method: "POST" }))).status).toBe(503);
  } finally {
    spy.mockRestore();
  }
  return lines.join("\n");
}

for (const [settings, says] of [
  [{ IDENTITY_SECRET: undefined }, "IDENTITY_SECRET: is not set; wrangler.toml says how"],
  [{ IDENTITY_SECRET: SECRET }, "IDENTITY_SECRET: has 24 characters and needs at least 32"],
  [{ SIGNING_SECRETS: SECRET }, "SIGNING_SECRETS: "],
  [{ LOCATION_HINT: "mars" }, "LOCATION_HINT: 'mars' is none of afr, apac, "],
  [{ CORS_ORIGINS: ["https://shop.example/"] }, "CORS_ORIGINS: 'https://shop.example/' is no origin"],
  [{ CORS_ORIGINS: ["*"] }, "CORS_ORIGINS: '*' is no origin"],
  [{ CLAIMS_PER_SCOPE_PER_MINUTE: 0 }, "CLAIMS_PER_SCOPE_PER_MINUTE: must be at least 1"],
  [{ CLAIMS_PER_SCOPE_PER_MINUTE: "many" }, `CLAIMS_PER_SCOPE_PER_MINUTE: is "many" and must be a whole number`],
  [{ CLAIMS_WINDOW_HOURS: 721 }, "CLAIMS_WINDOW_HOURS: is 721, and must be 1 to 720"],
  [{ WAITERS_PER_SHARD: 1.5 }, "WAITERS_PER_SHARD: is 1.5 and must be a whole number"],
  [{ SHARD_BYTES: -1 }, "SHARD_BYTES: is -1 and must be a whole number"],
  [{ ALERTS: { webhook: "https://ops.example", after_minutes: 10_081 } }, "ALERTS: after_minutes: must be at most 10080"],
  [{ ORIGIN_URL: undefined }, "ORIGINS: ORIGIN_URL is needed for the paths that no entry of ORIGINS matches"],
  [{ ORIGIN_URL: "http://shop.example/path" }, "ORIGIN_URL: "],
  [{ ROUTES: [{ name: "bare", methods: ["POST"], path: "/bare" }] }, "ROUTES: route 'bare': missing field `origin`"],
  [{ ROUTES: [...env.ROUTES, { ...env.ROUTES[0], name: "again" }] }, "ROUTES: route 'again': "],
  [hook({ sender: "paypal" }), "ROUTES: route 'hook': unknown variant `paypal`"],
  [hook({ sender: "stripe", secret: SECRET }), "ROUTES: route 'hook': unknown field `secret`"],
  [hook({ sender: "stripe", ack: "never" }), "ROUTES: route 'hook': unknown variant `never`"],
  [hook({ sender: "github", tolerance_s: 300 }), "ROUTES: route 'hook': webhook: tolerance_s: what is signed has no time"],
  [hook({ sender: "stripe", tolerance_s: 0 }), "ROUTES: route 'hook': webhook: tolerance_s: must be at least 1"],
  [hook({ sender: "stripe", tolerance_s: 604_801 }), "ROUTES: route 'hook': webhook: tolerance_s: must be at most 604800"],
  [hook({ sender: "stripe", hmac: { header: "X" } }), "ROUTES: route 'hook': webhook: hmac: goes with sender"],
  [hook({ sender: "hmac" }), "ROUTES: route 'hook': webhook: hmac: is missing"],
  [hmac({ header: "X Sig" }), "ROUTES: route 'hook': webhook: hmac.header"],
  [hmac({ id_header: "Host" }), "ROUTES: route 'hook': webhook: hmac.id_header"],
  [hmac({ signed: "{id}" }), "ROUTES: route 'hook': webhook: hmac: signed has no {body}"],
  [hmac({ signed: "{time}.{body}" }), "ROUTES: route 'hook': webhook: hmac: signed knows"],
  [hmac({ signed: "{timestamp}.{body}" }), "ROUTES: route 'hook': webhook: hmac: signed has {timestamp} if"],
  [hmac({ signed: "{id}.{body}" }), "ROUTES: route 'hook': webhook: hmac: signed has {id}, and there is no id_header"],
  [hmac({ success: "ok" }), "ROUTES: route 'hook': webhook: hmac: success and fail go together"],
  [hook({ sender: "hmac", hmac: { header: "X-Sig" } }), "ROUTES: route 'hook': key_from is missing"],
  [hook({ sender: "stripe" }, { key_from: { json: "/id" } }), "ROUTES: route 'hook': key_from has no effect"],
  [hook({ sender: "stripe" }, { key: "optional" }), "ROUTES: route 'hook': key has no effect"],
  [hook({ sender: "stripe" }, { key_headers: ["X-Id"] }), "ROUTES: route 'hook': key_headers have no effect"],
  [hook({ sender: "stripe" }, { bind: { header: "X-User" } }), "ROUTES: route 'hook': bind has no effect"],
  [hook({ sender: "stripe" }, { fingerprint: "json" }), "ROUTES: route 'hook': fingerprint has no effect"],
  [hook({ sender: "stripe" }, { stream: true }), "ROUTES: route 'hook': stream has no effect"],
  [hook({ sender: "stripe" }, { methods: ["PUT"] }), "ROUTES: route 'hook': methods must be"],
  [{ ...keys("stripe", key()), WEBHOOKS: undefined }, "ROUTES: route 'queued': webhook: ack"],
  [hook({ sender: "stripe" }), "WEBHOOK_SECRETS: route 'hook': is a webhook, and has no keys"],
  [{ WEBHOOK_SECRETS: `{"hooked": "${SECRET}"}` }, "WEBHOOK_SECRETS: is not of the form"],
  [{ WEBHOOK_SECRETS: SECRET }, "WEBHOOK_SECRETS: is not of the form"],
  [keys("stripe", key({ secrets: SECRET })), "WEBHOOK_SECRETS: is not of the form"],
  [{ WEBHOOK_SECRETS: JSON.stringify({ ...JSON.parse(env.WEBHOOK_SECRETS), orders: [key()] }) }, "WEBHOOK_SECRETS: route 'orders' is no webhook"],
  [keys("stripe"), "WEBHOOK_SECRETS: route 'hook': needs a key"],
  [keys("stripe", ...Array.from({ length: 17 }, (_, number) => key({ name: `k${number}` }))), "WEBHOOK_SECRETS: route 'hook': has 17 keys"],
  [keys("stripe", key(), key()), "WEBHOOK_SECRETS: route 'hook': key 'k': name is an earlier one's"],
  [keys("stripe", key({ name: "a b" })), "WEBHOOK_SECRETS: route 'hook': key 'a b': name has"],
  [keys("stripe", key({ secret: "hunter2" })), "WEBHOOK_SECRETS: route 'hook': key 'k': secret has 7 characters"],
  [keys("stripe", key({ public_key: "AAAA" })), "WEBHOOK_SECRETS: route 'hook': key 'k': needs secret, public_key or certificate"],
  [keys("stripe", key({ secret: undefined, public_key: "AAAA" })), "WEBHOOK_SECRETS: route 'hook': key 'k': public_key is of no use"],
  [keys("stripe", key({ secret: undefined, certificate: "AAAA" })), "WEBHOOK_SECRETS: route 'hook': key 'k': certificate is of no use"],
  [keys("stripe", key({ serial: "1" })), "WEBHOOK_SECRETS: route 'hook': key 'k': serial goes with"],
  [keys("stripe", key({ not_before: "soon" })), "WEBHOOK_SECRETS: route 'hook': key 'k': not_before is no date"],
  [keys("stripe", key({ not_after: "2027-02-30" })), "WEBHOOK_SECRETS: route 'hook': key 'k': not_after is no date"],
  [keys("stripe", key({ not_before: "2027-01-02", not_after: "2027-01-01" })), "WEBHOOK_SECRETS: route 'hook': key 'k': not_after is before not_before"],
  [keys("standard", key()), "WEBHOOK_SECRETS: route 'hook': key 'k': secret is not whsec_"],
  [keys("standard", key({ secret: undefined, public_key: "whpk_AAAA" })), "WEBHOOK_SECRETS: route 'hook': key 'k': public_key is not whpk_"],
  [keys("alipay", key()), "WEBHOOK_SECRETS: route 'hook': key 'k': secret is of no use to Alipay"],
  [keys("alipay", key({ secret: undefined, public_key: "AAAA" })), "WEBHOOK_SECRETS: route 'hook': key 'k': public_key is no RSA key"],
  [keys("alipay", key({ secret: undefined, certificate: "AAAA" })), "WEBHOOK_SECRETS: route 'hook': key 'k': certificate cannot be read"],
  [keys("alipay"), "WEBHOOK_SECRETS: route 'hook': needs a public_key or a certificate of Alipay's"],
  [keys("wechat", key()), "WEBHOOK_SECRETS: route 'hook': key 'k': secret is no APIv3 key"],
  [keys("wechat", APIV3), "WEBHOOK_SECRETS: route 'hook': needs a public_key with its serial"],
  [keys("wechat"), "WEBHOOK_SECRETS: route 'hook': needs the APIv3 key"],
  [{ WEBHOOK_QUEUE: ["a"] }, "WEBHOOK_QUEUE: must be text"],
  [{ QUEUES: [{ queue: "oncegate-webhooks", path: "/orders" }] }, "QUEUES: queue 'oncegate-webhooks': queue is the one of stored events, WEBHOOK_QUEUE"],
  [{ ...queue(), WEBHOOK_QUEUE: "mail" }, "QUEUES: queue 'mail': queue is the one of stored events, WEBHOOK_QUEUE"],
  [{ QUEUES: {} }, "QUEUES: invalid type"],
  [{ QUEUES: [{ path: "/orders" }] }, "QUEUES: queue 'no. 1': missing field `queue`"],
  [queue({ retries: 1 }), "QUEUES: queue 'mail': unknown field `retries`"],
  [queue({ queue: "Mail" }), "QUEUES: queue 'Mail': queue is no name"],
  [queue({ path: "/nowhere" }), "QUEUES: queue 'mail': path '/nowhere' is no path"],
  [queue({ path: "/hooked" }), "QUEUES: queue 'mail': path leads to route 'hooked', which takes no client's keys"],
  [queue({ method: "PUT" }), "QUEUES: queue 'mail': method PUT is none"],
  [queue({ key: "no" }), "QUEUES: queue 'mail': key is not"],
  [{ QUEUES: [...queue().QUEUES, ...queue().QUEUES] }, "QUEUES: queue 'mail': queue is there twice"],
  [job({ since: "today" }), "CRON: job 'nightly': since must be"],
  [job({ every_minutes: 0 }), "CRON: job 'nightly': every_minutes must be"],
  [job({ catch_up: 25 }), "CRON: job 'nightly': catch_up is over 24"],
  [job({ path: "/hooked" }), "CRON: job 'nightly': path is a webhook's"],
  [job({ path: "/tokened" }), "CRON: job 'nightly': path takes tokens only"],
  [job({ method: "PUT" }), "CRON: job 'nightly': method is none"],
  [job({ tigger: "* * * * *" }), "unknown field `tigger`"],
]) {
  test(`a gate does not start: ${says}`, async () => {
    const log = await said(settings);
    expect(JSON.parse(log.split("\n")[0]).detail).toContain(says);
    expect(log).not.toContain("hunter2");
  });
}
