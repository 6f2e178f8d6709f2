//! The operator's log: on stderr, one JSON object a line, for everything that an answer does not tell.

use std::fmt::Display;
use std::io::Write;

use serde_json::json;

use crate::clock::now_ms;

/// Something went wrong, and the program goes on.
pub(crate) fn error(event: &str, cause: &dyn Display) {
    line("error", event, &cause.to_string());
}

/// Something went wrong that a person has to look at.
pub(crate) fn alarm(event: &str, what: &str) {
    line("alarm", event, what);
}

/// A log that nobody reads any more is no reason to stop serving.
fn line(level: &str, event: &str, what: &str) {
    let line = json!({ "time_ms": now_ms(), "level": level, "event": event, "detail": what });
    let _ = writeln!(std::io::stderr(), "{line}");
}
