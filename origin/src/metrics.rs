//! What happened, counted, in the text format of Prometheus.
//!
//! **Invariant: a count only grows while the process lives.** It says what this process saw; the tables say what is
//! true. A service shows [`text`] beside its own metrics.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Event {
    #[cfg(feature = "shop")]
    Callback,
    Consumed,
    DeadLetter,
    Delivered,
    Dropped,
    IllegalMove,
    NotExecuted,
    #[cfg(feature = "shop")]
    NotRecovered,
    Settled,
    #[cfg(feature = "shop")]
    Surplus,
    Unknown,
}

const TEXTS: &[(&str, &str)] = &[
    #[cfg(feature = "shop")]
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
    #[cfg(feature = "shop")]
    (
        "recoveries_failed",
        "times that what was begun could not be finished",
    ),
    ("rows_settled", "rows that a job settled"),
    #[cfg(feature = "shop")]
    ("surplus_payments", "payments that no order waited for"),
    ("attempts_unknown", "attempts that nobody can tell of"),
];

static COUNTS: [AtomicU64; TEXTS.len()] = [const { AtomicU64::new(0) }; TEXTS.len()];

/// Counts one.
pub(crate) fn count(event: Event) {
    COUNTS[event as usize].fetch_add(1, Ordering::Relaxed);
}

/// Everything that this process has counted.
pub fn text() -> String {
    let mut text = String::new();
    for ((name, help), count) in TEXTS.iter().zip(&COUNTS) {
        let name = format!("{name}_total");
        let count = i64::try_from(count.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        line(&mut text, &name, help, "counter", count);
    }
    text
}

/// One metric.
pub(crate) fn line(text: &mut String, name: &str, help: &str, kind: &str, value: i64) {
    let name = format!("oncegate_origin_{name}");
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_the_text_in_its_place() {
        count(Event::Unknown);
        count(Event::Settled);
        let text = text();
        for name in ["rows_settled", "attempts_unknown"] {
            assert!(
                text.contains(&format!("\noncegate_origin_{name}_total 1\n")),
                "{text}"
            );
        }
        assert_eq!(Event::Unknown as usize, TEXTS.len() - 1);
    }
}
