//! How many calls may be repeated at one origin, over all attempts of a page.
//!
//! Invariant: over any stretch of time, no more calls are repeated than [`CAPACITY`] and one for each
//! [`REFILL_MS`] in it. First calls cost nothing: a customer's click is never held back.

/// How many repetitions may come at once.
pub const CAPACITY: u64 = 20;

/// How long it takes until one more is allowed.
pub const REFILL_MS: u64 = 3_000;

/// A token bucket, kept as the time at which it would be full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    full_at_ms: u64,
}

impl Budget {
    /// As [`full_at_ms`](Self::full_at_ms) gave it; 0 for a bucket that is full.
    pub fn new(full_at_ms: u64) -> Self {
        Self { full_at_ms }
    }

    /// When it will be full, on the clock of `now_ms`.
    pub fn full_at_ms(self) -> u64 {
        self.full_at_ms
    }

    /// Takes one repetition; returns when it may be made, `now_ms` at the earliest.
    pub fn take(&mut self, now_ms: u64) -> u64 {
        self.full_at_ms = self.full_at_ms.max(now_ms).saturating_add(REFILL_MS);
        let debt_ms = self.full_at_ms.saturating_sub(CAPACITY * REFILL_MS);
        debt_ms.max(now_ms)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn so_many_repetitions_are_free_and_the_next_ones_wait_their_turn() {
        let mut budget = Budget::default();
        for _ in 0..CAPACITY {
            assert_eq!(budget.take(1_000), 1_000);
        }
        assert_eq!(budget.take(1_000), 1_000 + REFILL_MS);
        assert_eq!(budget.take(1_000), 1_000 + 2 * REFILL_MS);
    }

    #[test]
    fn a_pause_fills_it_and_no_pause_overfills_it() {
        let mut budget = Budget::default();
        for _ in 0..CAPACITY {
            budget.take(0);
        }
        assert_eq!(budget.take(REFILL_MS), REFILL_MS);
        let long = 1_000 * CAPACITY * REFILL_MS;
        for _ in 0..CAPACITY {
            assert_eq!(budget.take(long), long);
        }
        assert!(budget.take(long) > long);
    }

    #[test]
    fn a_bucket_survives_being_stored() {
        let mut budget = Budget::default();
        budget.take(5_000);
        assert_eq!(Budget::new(budget.full_at_ms()), budget);
        assert_eq!(
            Budget::new(u64::MAX).take(1),
            u64::MAX - CAPACITY * REFILL_MS
        );
    }
}
