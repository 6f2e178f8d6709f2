// A wrapper around the storage of every shard: it counts what is read and written, and fails where a test says so.
//
// The seam is the prototype that the runtime's storage objects share with the tests, which run in the same isolate: the gate
// under test is the one that is deployed.

import { runInDurableObject } from "cloudflare:test";
import { afterEach } from "vitest";

/** The tables of shards. The Desk writes when it likes, and is none of these tests' business. */
const ofShards = (sql) => /\b(operations|operations_earlier|attention|meta)\b/.test(sql);

const open = [];
afterEach(() => open.splice(0).forEach((watched) => watched.restore()));

/**
 * Watches the storage until the test ends. `fault(sql, values)` is asked before each statement of a shard, whichever it is: they share
 * their prototypes. What it returns is thrown. Alarms are those of `shard`.
 */
export async function watchStore(shard, fault = () => undefined) {
  const watched = new Watched(fault);
  await runInDurableObject(shard, (_, { storage }) => watched.wrap(storage));
  open.push(watched);
  return watched;
}

class Watched {
  #restore = [];
  #calls = [];
  /** How many statements have failed because the test said so. */
  failures = 0;

  constructor(fault) {
    this.fault = fault;
  }

  wrap(storage) {
    const watched = this;
    this.#replace(Object.getPrototypeOf(storage.sql), "exec", (exec) => function (statement, ...values) {
      if (!ofShards(statement)) return exec.call(this, statement, ...values);
      const error = watched.fault(statement, values);
      if (error) {
        watched.failures++;
        throw error;
      }
      const cursor = exec.call(this, statement, ...values);
      watched.#calls.push({ sql: statement, cursor });
      return cursor;
    });
    this.#replace(Object.getPrototypeOf(storage), "setAlarm", (setAlarm) => function (...time) {
      if (this === storage) watched.#calls.push({ sql: "setAlarm", cursor: { rowsWritten: 1 } });
      return setAlarm.apply(this, time);
    });
  }

  #replace(prototype, name, wrapped) {
    const original = prototype[name];
    prototype[name] = wrapped(original);
    this.#restore.push(() => (prototype[name] = original));
  }

  restore() {
    this.#restore.forEach((put) => put());
  }

  /** Forgets what was counted so far. */
  clear() {
    this.#calls = [];
  }

  /** Rows written, alarms included: they are billed as one each. */
  get rowsWritten() {
    return this.#calls.reduce((sum, { cursor }) => sum + cursor.rowsWritten, 0);
  }

  /** The statements that read operations. */
  get reads() {
    return this.#calls.map(({ sql }) => sql).filter((sql) => /^\s*SELECT/i.test(sql));
  }

  get statements() {
    return this.#calls.map(({ sql }) => sql);
  }
}
