//! The circuit breaker of an origin (rule A5).
//!
//! Invariant: an origin is called unreachable only on the word of a test, and only a short time after
//! it. Failed calls alone never say so: they are the reason to test, before anything is claimed.

/// How many calls in a row have to fail before an origin is tested.
pub const FAILURES: u32 = 5;

/// Within which time they have to fail, in milliseconds.
pub const WINDOW_MS: u64 = 60_000;

/// How long the result of a test holds, in milliseconds: long enough that a crowd of requests is not a
/// crowd of tests.
pub const VERDICT_MS: u64 = 1_000;

/// How long a test may take, in milliseconds: one that has not ended by then never will.
pub const LONGEST_TEST_MS: u64 = 4_000;

/// What is known of the way to an origin. Knowing nothing is knowing nothing bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    /// When the first of these failures was.
    since_ms: u64,
    /// When a test last failed.
    refused_ms: Option<u64>,
    /// When a test began that has not ended.
    testing_ms: Option<u64>,
}

/// What to do with a request before it is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Advice {
    /// Let it pass.
    Pass,
    /// The origin could not be reached a moment ago; a request must not be claimed for it.
    Refuse,
    /// Test the origin: tell [`Breaker::begins_test`] before, and [`Breaker::tested`] after it.
    Test,
    /// Another request tests the origin: ask again in a moment.
    Wait,
}

impl Breaker {
    /// A call was answered: whatever was before, the origin can be reached.
    #[must_use]
    pub fn answered(self) -> Self {
        Self::default()
    }

    /// A call failed on its way.
    #[must_use]
    pub fn failed(self, now_ms: u64) -> Self {
        let goes_on = self.is_open() || now_ms.abs_diff(self.since_ms) <= WINDOW_MS;
        match self.failures {
            failures @ 1.. if goes_on => Self {
                failures: failures.saturating_add(1),
                ..self
            },
            _ => Self {
                failures: 1,
                since_ms: now_ms,
                ..Self::default()
            },
        }
    }

    /// A test begins: until it ends, nobody else makes one.
    #[must_use]
    pub fn begins_test(self, now_ms: u64) -> Self {
        Self {
            testing_ms: Some(now_ms),
            ..self
        }
    }

    /// The origin was tested.
    #[must_use]
    pub fn tested(self, now_ms: u64, is_reached: bool) -> Self {
        match is_reached {
            true => self.answered(),
            false => Self {
                refused_ms: Some(now_ms),
                testing_ms: None,
                ..self
            },
        }
    }

    /// What to do with a request that has arrived.
    pub fn advise(&self, now_ms: u64) -> Advice {
        let holds = |refused_ms: u64| now_ms.abs_diff(refused_ms) < VERDICT_MS;
        let goes_on = |testing_ms: u64| now_ms.abs_diff(testing_ms) < LONGEST_TEST_MS;
        match (self.refused_ms, self.testing_ms) {
            _ if !self.is_open() => Advice::Pass,
            (Some(refused_ms), _) if holds(refused_ms) => Advice::Refuse,
            // The last word stands while the next one is asked for.
            (Some(_), Some(testing_ms)) if goes_on(testing_ms) => Advice::Refuse,
            (None, Some(testing_ms)) if goes_on(testing_ms) => Advice::Wait,
            _ => Advice::Test,
        }
    }

    fn is_open(&self) -> bool {
        self.failures >= FAILURES
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn failed(times: u32, every_ms: u64) -> Breaker {
        (0..times).fold(Breaker::default(), |breaker, index| {
            breaker.failed(u64::from(index) * every_ms)
        })
    }

    #[test]
    fn a5_an_origin_is_tested_after_five_failures_in_a_row() {
        assert_eq!(failed(4, 10).advise(50), Advice::Pass);
        assert_eq!(failed(5, 10).advise(50), Advice::Test);
        assert_eq!(failed(4, 10).answered().failed(50).advise(50), Advice::Pass);
    }

    #[test]
    fn a5_failures_far_apart_are_no_reason_to_test() {
        let slow = failed(20, WINDOW_MS / 2);
        assert_eq!(slow.advise(20 * WINDOW_MS), Advice::Pass);
    }

    #[test]
    fn a5_failures_alone_never_say_unreachable() {
        for failures in 0..100 {
            let breaker = failed(failures, 1);
            for now_ms in [0, 50, 1_000, u64::MAX] {
                assert_ne!(breaker.advise(now_ms), Advice::Refuse);
            }
        }
    }

    #[test]
    fn a5_a_failed_test_holds_for_a_moment_and_is_then_made_again() {
        let refused = failed(5, 1).tested(100, false);
        assert_eq!(refused.advise(100), Advice::Refuse);
        assert_eq!(refused.advise(99 + VERDICT_MS), Advice::Refuse);
        assert_eq!(refused.advise(100 + VERDICT_MS), Advice::Test);
        // A clock that was set back does not make it hold longer.
        assert_eq!(
            failed(5, 1).tested(10_000, false).advise(1_000),
            Advice::Test
        );
    }

    #[test]
    fn a5_one_request_tests_and_the_others_wait_for_its_word() {
        let testing = failed(5, 1).begins_test(100);
        assert_eq!(testing.advise(100), Advice::Wait);
        assert_eq!(testing.failed(150).advise(150), Advice::Wait);
        assert_eq!(testing.tested(200, false).advise(200), Advice::Refuse);
        assert_eq!(testing.tested(200, true).advise(200), Advice::Pass);
        // Whoever made it may be gone.
        assert_eq!(testing.advise(100 + LONGEST_TEST_MS), Advice::Test);
    }

    #[test]
    fn a5_the_last_word_stands_while_the_next_one_is_asked_for() {
        let refused = failed(5, 1).tested(100, false);
        let again = refused.begins_test(100 + VERDICT_MS);
        assert_eq!(again.advise(100 + VERDICT_MS), Advice::Refuse);
        let late_ms = 100 + VERDICT_MS + LONGEST_TEST_MS;
        assert_eq!(again.advise(late_ms), Advice::Test);
    }

    #[test]
    fn a5_a_test_that_succeeds_closes_the_breaker() {
        let closed = failed(9, 1).tested(100, false).tested(2_000, true);
        assert_eq!(closed, Breaker::default());
        assert_eq!(closed.failed(2_001).advise(2_001), Advice::Pass);
    }

    #[test]
    fn a5_an_open_breaker_stays_open_until_something_is_reached() {
        let open = failed(5, 1).failed(10 * WINDOW_MS);
        assert_eq!(open.advise(10 * WINDOW_MS), Advice::Test);
    }
}
