//! When a courier has ended, whatever it waits for (rule A4).
//!
//! Invariant: call, answer and telling share one time, counted from the courier's start. Whoever settles
//! an operation by hand relies on it that nobody listens any more.

use oncegate_core::policy::HARD_TIMEOUT_MS;

use crate::platform::now_ms;

/// What is left for telling the shard when an origin has used up all of its time, in milliseconds.
const TELLING_MS: u64 = 60_000;

/// The end of one courier's time.
#[derive(Clone, Copy)]
pub(super) struct Deadline(u64);

impl Deadline {
    /// For a courier that starts now.
    pub(super) fn begin() -> Self {
        Self(now_ms().saturating_add(HARD_TIMEOUT_MS))
    }

    /// How long the origin is still listened to, in milliseconds.
    pub(super) fn listening_ms(self) -> u64 {
        self.0.saturating_sub(TELLING_MS).saturating_sub(now_ms())
    }

    /// Whether nobody may be told anything any more.
    pub(super) fn is_over(self) -> bool {
        now_ms() >= self.0
    }
}
