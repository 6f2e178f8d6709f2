//! When a courier has ended, whatever it waits for (rule A4).
//!
//! Invariant: call, answer and telling share one time, counted from the courier's start. Whoever settles
//! an operation by hand relies on it that nobody listens any more.

use crate::policy::HARD_TIMEOUT_MS;

/// What is left for telling the shard when an origin has used up all of its time, in milliseconds.
const TELLING_MS: u64 = 60_000;

/// The end of one courier's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(u64);

impl Deadline {
    /// For a courier that starts at `now_ms`.
    #[must_use]
    pub fn begin(now_ms: u64) -> Self {
        Self(now_ms.saturating_add(HARD_TIMEOUT_MS))
    }

    /// How long the origin is still listened to, in milliseconds.
    #[must_use]
    pub fn listening_ms(self, now_ms: u64) -> u64 {
        self.0.saturating_sub(TELLING_MS).saturating_sub(now_ms)
    }

    /// Whether nobody may be told anything any more.
    #[must_use]
    pub fn is_over(self, now_ms: u64) -> bool {
        now_ms >= self.0
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const START_MS: u64 = 1_700_000_000_000;

    #[test]
    fn a4_nobody_listens_or_tells_a_quarter_of_an_hour_after_the_start() {
        let deadline = Deadline::begin(START_MS);
        for (passed_ms, listening_ms, is_over) in [
            (0, HARD_TIMEOUT_MS - TELLING_MS, false),
            (1_000, HARD_TIMEOUT_MS - TELLING_MS - 1_000, false),
            (HARD_TIMEOUT_MS - TELLING_MS, 0, false),
            (HARD_TIMEOUT_MS - 1, 0, false),
            (HARD_TIMEOUT_MS, 0, true),
            (2 * HARD_TIMEOUT_MS, 0, true),
        ] {
            let now_ms = START_MS + passed_ms;
            assert_eq!(deadline.listening_ms(now_ms), listening_ms, "{passed_ms}");
            assert_eq!(deadline.is_over(now_ms), is_over, "{passed_ms}");
        }
    }

    #[test]
    fn a4_an_attempt_is_never_listened_to_when_a_person_may_settle_it() {
        // A courier starts after its attempt was written down, on a clock of its own that may be some
        // seconds ahead or behind: what is left for telling is longer than that.
        let written_ms = START_MS;
        let started_ms = written_ms + 30_000;
        let deadline = Deadline::begin(started_ms);
        assert_eq!(deadline.listening_ms(written_ms + HARD_TIMEOUT_MS), 0);
    }

    #[test]
    fn a_clock_without_end_does_not_overflow() {
        let deadline = Deadline::begin(u64::MAX);
        assert!(deadline.is_over(u64::MAX));
        assert_eq!(deadline.listening_ms(u64::MAX), 0);
    }
}
