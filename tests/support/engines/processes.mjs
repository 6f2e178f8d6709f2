// Programs with many processes. Invariant: each leads a group of its own, which is gone when the test's process is, however that ends.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

const groups = new Set();
const signals = { SIGINT: 2, SIGTERM: 15 };

process.on("exit", () => groups.forEach((group) => signal(group, "SIGKILL")));
for (const [name, number] of Object.entries(signals)) process.on(name, () => process.exit(128 + number));

/** Where a program lies that the set-up has found or installed. */
export function program(variable) {
  const path = process.env[variable];
  if (path) return path;
  throw new Error(`${variable} is not set: run \`cargo xtask test engines\`, which installs what is missing and sets it`);
}

/** Starts a program whose output goes to `<name>.log` in `folder`; its home and its temporary files lie there, too. */
export async function startGroup(name, command, args, folder, env = {}) {
  const log = join(folder, `${name}.log`);
  const file = await open(log, "a");
  const child = spawn(command, args, {
    detached: true,
    stdio: ["ignore", file.fd, file.fd],
    env: { ...process.env, HOME: folder, TMPDIR: folder, XDG_RUNTIME_DIR: folder, ...env },
  });
  const started = new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  if (child.pid) groups.add(child.pid);
  await file.close();
  await started;
  return { name, log, pid: child.pid, text: () => readFileSync(log, "utf8") };
}

/** Asks the group to end, and kills what has not done so after a second. */
export async function endGroup({ pid }) {
  signal(pid, "SIGTERM");
  for (const end = Date.now() + 1_000; members(pid).length > 0 && Date.now() < end; ) await pause(20);
  await killGroup({ pid });
}

/** Waits until the program's output says `pattern`, and gives what matched. */
export async function says(group, pattern, limitMs = 20_000) {
  for (const end = Date.now() + limitMs; Date.now() < end; await pause(20)) {
    const match = pattern.exec(group.text());
    if (match) return match;
  }
  throw new Error(`${group.name} has not said ${pattern} in ${limitMs} ms; it said:\n${group.text()}`);
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Kills the processes of a group whose command line has `pattern`, and says how many there were. */
export function killMembers({ pid: group }, pattern) {
  const killed = members(group).filter((pid) => pattern.test(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")));
  killed.forEach((pid) => process.kill(pid, "SIGKILL"));
  return killed.length;
}

/** Kills the group, without a word before. */
export async function killGroup({ pid }) {
  signal(pid, "SIGKILL");
  while (members(pid).length > 0) await pause(20);
  groups.delete(pid);
}

/** The living processes of a group. */
function members(group) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // The name in brackets may hold anything; what follows the last bracket is state, parent, group.
        const [state, , pgrp] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
        if (Number(pgrp) !== group || state === "Z") return [];
        return [Number(pid)];
      } catch {
        return []; // It has ended meanwhile.
      }
    });
}

function signal(group, name) {
  try {
    process.kill(-group, name);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}
