// What the tests in workerd say to the gate, to its objects and to the origin behind it.

import { env, exports } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { inject } from "vitest";

/** The address under which clients know the gate: the scope of their keys. */
export const GATE = "http://127.0.0.1:29871";

/** Sends a request under `key`; `asks` is what the origin shall do (see origin.mjs). It is the shard that answers, and not the gate's memory. */
export async function send(key, asks = {}, { path = "/orders", headers = {} } = {}) {
  const response = await exports.default.fetch(`${GATE}${path}`, {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/json", "cache-control": "no-cache", ...(key && { "idempotency-key": key }), ...headers },
    body: typeof asks === "string" ? asks : JSON.stringify(asks),
  });
  const bytes = await response.bytes();
  const text = new TextDecoder().decode(bytes);
  return {
    status: response.status,
    says: response.headers.get("idempotency-status"),
    operation: response.headers.get("oncegate-operation"),
    headers: response.headers,
    bytes,
    body: response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text,
  };
}

/** What the gate knows of a key. */
export async function look(key, query = "?route=orders", headers = {}) {
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/operations${query}`, { headers: { "idempotency-key": key, ...headers } });
  return { status: response.status, ...(await response.json()) };
}

/** What the gate says to who wants a key to be dead. */
export async function cancel(key, query = "?route=orders") {
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/operations/cancel${query}`, { method: "POST", headers: { "idempotency-key": key } });
  return { status: response.status, ...(await response.json()) };
}

/** The object that holds an operation, by its reference. */
export function shardOf(reference) {
  return shardNamed(`shard-${numberOf(reference)}`);
}

/** The number of the shard that holds an operation: the digest's first bytes say which. */
export function numberOf(reference) {
  const digest = reference.slice("op_".length).replaceAll("-", "+").replaceAll("_", "/");
  const [first, second] = Uint8Array.from(atob(`${digest}=`), (letter) => letter.charCodeAt(0));
  return ((first << 8) | second) % 1024;
}

export function shardNamed(name) {
  return env.SHARDS.getByName(name);
}

/** The object of a key, with its tables made: the first call of a shard's life pays for those. */
export async function openShard(key, path = "/orders") {
  return shardOf((await look(key, `?route=${path.slice(1)}`)).operation);
}

/** Rows of a shard's database. */
export function query(shard, sql, ...values) {
  return runInDurableObject(shard, (_, { storage }) => storage.sql.exec(sql, ...values).toArray());
}

/** How often the origin has done what `key` stands for. */
export async function effects(key) {
  return Number(await (await fetch(`${inject("origin")}/effects?key=${encodeURIComponent(key)}`)).text());
}

/** With which type and body the origin was asked last. */
export async function came(key) {
  return (await fetch(`${inject("origin")}/came?key=${encodeURIComponent(key)}`)).text();
}

/** What support hears of an operation of the route for orders, by whose its key is. */
export async function inspect(scope, key) {
  const query = new URLSearchParams({ scope, key, route: "orders" });
  const response = await exports.default.fetch(`${GATE}/.oncegate/v1/admin/operations?${query}`, { headers: { authorization: `Bearer ${inject("admin")}` } });
  return { status: response.status, ...(await response.json()) };
}

/** Lets the origin answer a request that it holds. */
export async function release(key) {
  await until(async () => (await fetch(`${inject("origin")}/release?key=${encodeURIComponent(key)}`)).text(), (held) => held === "true");
}

/** Asks until `done` says so. */
export async function until(ask, done, limitMs = 20_000) {
  for (const end = Date.now() + limitMs; ; await new Promise((resolve) => setTimeout(resolve, 25))) {
    const value = await ask();
    if (done(value)) return value;
    if (Date.now() > end) throw new Error(`waited ${limitMs} ms in vain; last: ${JSON.stringify(value)}`);
  }
}

let keys = 0;

/** A key that no other test has. */
export function newKey() {
  return `${crypto.randomUUID()}-${++keys}`;
}
