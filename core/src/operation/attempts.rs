//! The attempts of an operation that are not settled.
//!
//! Invariant: an attempt that is not settled is always in the set. The converse may fail: the set is
//! kept small by filling a gap, which counts a settled attempt as open again. That costs knowledge,
//! never safety.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// Attempt numbers, as inclusive ranges in rising order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Vec<(u32, u32)>")]
pub(super) struct Attempts(Vec<(u32, u32)>);

impl TryFrom<Vec<(u32, u32)>> for Attempts {
    type Error = &'static str;

    fn try_from(ranges: Vec<(u32, u32)>) -> Result<Self, Self::Error> {
        let ordered = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
        match ordered && ranges.iter().all(|(first, last)| first <= last) {
            true => Ok(Self(ranges)),
            false => Err("attempts are ranges in rising order"),
        }
    }
}

/// Gaps appear only when a later attempt fails for sure while an earlier one is lost, so that even a
/// handful is rare.
const MOST_RANGES: usize = 16;

impl Attempts {
    /// Adds `attempt`, which is higher than every number so far.
    pub(super) fn open(&mut self, attempt: u32) {
        match self.0.last_mut() {
            Some((_, last)) if attempt <= last.saturating_add(1) => *last = attempt.max(*last),
            _ => self.0.push((attempt, attempt)),
        }
        if self.0.len() > MOST_RANGES {
            let (_, last) = self.0.remove(1);
            self.0[0].1 = last;
        }
    }

    /// Settles `attempt`; `false` if it was settled before.
    pub(super) fn settle(&mut self, attempt: u32) -> bool {
        let Some(index) = self.0.iter().position(|range| contains(range, attempt)) else {
            return false;
        };
        let (first, last) = self.0.remove(index);
        if attempt < last {
            self.0.insert(index, (attempt + 1, last));
        }
        if first < attempt {
            self.0.insert(index, (first, attempt - 1));
        }
        true
    }

    pub(super) fn settle_all(&mut self) {
        self.0.clear();
    }

    pub(super) fn contains(&self, attempt: u32) -> bool {
        self.0.iter().any(|range| contains(range, attempt))
    }

    /// Whether every attempt but `attempt` is settled.
    pub(super) fn others_settled(&self, attempt: u32) -> bool {
        self.0.iter().all(|range| *range == (attempt, attempt))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&self) -> u32 {
        let counts = self
            .0
            .iter()
            .map(|(first, last)| (last - first).saturating_add(1));
        counts.fold(0, u32::saturating_add)
    }
}

fn contains(range: &(u32, u32), attempt: u32) -> bool {
    (range.0..=range.1).contains(&attempt)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn opened(numbers: impl IntoIterator<Item = u32>) -> Attempts {
        let mut attempts = Attempts::default();
        numbers.into_iter().for_each(|number| attempts.open(number));
        attempts
    }

    #[test]
    fn only_ranges_in_rising_order_are_read() {
        let read = |text| serde_json::from_str::<Attempts>(text);
        assert_eq!(read("[[1,2],[4,4]]").unwrap(), opened([1, 2, 4]));
        for wrong in ["[[2,1]]", "[[4,4],[1,2]]", "[[1,3],[3,4]]"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read("[[0,4294967295]]").unwrap().count(), u32::MAX);
    }

    #[test]
    fn an_attempt_is_settled_once() {
        let mut attempts = opened(1..=5);
        assert!(attempts.settle(3));
        assert!(!attempts.settle(3));
        assert!(!attempts.settle(9));
        assert_eq!(attempts, Attempts([(1, 2), (4, 5)].into()));
        assert_eq!(attempts.count(), 4);
        assert!(attempts.contains(4) && !attempts.contains(3));
    }

    #[test]
    fn others_settled_looks_at_the_others_only() {
        assert!(opened([7]).others_settled(7));
        assert!(!opened([6, 7]).others_settled(7));
        assert!(!opened([6]).others_settled(7));
        assert!(opened([]).others_settled(7));
    }

    #[test]
    fn a_set_that_grows_too_large_forgets_gaps_and_no_attempt() {
        let odd: Vec<u32> = (0..100).map(|n| 2 * n + 1).collect();
        let attempts = opened(odd.iter().copied());
        assert!(attempts.0.len() <= MOST_RANGES);
        assert!(odd.iter().all(|number| attempts.contains(*number)));
    }
}
