//! What the gate counts, added up.
//!
//! Every isolate counts for itself and hands its counts over from time to time; whoever collects them
//! adds them to what it has. Invariant: adding is all that is ever done, so the order does not matter
//! and no total ever falls.

mod exposition;
mod histogram;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use exposition::Exposition;
pub use histogram::Histogram;

/// How many shards the text names: the busiest.
const BUSIEST: usize = 10;

/// What was decided about a request. Every member is of a short list: routes and words of the
/// contract, never anything that a client chooses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a label left out must be a compile error"
)]
pub struct Decision {
    /// The route's name; empty for a request that was turned away before it had one.
    pub route: String,
    /// `enforce` or `observe`.
    pub mode: String,
    /// `dispatched`, `replayed`, `waited`, or the `code` of the problem.
    pub decision: String,
    /// What `Idempotency-Status` said; empty if nothing.
    pub state: String,
}

/// How a call to a shard ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a shell must tell them apart")]
pub enum ShardCall {
    /// With an answer.
    Answered,
    /// With an error, or with what is not a shard's answer.
    Failed,
    /// The platform turned it away: the object has too much to do.
    Overloaded,
    /// Not within the deadline.
    TimedOut,
}

impl ShardCall {
    fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Overloaded => "overloaded",
            Self::TimedOut => "timed_out",
        }
    }
}

/// Counts, of one isolate or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Metrics {
    #[serde(with = "pairs")]
    decisions: BTreeMap<Decision, Histogram>,
    #[serde(with = "pairs")]
    shard_calls: BTreeMap<ShardCall, u64>,
    #[serde(with = "pairs")]
    shards: BTreeMap<u16, u64>,
    rows_written: u64,
    lost_reports: u64,
}

impl Metrics {
    /// Counts a decision, and how long its request took.
    pub fn decided(&mut self, decision: Decision, took_ms: u64) {
        self.decisions.entry(decision).or_default().add(took_ms);
    }

    /// Counts a call to a shard.
    pub fn shard_called(&mut self, shard: u16, ended: ShardCall) {
        *self.shard_calls.entry(ended).or_default() += 1;
        *self.shards.entry(shard).or_default() += 1;
    }

    /// Counts rows that a shard has written.
    pub fn rows_written(&mut self, rows: u64) {
        self.rows_written += rows;
    }

    /// Counts a report that may not have arrived. Its counts are gone: sent again, they could count
    /// twice.
    pub fn report_lost(&mut self) {
        self.lost_reports += 1;
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: Self) {
        for (decision, histogram) in other.decisions {
            self.decisions
                .entry(decision)
                .or_default()
                .merge(&histogram);
        }
        for (ended, calls) in other.shard_calls {
            *self.shard_calls.entry(ended).or_default() += calls;
        }
        for (shard, calls) in other.shards {
            *self.shards.entry(shard).or_default() += calls;
        }
        self.rows_written += other.rows_written;
        self.lost_reports += other.lost_reports;
    }

    /// Writes everything, in the text format of Prometheus.
    pub fn write(&self, page: &mut Exposition) {
        page.counter(
            "oncegate_decisions",
            "Requests of protected routes, by what was decided.",
        );
        for (decision, histogram) in &self.decisions {
            page.sample(&decision.labels(), histogram.count());
        }
        page.histogram(
            "oncegate_decision_seconds",
            "How long requests of protected routes took, at the clock that the platform shows.",
        );
        for (decision, histogram) in &self.decisions {
            histogram.write(page, &decision.labels());
        }
        page.counter(
            "oncegate_shard_calls",
            "Calls to shards, by how they ended.",
        );
        for (ended, calls) in &self.shard_calls {
            page.sample(&[("ended", ended.as_str())], *calls);
        }
        page.counter(
            "oncegate_busiest_shard_calls",
            "Calls to the ten busiest shards.",
        );
        for (shard, calls) in self.busiest() {
            page.sample(&[("shard", &shard.to_string())], calls);
        }
        page.counter("oncegate_rows_written", "Rows that shards have written.");
        page.sample(&[], self.rows_written);
        page.counter(
            "oncegate_reports_lost",
            "Reports of isolates that may not have arrived.",
        );
        page.sample(&[], self.lost_reports);
    }

    fn busiest(&self) -> Vec<(u16, u64)> {
        let mut shards: Vec<_> = self
            .shards
            .iter()
            .map(|(shard, calls)| (*shard, *calls))
            .collect();
        shards.sort_by_key(|(shard, calls)| (core::cmp::Reverse(*calls), *shard));
        shards.truncate(BUSIEST);
        shards
    }
}

impl Decision {
    fn labels(&self) -> [(&str, &str); 4] {
        [
            ("route", &self.route),
            ("mode", &self.mode),
            ("decision", &self.decision),
            ("state", &self.state),
        ]
    }
}

/// A map as a list of pairs: JSON has no keys but strings.
mod pairs {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
