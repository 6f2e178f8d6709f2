//! How long things took: counts by bound.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Exposition;

/// The upper bounds, in milliseconds and as Prometheus wants them. The last ones are where a route's
/// waiting and its client timeout usually end.
const BOUNDS: [(u64, &str); 12] = [
    (5, "0.005"),
    (10, "0.01"),
    (25, "0.025"),
    (50, "0.05"),
    (100, "0.1"),
    (250, "0.25"),
    (500, "0.5"),
    (1_000, "1"),
    (2_500, "2.5"),
    (5_000, "5"),
    (10_000, "10"),
    (20_000, "20"),
];

/// Durations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Histogram {
    /// One for each bound, not cumulative; the last one is above all of them.
    buckets: [u64; BOUNDS.len() + 1],
    sum_ms: u64,
}

impl Histogram {
    /// Adds one duration.
    pub fn add(&mut self, took_ms: u64) {
        let bucket = BOUNDS.partition_point(|(bound_ms, _)| *bound_ms < took_ms);
        self.buckets[bucket] += 1;
        self.sum_ms = self.sum_ms.saturating_add(took_ms);
    }

    /// Adds all durations of another.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket += count;
        }
        self.sum_ms = self.sum_ms.saturating_add(other.sum_ms);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Writes the series of these labels.
    pub(super) fn write(&self, page: &mut Exposition, labels: &[(&str, &str)]) {
        let bounds = BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
        let mut below = 0;
        for (bound, count) in bounds.zip(self.buckets) {
            below += count;
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound)]).collect();
            page.part("_bucket", &labels, below);
        }
        page.part("_sum", labels, seconds(self.sum_ms));
        page.part("_count", labels, below);
    }
}

/// Milliseconds as seconds, exactly.
fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}
