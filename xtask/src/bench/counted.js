// The gate with counters around it: calls of objects (an alarm is one) and rows that they wrote and read. What it counts is the
// gate's own doing; what it costs is measured without it.
import gate, * as own from "./index.js";

const counts = { object_calls: 0 };
const cursors = [];

export const counted = (Class) =>
  class {
    constructor(state, env) {
      const { sql } = state.storage;
      const exec = sql.exec;
      sql.exec = (...values) => {
        const cursor = exec.apply(sql, values);
        cursors.push(cursor);
        return cursor;
      };
      this.object = new Class(state, env);
    }

    fetch(request) {
      counts.object_calls += 1;
      return this.object.fetch(request);
    }

    alarm() {
      counts.object_calls += 1;
      return this.object.alarm();
    }
  };

const sum = (field) => cursors.reduce((total, cursor) => total + cursor[field], 0);

export default class extends gate {
  fetch(request) {
    if (new URL(request.url).pathname === "/.oncegate/counts") {
      return Response.json({ ...counts, rows_written: sum("rowsWritten"), rows_read: sum("rowsRead") });
    }
    return super.fetch(request);
  }
}
