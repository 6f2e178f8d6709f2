//! A seeded simulation of locks: programs that take one lock in turn, die, are deaf for a while, and an object
//! that is replaced and whose clock is set.
//!
//! **Invariant: a seed is a run**, as in the rest of this crate. The lock is the real one
//! ([`oncegate_core::lock`]); its object is modelled after `edge-worker/src/locks`, the programs after
//! `client/src/lock`.
//!
//! | module | plays |
//! | --- | --- |
//! | `object` | rows and memory, and what is lost with the latter |
//! | `program` | who takes the lock |
//! | `small` | two or three clients and a few seconds, seen whole |

mod object;
mod program;
mod small;
mod world;

pub use self::small::Clients;
pub use crate::explore::{Explored, Violation};

use crate::drawn::Failed;

/// What every run is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests name each of them")]
pub enum LockOracle {
    /// A grant has a greater fence than all before it.
    FencesGrow,
    /// Unless a clock jumps forward, no two believe at once that they have the lock.
    OneHolder,
    /// Who waits in vain for somebody that is gone waits for a moment.
    GoneCostAMoment,
    /// A free lock is with the first who waits for it.
    NoLostWakeUp,
    /// Of two that wait, the one who came first is served first.
    ServedInOrder,
    /// One request has one lock.
    OneLockPerRequest,
    /// After the faults everybody has had the lock as often as it wanted.
    NobodyStarves,
}

/// A bug planted on purpose, of the kind that a shell could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests name each of them")]
pub enum LockBug {
    /// A holder counts its time from the answer, not from the request.
    CountedFromAnswer,
    /// After an eviction fences begin at the clock.
    FenceFromClock,
    /// Who is handed the lock has it for its ttl, heard or not.
    HandedForTtl,
    /// Asking again is another request.
    KeyIgnored,
    /// Who comes last is first.
    LastFirst,
    /// A release is heeded whoever sends it.
    ReleasedByAnyone,
    /// The row is written some time after the answer.
    RowAfterAnswer,
    /// Nothing wakes the object when a lock ends.
    WakeLost,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LockSummary {
    /// How often the lock was granted.
    pub grants: u64,
    /// How often it was handed to somebody who waited.
    pub handed: u64,
    /// How often the object was replaced.
    pub evictions: u64,
}

/// Runs the world of a seed.
///
/// # Errors
/// The sentence that did not hold.
pub fn run(seed: u64, bug: Option<LockBug>) -> Result<LockSummary, Failed<LockOracle>> {
    world::World::new(seed, bug).run()
}

/// Visits every state of a small world of locks.
///
/// # Errors
/// The first sentence that does not hold.
pub fn explore(clients: Clients, bug: Option<LockBug>) -> Result<Explored, Violation<LockOracle>> {
    crate::explore::explore(small::World::new(clients, bug))
}
