//! What happened, counted, in the text format of Prometheus.
//!
//! **Invariant: a count only grows while the process lives.** It says what this process saw; the
//! books say what is true. Gauges are read from the tables: they say what all processes left.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sql::{Database, Dialect, Statements};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Event {
    Callback,
    Consumed,
    DeadLetter,
    Delivered,
    Dropped,
    IllegalMove,
    NotExecuted,
    Settled,
    Surplus,
    Unknown,
}

const TEXTS: [(&str, &str); 10] = [
    ("callbacks", "callbacks of the payment provider"),
    ("messages_consumed", "messages whose work was done"),
    (
        "messages_given_up",
        "messages that were given up, by relays and consumers",
    ),
    ("messages_delivered", "messages that a relay delivered"),
    ("messages_dropped", "messages that came again"),
    ("illegal_moves", "moves of a status that may not be made"),
    ("attempts_not_executed", "attempts that did nothing"),
    ("rows_settled", "rows that a job settled"),
    ("surplus_payments", "payments that no order waited for"),
    ("attempts_unknown", "attempts that nobody can tell of"),
];

static COUNTS: [AtomicU64; TEXTS.len()] = [const { AtomicU64::new(0) }; TEXTS.len()];

/// Counts one.
pub(crate) fn count(event: Event) {
    COUNTS[event as usize].fetch_add(1, Ordering::Relaxed);
}

/// What waits for a person or for a recovery, whichever process left it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) dead_letters: i64,
    pub(crate) outbox_dead: i64,
    pub(crate) outbox_pending: i64,
    pub(crate) unfinished: i64,
}

impl Gauges {
    /// Counts the rows.
    pub(crate) async fn read<DB: Dialect>(database: &Database<DB>) -> Result<Self, sqlx::Error> {
        let mut reader = database.read().await?;
        let sql = "SELECT (SELECT COUNT(*) FROM dead_letters) AS dead_letters,
                (SELECT COUNT(*) FROM outbox WHERE state = 'dead') AS outbox_dead,
                (SELECT COUNT(*) FROM outbox WHERE state = 'pending') AS outbox_pending,
                (SELECT COUNT(*) FROM idempotency_ledger WHERE state = 'started') AS unfinished";
        let row = reader.first(sql, &[]).await?;
        let row = row.ok_or(sqlx::Error::RowNotFound)?;
        Ok(Self {
            dead_letters: row.get("dead_letters")?,
            outbox_dead: row.get("outbox_dead")?,
            outbox_pending: row.get("outbox_pending")?,
            unfinished: row.get("unfinished")?,
        })
    }
}

/// Everything that is counted.
pub(crate) fn text(gauges: Gauges) -> String {
    let counts = TEXTS.iter().zip(&COUNTS).map(|((name, help), count)| {
        let count = i64::try_from(count.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        (format!("{name}_total"), *help, "counter", count)
    });
    let gauge = |name: &str, help, value| (name.to_owned(), help, "gauge", value);
    let gauges = [
        gauge(
            "dead_letters",
            "messages that nobody could work off, kept for a person",
            gauges.dead_letters,
        ),
        gauge(
            "outbox_dead",
            "messages that a relay tried too often",
            gauges.outbox_dead,
        ),
        gauge(
            "outbox_pending",
            "messages that are owed",
            gauges.outbox_pending,
        ),
        gauge(
            "unfinished",
            "effects outside the database that were begun and whose end is not written down",
            gauges.unfinished,
        ),
    ];
    let mut text = String::new();
    for (name, help, kind, value) in counts.chain(gauges) {
        let name = format!("oncegate_origin_{name}");
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_the_text_in_its_place() {
        count(Event::Unknown);
        count(Event::Callback);
        let text = text(Gauges::default());
        for name in ["callbacks", "attempts_unknown"] {
            assert!(
                text.contains(&format!("\noncegate_origin_{name}_total 1\n")),
                "{text}"
            );
        }
        assert_eq!(Event::Unknown as usize, TEXTS.len() - 1);
    }
}
