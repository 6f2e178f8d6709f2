// The Desk's list and its rows, as shards and isolates fill them.

import { env } from "cloudflare:workers";
import { evictDurableObject } from "cloudflare:test";
import { beforeEach, expect, test } from "vitest";

import { newKey, query } from "./support/gate.mjs";
import { watchStore } from "./support/store.mjs";

let desk;
beforeEach(() => (desk = env.DESK.getByName(newKey())));

const post = (body) => desk.fetch("https://desk/", { method: "POST", body });

async function tell(message) {
  const answer = await post(`1 ${JSON.stringify(message)}`);
  const text = await answer.text();
  return text && JSON.parse(text);
}

const report = (at_ms, added, removed = [], shard = 7) => tell({ to: "trouble", shard, at_ms, added, removed });
const troubled = (operation, state, since_ms) => ({ operation, route: "orders", state, since_ms });
const list = () => tell({ to: "list" });
const names = async () => (await list()).operations.map(({ operation }) => operation);

test("the disputed are listed first, then the held, then the unknown, the oldest of each first", async () => {
  const operations = [
    troubled("op_e", "unknown", 100),
    troubled("op_c", "held", 300),
    troubled("op_b", "disputed", 500),
    troubled("op_d", "held", 400),
    troubled("op_a", "disputed", 200),
  ];
  await report(1, operations);
  expect(await names()).toEqual(["op_a", "op_b", "op_c", "op_d", "op_e"]);
  expect((await list()).operations[0]).toEqual(operations[4]);
});

test("a report can be repeated, and a late copy of an earlier one changes nothing", async () => {
  const first = [troubled("op_a", "unknown", 1), troubled("op_b", "unknown", 2)];
  await report(10, first);
  await report(10, first);
  await report(20, [troubled("op_b", "disputed", 9)], ["op_a"]);
  await report(10, first);
  expect((await list()).operations).toEqual([troubled("op_b", "disputed", 9)]);
  // Another shard's clock is its own.
  await report(5, [troubled("op_c", "held", 3)], [], 8);
  expect(await names()).toEqual(["op_b", "op_c"]);
});

test("a long list says how many more there are", async () => {
  const many = Array.from({ length: 503 }, (_, index) => troubled(`op_${index}`, "unknown", index));
  await report(1, many);
  const { operations, more } = await list();
  expect([operations.length, more, operations[499].operation]).toEqual([500, 3, "op_499"]);
});

test("what it does not understand is an error and changes nothing", async () => {
  await report(1, [troubled("op_a", "held", 1)]);
  for (const body of ['1 {"to":"later"}', '3 {"to":"list"}', "", '1 {"to":"trouble","shard":7}', "garbage"]) {
    await expect(post(body), body).rejects.toThrow();
  }
  expect(await names()).toEqual(["op_a"]);
});

test("rows of another version are an error, never an empty list", async () => {
  await report(1, [troubled("op_a", "held", 1)]);
  await query(desk, "UPDATE notes SET note = '99' WHERE name = 'version'");
  await evictDurableObject(desk);
  await expect(list()).rejects.toThrow("version 99");
});

test("a tally costs three rows, however much is in it", async () => {
  const event = { at_ms: 1, route: "orders", mode: "enforce", decision: "replayed", state: null, operation: null, status: 201, took_ms: 1 };
  const tally = () => tell({ to: "tally", metrics: { rows_written: 1 }, events: Array(200).fill(event) });
  for (let told = 0; told < 6; told++) await tally();
  const store = await watchStore(desk);
  await tally();
  expect(store.rowsWritten).toBe(3);
  const { events, last } = await tell({ to: "events", after: 0 });
  expect([events.length, events[0].number, last]).toEqual([1_000, 401, 1_400]);
});
