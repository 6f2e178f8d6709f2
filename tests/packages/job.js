// What a job of the back room does with the package, at a gate: it takes a lock, and claims a message twice.

import { createClaims } from "oncegate/claims";
import { createLocks } from "oncegate/lock";

export async function job(gate, secret, name) {
  const locks = createLocks({ gate, secret });
  const held = await locks.lock(name, { ttlMs: 5_000 });
  const other = await locks.lock(name).then(() => "got it as well", ({ code }) => code);
  await held.release();
  const claims = createClaims({ gate, secret, scope: `packages/${name}` });
  const first = await claims.run("message-1", async () => "sent");
  const again = await claims.run("message-1", async () => "sent twice");
  return `${other}; ${first.answer}, ${again.answer}: ${again.result}`;
}
