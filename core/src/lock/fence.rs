//! Fences and tickets.
//!
//! Both are numbers of one sequence that every lock of a shard shares: the next one is greater than the
//! last, and not less than the time. So a free lock needs no row that remembers its last fence.
//!
//! Invariant: no number is given twice, whatever the clock does and however often the object is
//! replaced. What is given stays below a bound that was stored before; a successor begins there.

use serde::{Deserialize, Serialize};

/// How many grants a millisecond has room for before the sequence runs ahead of the clock.
const PER_MS: u64 = 1_024;

/// How far the bound is set ahead: while a shard is used, it is stored once in that time.
const AHEAD: u64 = 10_000 * PER_MS;

/// The number of a grant. A later grant of the same lock has a greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct Fence(u64);

/// When somebody began to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct Ticket(u64);

/// The sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fences {
    last: u64,
    bound: u64,
}

impl Fence {
    /// A fence that was written down.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub fn as_u64(self) -> u64 {
        self.0
    }
}

impl Ticket {
    /// A ticket that was written down.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Of who has come at that time.
    pub fn since(now_ms: u64) -> Self {
        Self(now_ms.saturating_mul(PER_MS))
    }

    /// The number.
    pub fn as_u64(self) -> u64 {
        self.0
    }
}

impl Fences {
    /// The sequence of an object whose predecessor has stored this bound.
    pub fn restored(bound: u64) -> Self {
        Self { last: bound, bound }
    }

    pub(super) fn fence(&mut self, now_ms: u64) -> Fence {
        Fence(self.next(now_ms))
    }

    pub(super) fn ticket(&mut self, now_ms: u64) -> Ticket {
        Ticket(self.next(now_ms))
    }

    fn next(&mut self, now_ms: u64) -> u64 {
        self.last = (self.last + 1).max(now_ms.saturating_mul(PER_MS));
        self.last
    }

    /// The bound to store before anything of the sequence is told; `None` if the stored one holds.
    pub fn to_store(&mut self) -> Option<u64> {
        if self.last <= self.bound {
            return None;
        }
        self.bound = self.last + AHEAD;
        Some(self.bound)
    }
}
