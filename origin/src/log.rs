//! The operator's log: a line on stderr for everything that an answer does not tell.

use std::fmt::Display;
use std::io::Write;

/// A log that nobody reads any more is no reason to stop serving.
pub(crate) fn log(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
