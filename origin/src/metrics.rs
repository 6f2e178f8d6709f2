//! What happened, counted, in the text format of Prometheus.
//!
//! **Invariant: a count only grows while the process lives.** It says what this process saw; the
//! books say what is true.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

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
    ("dead_letters", "messages that were tried too often"),
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

/// All counts.
pub(crate) fn text() -> String {
    let mut text = String::new();
    for ((name, help), count) in TEXTS.iter().zip(&COUNTS) {
        let name = format!("oncegate_origin_{name}_total");
        let count = count.load(Ordering::Relaxed);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}\n"
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
        let text = text();
        for name in ["callbacks", "attempts_unknown"] {
            assert!(
                text.contains(&format!("\noncegate_origin_{name}_total 1\n")),
                "{text}"
            );
        }
        assert_eq!(Event::Unknown as usize, TEXTS.len() - 1);
    }
}
