// What gate, shard and courier say to each other carries a version: parts of two deployments may meet.

import { expect, test } from "vitest";

import { newKey, query, send, shardOf } from "./support/gate.mjs";

test("i5 a message of a version that the shard does not know is an error and changes nothing", async () => {
  const { operation } = await send(newKey());
  const shard = shardOf(operation);
  const say = (message) => shard.fetch("https://shard/", { headers: { "oncegate-message": message } });
  const rows = () => query(shard, "SELECT record FROM operations");
  const look = JSON.stringify({ to: "look", operation, principal: null });
  const before = await rows();
  for (const known of [`1 ${look}`, look]) {
    expect((await (await say(known)).json()).state).toBe("executed");
  }
  const lost = JSON.stringify({ to: "complete", operation, attempt: 1, reply: "lost" });
  for (const unknown of [`2 ${lost}`, `01 ${lost}`, `1${lost}`, "1", JSON.stringify({ to: "forget", operation })]) {
    await expect(say(unknown), unknown).rejects.toThrow();
  }
  expect(await rows()).toEqual(before);
});
