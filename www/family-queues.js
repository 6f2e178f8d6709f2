/**
 * Queues: messages go into a Cloudflare Queue, several times, and come out of it at the gate. Another Worker sends them.
 *
 * Invariant: how often the customer was told was read from the shop's rows, and how often the shop was called from the gate's record.
 */

import { backRoom, needs, newRun, notThere, send } from "./family-ask.js";

const COPIES = 5;
const LOOK_MS = 300;
/** The queue brings a message again after five seconds. */
const PATIENCE_MS = 30_000;
const json = { "Content-Type": "application/json" };

export const queues = { name: "queues", guide: { en: "docs/queues.md", zh: "docs/zh/queues.md" }, steps: { five: needs(five), lost: needs(lost) } };

/** Five senders that know nothing of each other, and one fact. */
async function five(tell) {
  const run = newRun();
  const sent = await queued(run, COPIES);
  const record = await settled(run);
  // The last copies may still be on their way when the first is done.
  await pause(1_000);
  return ending(tell, run, { sent, record, attempts: 1, say: "once" });
}

/** The shop does it, and its answer never arrives: the queue brings the message again. */
async function lost(tell) {
  const run = newRun();
  await broken(["drop_after_commit"]);
  const sent = await queued(run, 1);
  tell([["page", "sent", sent]]);
  const record = await settled(run);
  return ending(tell, run, { sent, record, attempts: 2, say: "again" });
}

async function ending(tell, run, { sent, record, attempts, say }) {
  const { notices } = await backRoom(`notices/${run}`);
  tell([["page", "sent", sent], ["gate", "state", record?.state], ["gate", "attempts", record?.attempts], ["shop", "notices", notices.length]]);
  const holds = notices.length === 1 && record?.attempts === attempts;
  return { holds, say, otherwise: notices.length === 1 ? undefined : "wrong", values: { sent, count: notices.length } };
}

async function queued(run, copies) {
  const message = { id: `notice-${run}`, topic: "notice", payload: { order: run, status: "SHIPPED" } };
  const { body, status } = await send("/lab/queue", { headers: json, body: JSON.stringify({ message, copies }) });
  if (!body?.sent) throw notThere(`/lab/queue: ${status}`);
  return body.sent;
}

async function broken(faults) {
  await fetch("/faults/messages", { method: "PUT", headers: json, body: JSON.stringify(faults) });
}

/** The gate's record of the message, as soon as it is executed. */
async function settled(run) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pause(LOOK_MS)) {
    const record = await backRoom(`records/queue/${run}`);
    if (record?.state === "executed") return record;
  }
  return backRoom(`records/queue/${run}`);
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
