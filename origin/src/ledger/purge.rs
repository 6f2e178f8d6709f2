//! Forgetting what was settled long ago (rule L9).
//!
//! **Invariant: a row that is not settled is never forgotten**, however old it is: nobody knows yet what
//! became of its operation. The statement names no other rows.

use std::time::Duration;

use super::{Failure, Ledger};
use crate::clock::now_ms;
use crate::sql;
use crate::sql::Dialect;
use crate::sql::work::atomically;

/// How many rows go at a time, so that nobody waits for a long transaction.
const BATCH: u64 = 500;

/// As long as a ledger must remember at least: twice as long as the gate remembers a key.
pub const RETENTION: Duration = Duration::from_hours(30 * 24);

impl<DB: Dialect> Ledger<DB> {
    /// Forgets the rows that were settled longer ago than `retention`, which must be the
    /// `ledger_retention` that the gate's routes name. Says how many. To be called now and then, such as
    /// once an hour; it may be cut off at any time, and several may run at once.
    ///
    /// # Errors
    ///
    /// The database cannot be written to. What was forgotten until then stays forgotten.
    pub async fn purge(&self, retention: Duration) -> Result<u64, Failure> {
        let retention = u64::try_from(retention.as_millis()).unwrap_or(u64::MAX);
        let before = now_ms().saturating_sub(retention);
        let mut gone = 0;
        loop {
            // A transaction for one batch only: others come in between. It locks no gaps, into which they insert.
            let batch = atomically!(self.database, |connection| {
                Ok(sql::ledger::purge::<DB>(connection, before, BATCH).await?)
            })?;
            gone += batch;
            if batch < BATCH {
                return Ok(gone);
            }
        }
    }
}
