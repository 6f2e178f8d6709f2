//! What waits for a person or for a recovery, whichever process left it: read from the tables, in the text format of Prometheus.

use crate::metrics;
use crate::sql::{Database, Dialect, Statements};

const GAUGES: [(&str, &str, &str); 4] = [
    (
        "dead_letters",
        "SELECT COUNT(*) AS n FROM dead_letters",
        "messages that nobody could work off, kept for a person",
    ),
    (
        "outbox_dead",
        "SELECT COUNT(*) AS n FROM outbox WHERE state = 'dead'",
        "messages that a relay tried too often",
    ),
    (
        "outbox_pending",
        "SELECT COUNT(*) AS n FROM outbox WHERE state = 'pending'",
        "messages that are owed",
    ),
    (
        "unfinished",
        "SELECT COUNT(*) AS n FROM idempotency_ledger WHERE state = 'started'",
        "effects outside the database that were begun and whose end is not written down",
    ),
];

/// All of them.
///
/// # Errors
///
/// The database failed.
pub(crate) async fn text<DB: Dialect>(database: &Database<DB>) -> Result<String, sqlx::Error> {
    let mut reader = database.read().await?;
    let mut text = String::new();
    for (name, sql, help) in GAUGES {
        let row = reader.first(sql, &[]).await?;
        let count = row.ok_or(sqlx::Error::RowNotFound)?.get("n")?;
        metrics::line(&mut text, name, help, "gauge", count);
    }
    Ok(text)
}
