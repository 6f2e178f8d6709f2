// The client that a page's forms, hooks, adapters and panel share unless they are given one.
//
// Invariant: one per page, however many copies of this package the page has loaded: clicks meet in one
// guard only if they go through one client.

import { createOncegate } from "oncegate";

const SHARED = Symbol.for("oncegate.client");

export function sharedClient() {
  return (globalThis[SHARED] ??= createOncegate());
}
