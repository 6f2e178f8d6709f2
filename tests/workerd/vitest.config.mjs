// The gate as built, inside workerd, with the tests in its own isolate: they reach into its objects and its storage.
//
// Secrets and routes are those of the stored databases (see fixtures/; the newest has what the earlier ones have), so that the gate under
// test finds their rows.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const stored = JSON.parse(readFileSync(here("fixtures/rows-2/database.json"), "utf8"));
/** What the tests present to the gate's admin endpoints. */
const ADMIN = "0123456789abcdef";

/** What they present to read its counts. */
const METRICS = "fedcba9876543210";

/** A route for events that are signed over the body. */
function event(name, ack) {
  const hmac = { header: "X-Signature", id_header: "X-Event" };
  return { name, methods: ["POST"], path: `/${name}`, origin: "ledger", lease_ms: 2_000, client_timeout_ms: 1_500, wait_ms: 1_000, webhook: { sender: "hmac", ack, hmac } };
}

/** The keys of their sender. */
const keys = [{ name: "s1", secret: "0123456789abcdef" }];

/**
 * Those of the stored databases, two that the gate finishes by itself, one at which three wait, one at which one waits, two whose operations are soon over, one with the usual times, one that takes tokens,
 * two of another Worker, one for jobs, whose attempts are not given up however slow the machine is, and two for events.
 */
const routes = [
  ...stored.routes,
  { ...stored.routes[0], name: "finished", path: "/finished", finish: true, lease_ms: 60_000 },
  { ...stored.routes[0], name: "revived", path: "/revived", finish: true },
  { ...stored.routes[0], name: "patient", path: "/patient", max_waiters: 3, wait_ms: 10_000, client_timeout_ms: 20_000, lease_ms: 30_000 },
  { ...stored.routes[0], name: "days", path: "/days", finish: true, result_ttl_s: 86_400, key_ttl_s: 604_800, ledger_retention_s: 2_592_000 },
  { ...stored.routes[0], name: "narrow", path: "/narrow", max_waiters: 1, wait_ms: 2_000, client_timeout_ms: 20_000, lease_ms: 30_000 },
  { ...stored.routes[0], name: "brief", path: "/brief", result_ttl_s: 1, key_ttl_s: 1 },
  { ...stored.routes[1], name: "doubted", path: "/doubted", result_ttl_s: 60, key_ttl_s: 60 },
  { ...stored.routes[0], name: "bound-ledger", path: "/shop/ledger" },
  { ...stored.routes[1], name: "bound-plain", path: "/shop/plain" },
  { ...stored.routes[0], name: "tokened", path: "/tokened", token: "required", origin: "none", result_ttl_s: 86_400, key_ttl_s: 604_800, ledger_retention_s: 2_592_000 },
  { ...stored.routes[0], name: "slots", path: "/slots", client_timeout_ms: 20_000, lease_ms: 30_000 },
  { ...stored.routes[0], name: "observed", path: "/observed", mode: "observe" },
  event("hooked", "delivered"),
  event("queued", "stored"),
];

/** A job whose first slot is the year's. */
function job(name, trigger, more) {
  return { name, trigger, every_minutes: 10, since: "2026-01-01T00:00Z", method: "POST", path: "/slots", ...more };
}

export default defineConfig({
  root: here("."),
  plugins: [
    cloudflareTest(({ inject }) => ({
      wrangler: { configPath: here("../../wrangler.toml") },
      miniflare: {
        bindings: {
          ...stored.secrets,
          ADMIN_SECRETS: `anna=${ADMIN}`,
          METRICS_SECRETS: `page=${METRICS}`,
          CLAIMS_SECRETS: "worker=0123456789abcdef",
          WEBHOOK_SECRETS: JSON.stringify({ hooked: keys, queued: keys }),
          ORIGIN_URL: inject("origin"),
          ORIGINS: [{ path: "/shop/*", service: "SHOP" }],
          ROUTES: routes,
          CRON: [job("skips", "*/10 * * * *"), job("catches", "0-50/10 * * * *", { catch_up: 5 })],
          QUEUES: [{ queue: "messages", path: "/orders" }, { queue: "numbered", path: "/orders", key: "/no" }, { queue: "observed", path: "/observed" }, { queue: "doomed", path: "/orders", key: "/no" }, { queue: "doomed-dead", path: "/orders", key: "/dead" }],
        },
        serviceBindings: { SHOP: "shop" },
        workers: [{ name: "shop", modules: true, scriptPath: here("support/shop.mjs"), compatibilityDate: "2026-01-01" }],
        queueProducers: { WEBHOOKS: "oncegate-webhooks", MESSAGES: "numbered", DOOMED: "doomed" },
        queueConsumers: { "oncegate-webhooks": { maxBatchTimeout: 0, maxRetries: 30 }, numbered: { maxBatchTimeout: 0, maxRetries: 30 }, doomed: { maxBatchTimeout: 0, maxRetries: 1, deadLetterQueue: "doomed-dead" }, "doomed-dead": { maxBatchTimeout: 0, maxRetries: 30 } },
      },
    })),
  ],
  test: {
    include: ["*.test.mjs"],
    globalSetup: [here("support/origin.mjs")],
    // One workerd at a time: the machine's processors belong to the gate under test.
    fileParallelism: false,
    provide: { admin: ADMIN, metrics: METRICS },
    testTimeout: 30_000,
  },
});
