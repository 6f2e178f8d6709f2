//! The statements that read and write rows. Those that make and turn the tables are in
//! [`span`](super::span).

/// The columns of an operation, in the order in which they are written.
macro_rules! columns {
    () => {
        "id, record, keep_until_ms, status, headers, body, request, request_body"
    };
}
pub(crate) use columns;

/// One statement writes a row whether there is one or not: one row write either way.
macro_rules! write {
    ($($also:literal),*) => {
        concat!(
            "INSERT INTO operations (", columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO UPDATE
             SET record = excluded.record, keep_until_ms = excluded.keep_until_ms",
            $($also),*
        )
    };
}

/// The record and its answer by identity, and whether the row is in the newer table. A row of the
/// newer table hides one of the earlier, which is looked at only if there is none.
pub(crate) const FIND: &str =
    "SELECT record, status, headers, body, 1 FROM operations WHERE id = ?1
     UNION ALL
     SELECT record, status, headers, body, 0 FROM operations_earlier WHERE id = ?1
         AND NOT EXISTS (SELECT 1 FROM operations WHERE id = ?1)
     LIMIT 1";

/// Writes a row whole.
pub(crate) const WRITE: &str = write!(
    ", status = excluded.status, headers = excluded.headers, body = excluded.body",
    ", request = excluded.request, request_body = excluded.request_body"
);

/// Writes all but the answer, which stays.
pub(crate) const WRITE_BUT_ANSWER: &str =
    write!(", request = excluded.request, request_body = excluded.request_body");

/// Writes all but the request, which stays.
pub(crate) const WRITE_BUT_REQUEST: &str =
    write!(", status = excluded.status, headers = excluded.headers, body = excluded.body");

/// Writes the record alone.
pub(crate) const WRITE_RECORD: &str = write!();

/// Moves a row of the earlier table to the newer one, where its parts can be kept.
pub(crate) const BRING_FORWARD: &str = concat!(
    "INSERT OR IGNORE INTO operations SELECT ",
    columns!(),
    " FROM operations_earlier WHERE id = ?1"
);

/// Drops a row of the earlier table that one of the newer table hides.
pub(crate) const FORGET_EARLIER: &str = "DELETE FROM operations_earlier WHERE id = ?1
     AND EXISTS (SELECT 1 FROM operations WHERE id = ?1)";

/// The request that was stored with an operation.
pub(crate) const REQUEST: &str = "SELECT request, request_body FROM operations WHERE id = ?1
     UNION ALL
     SELECT request, request_body FROM operations_earlier WHERE id = ?1
         AND NOT EXISTS (SELECT 1 FROM operations WHERE id = ?1)
     LIMIT 1";

/// Of the `?3` operations after `?1`, in the order of their identities: those that are not settled, and,
/// marked, the last one, if there may be more. Both tables are read in that order, and no further.
pub(crate) const OPEN: &str = "WITH looked (id, keep_until_ms) AS MATERIALIZED (
         SELECT id, keep_until_ms FROM operations WHERE id > ?1
         UNION ALL
         SELECT id, keep_until_ms FROM operations_earlier WHERE id > ?1
             AND NOT EXISTS (SELECT 1 FROM operations WHERE operations.id = operations_earlier.id)
         ORDER BY 1 LIMIT ?3
     )
     SELECT id, 0 FROM looked WHERE keep_until_ms = ?2
     UNION ALL
     SELECT CASE count(*) WHEN ?3 THEN max(id) END, 1 FROM looked";

/// Puts an operation on the list, unless it is there.
pub(crate) const NOTE: &str = "INSERT OR IGNORE INTO attention (id, due_ms, settle_ms, tries, told)
     VALUES (?1, ?2, ?2, 0, 0) RETURNING due_ms";

/// Brings an operation that is on the list forward in time.
pub(crate) const HURRY: &str =
    "UPDATE attention SET due_ms = min(due_ms, ?2) WHERE id = ?1 RETURNING due_ms";

/// What is due, the longest waiting first.
pub(crate) const DUE: &str = "SELECT id, due_ms, settle_ms, tries, told FROM attention
     WHERE due_ms <= ?1 ORDER BY due_ms LIMIT ?2";

/// When it is due again, when it may be settled again, and after how many tries.
pub(crate) const POSTPONE: &str =
    "UPDATE attention SET due_ms = ?2, settle_ms = ?3, tries = ?4 WHERE id = ?1";

/// The Desk has heard of it; if nothing has happened since, it is due only when it may be settled.
pub(crate) const HEARD: &str = "UPDATE attention
     SET told = ?2, due_ms = CASE due_ms WHEN ?3 THEN settle_ms ELSE due_ms END WHERE id = ?1";

/// Takes an operation off the list, if nothing has happened since it was due at `?2`.
pub(crate) const REST: &str = "DELETE FROM attention WHERE id = ?1 AND due_ms = ?2";

/// When the next operation is due.
pub(crate) const NEXT_DUE: &str = "SELECT min(due_ms) FROM attention";
