// A wrapper around the storage of objects of one kind: it counts what is read and written, and fails where a test says so.
//
// The seam is the prototype that the runtime's storage objects share with the tests, which run in the same isolate: the gate
// under test is the one that is deployed.

import { runInDurableObject } from "cloudflare:test";
import { afterEach } from "vitest";

const open = [];
afterEach(() => open.splice(0).forEach((watched) => watched.restore()));

/**
 * Watches the storage until the test ends: the statements about tables that `object` has, whoever of its kind makes them, since all
 * share their prototypes and an object may be replaced. `fault(sql, values)` is asked before each; what it returns is thrown. Alarms are
 * those of `object`.
 */
export async function watchStore(object, fault = () => undefined) {
  const watched = new Watched(fault);
  await runInDurableObject(object, (_, { storage }) => watched.wrap(storage));
  open.push(watched);
  return watched;
}

class Watched {
  #restore = [];
  #calls = [];
  /** How many statements have failed because the test said so. */
  failures = 0;
  /** How much later than the gate asks alarms are set: a test that rings them itself keeps the clock from ringing them too. */
  alarmsLaterMs = 0;

  constructor(fault) {
    this.fault = fault;
  }

  wrap(storage) {
    const watched = this;
    const tables = storage.sql.exec("SELECT name FROM sqlite_schema WHERE type = 'table'").toArray();
    const ours = new RegExp(`\\b(${tables.map(({ name }) => name).join("|")})\\b`);
    this.#replace(Object.getPrototypeOf(storage.sql), "exec", (exec) => function (statement, ...values) {
      if (!ours.test(statement)) return exec.call(this, statement, ...values);
      const error = watched.fault(statement, values);
      if (error) {
        watched.failures++;
        throw error;
      }
      const cursor = exec.call(this, statement, ...values);
      watched.#calls.push({ sql: statement, cursor });
      return cursor;
    });
    this.#replace(Object.getPrototypeOf(storage), "setAlarm", (setAlarm) => function (time, ...options) {
      if (this === storage) watched.#calls.push({ sql: "setAlarm", cursor: { rowsWritten: 1 } });
      return setAlarm.call(this, Number(time) + watched.alarmsLaterMs, ...options);
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

  get rowsRead() {
    return this.#calls.reduce((sum, { cursor }) => sum + (cursor.rowsRead ?? 0), 0);
  }

  /** The statements that read operations. */
  get reads() {
    return this.#calls.map(({ sql }) => sql).filter((sql) => /^\s*SELECT/i.test(sql));
  }

  get statements() {
    return this.#calls.map(({ sql }) => sql);
  }
}
