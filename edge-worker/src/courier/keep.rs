//! What a route keeps of its origin's answers, and how it passes them on (rules P5, P6).

use oncegate_core::operation::Terms;

use crate::config::Config;

/// Headers and body of an answer that may be stored, in bytes. Rows hold 2 MB.
const LARGEST_STORED_BYTES: u64 = 1_900_000;

/// See above.
pub(super) struct Keep {
    /// Whether answers are passed on as they come, and never stored.
    pub(super) stream: bool,
    /// The largest answer that is stored, in bytes.
    pub(super) max_bytes: u64,
}

impl Keep {
    pub(super) fn of(_config: &Config, _terms: &Terms) -> Self {
        Self {
            stream: false,
            max_bytes: LARGEST_STORED_BYTES,
        }
    }
}
