//! The times of a route and their order (rules T1, T2, A6, L9): whoever waits for something waits
//! longer than that can take.

use super::config::{InFlight, RouteConfig};
use super::error::Fault;

/// How long the edge waits for an object before it gives up on it, in milliseconds. A fault of the
/// store must end here, so everything that a store legitimately waits for ends earlier (rule T1).
pub const STORE_DEADLINE_MS: u64 = 25_000;

/// How long a reply is listened for, in milliseconds (rule A4).
pub const HARD_TIMEOUT_MS: u64 = 15 * 60 * 1_000;

const MINUTE_S: u64 = 60;
pub(super) const DAY_S: u64 = 24 * 60 * MINUTE_S;

/// The times of a route, in milliseconds, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) wait: u64,
    pub(super) client_timeout: u64,
    pub(super) lease: u64,
    pub(super) result_ttl: u64,
    pub(super) key_ttl: u64,
    pub(super) ledger_retention: u64,
    pub(super) settle_after: u64,
}

impl Times {
    /// `deadline` is how long the sender of a webhook waits.
    pub(super) fn new(config: &RouteConfig, deadline: Option<u64>) -> Result<Self, Fault> {
        let seconds = |given: Option<u64>, usual: u64| given.unwrap_or(usual).saturating_mul(1_000);
        let client_timeout = config.client_timeout_ms.or(deadline).unwrap_or(20_000);
        let wait = match (config.in_flight, config.wait_ms) {
            (InFlight::Wait, None) if deadline.is_some() => client_timeout,
            (InFlight::Wait, wait) => wait.unwrap_or(10_000),
            (InFlight::Reject, None) => 0,
            (InFlight::Reject, Some(_)) => {
                return Err(Fault::new("wait_ms", "goes with in_flight = \"wait\""));
            }
        };
        let times = Self {
            wait,
            client_timeout,
            lease: config.lease_ms.unwrap_or(30_000),
            result_ttl: seconds(config.result_ttl_s, DAY_S),
            key_ttl: seconds(config.key_ttl_s, 7 * DAY_S),
            ledger_retention: seconds(config.ledger_retention_s, 30 * DAY_S),
            settle_after: seconds(config.settle_after_s, 15 * MINUTE_S),
        };
        match times.faults().into_iter().find(|(broken, ..)| *broken) {
            Some((_, field, reason)) => Err(Fault::new(field, reason)),
            None => Ok(times),
        }
    }

    fn faults(&self) -> [(bool, &'static str, &'static str); 9] {
        [
            (
                self.wait > self.client_timeout,
                "wait_ms",
                "is longer than client_timeout_ms",
            ),
            (
                self.client_timeout >= STORE_DEADLINE_MS,
                "client_timeout_ms",
                "must be under 25000, the deadline for the store",
            ),
            (self.lease == 0, "lease_ms", "must be at least 1"),
            (
                self.lease > HARD_TIMEOUT_MS,
                "lease_ms",
                "is longer than an answer is listened for (900000)",
            ),
            (self.key_ttl == 0, "key_ttl_s", "must be at least 1"),
            (
                self.result_ttl > self.key_ttl,
                "result_ttl_s",
                "is longer than key_ttl_s",
            ),
            (
                self.ledger_retention < self.key_ttl.saturating_mul(2),
                "ledger_retention_s",
                "must be at least twice key_ttl_s",
            ),
            (
                self.settle_after < self.lease,
                "settle_after_s",
                "is shorter than lease_ms",
            ),
            (
                self.settle_after > self.ledger_retention,
                "settle_after_s",
                "is longer than ledger_retention_s",
            ),
        ]
    }
}
