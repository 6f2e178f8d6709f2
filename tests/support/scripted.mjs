// The gate before an origin that a test scripts: what most files of tests/gate begin with.

import { randomUUID } from "node:crypto";
import { after, before, beforeEach } from "node:test";

import { startOrigin } from "./origin.mjs";
import { startStack } from "./stack.mjs";

/** The origin; it forgets what it has seen before each test. */
export let origin;

/** The gate before it. */
export let stack;

/** A key of its own for each test. */
export let key;

/** Starts a gate with these settings for the tests of a file. */
export function gateWith(settings) {
  before(async () => {
    origin = await startOrigin();
    stack = await startStack(settings, origin);
  });
  after(async () => {
    await stack?.stop();
    await origin?.stop();
  });
  beforeEach(() => {
    origin.clear();
    key = randomUUID();
  });
}
