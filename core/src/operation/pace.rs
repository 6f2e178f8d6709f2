//! When to ask again (rule P2).

use super::vocabulary::{State, View};
use crate::backoff::spread;

const LEAST_MS: u64 = 1_000;

/// The pause to ask for before the same request is sent again; `None` where that is of no use.
/// `median_ms` is how long the route usually takes. The pause is spread by up to a quarter, so that
/// those who were turned away together do not come back together; `seed` is a random number.
pub fn retry_after_ms(now_ms: u64, view: &View, median_ms: Option<u64>, seed: u64) -> Option<u64> {
    let closed = matches!(
        view.state,
        State::Cancelled | State::Executed | State::Refused
    );
    if closed || view.held {
        return None;
    }
    let usual_ms = median_ms.unwrap_or_default().saturating_mul(2);
    let left_ms = view
        .lease_ends_ms
        .map_or(u64::MAX, |ends_ms| ends_ms.saturating_sub(now_ms));
    let wait_ms = usual_ms.max(LEAST_MS).min(left_ms);
    Some(wait_ms.saturating_add(spread(seed, wait_ms / 4)))
}

/// How long attempts have taken lately.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// A ring: the oldest one is overwritten.
    took_ms: [u64; Self::MOST],
    count: usize,
}

impl Pace {
    const MOST: usize = 15;

    /// Takes in how long an attempt took.
    pub fn took(&mut self, took_ms: u64) {
        self.took_ms[self.count % Self::MOST] = took_ms;
        self.count += 1;
    }

    /// The median of the latest ones; `None` if nothing is known.
    pub fn median_ms(&self) -> Option<u64> {
        let known = self.count.min(Self::MOST);
        let mut sorted = self.took_ms;
        sorted[..known].sort_unstable();
        sorted[..known].get(known / 2).copied()
    }
}
