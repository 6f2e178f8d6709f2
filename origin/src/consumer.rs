//! Messages that come more than once, and work that is done once.
//!
//! **Invariant: the record is inserted before the work, in the transaction of the work.** Whoever
//! inserts it works; whoever meets it drops the message. If the work fails, the record goes with it, so
//! that the next delivery is not mistaken for a repeat. There is no look before the insert.

use crate::clock::now_ms;
use crate::id::Id;
use crate::ledger::Failure;
use crate::metrics::{self, Event};
use crate::sql::work::{FirstInsert, atomically, first_insert, is_first};
use crate::sql::{Database, Dialect, Sql, Statements};

/// How long a record is kept: longer than any broker here delivers again.
pub const WINDOW_MS: u64 = 24 * 60 * 60 * 1000;

const RECORD: FirstInsert = first_insert!(
    "consumed",
    "consumer, message, consumed_at",
    "?, ?, ?",
    "consumer, message"
);

/// How many records go at a time, so that nobody waits for a long transaction.
const BATCH: i64 = 500;

const FORGET: Sql = {
    const BY_KEY: &str = "DELETE FROM consumed WHERE (consumer, message) IN (
             SELECT consumer, message FROM consumed
             WHERE consumed_at < ? ORDER BY consumed_at LIMIT ?)";
    Sql {
        // It takes no LIMIT in a subquery, and one at the end instead.
        mysql: "DELETE FROM consumed WHERE consumed_at < ? ORDER BY consumed_at LIMIT ?",
        postgres: BY_KEY,
        sqlite: BY_KEY,
    }
};

/// What became of a delivery. Both are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a message is new or it is not")]
pub enum Consumed {
    /// It was new, and its work is done.
    Now,
    /// Its work was done before.
    Before,
}

impl Consumed {
    /// Counts it in the [`metrics`]. To be called when the work is committed.
    pub fn count(self) {
        metrics::count(match self {
            Self::Now => Event::Consumed,
            Self::Before => Event::Dropped,
        });
    }
}

/// Whether a consumer may do the work of a message: begins the transaction in which it does. `consumer`
/// names who works; each works on its own. While another one is at it, this waits for its end.
///
/// # Errors
///
/// The database failed.
pub async fn is_new<C: Statements>(
    connection: &mut C,
    consumer: Id<'_>,
    message: Id<'_>,
) -> Result<bool, sqlx::Error> {
    let now = now_ms().cast_signed();
    let values = [consumer.into(), message.into(), now.into()];
    is_first::<C::Database>(connection, RECORD, &values).await
}

/// Forgets records of messages that no broker delivers any more, a batch at a time, and counts them.
///
/// # Errors
///
/// The database failed. What was forgotten until then stays forgotten.
pub async fn purge<DB: Dialect>(database: &Database<DB>, now_ms: u64) -> Result<u64, Failure> {
    let before = now_ms.saturating_sub(WINDOW_MS).cast_signed();
    let mut gone = 0;
    loop {
        let values = [before.into(), BATCH.into()];
        let batch = atomically!(database, |connection| {
            Ok(connection.run(FORGET, &values).await?)
        })?;
        gone += batch;
        if batch < BATCH.cast_unsigned() {
            return Ok(gone);
        }
    }
}
