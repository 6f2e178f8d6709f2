//! Named locks with a fence and an end.
//!
//! A lock keeps others away for a while; it cannot keep them away for sure, because whoever holds it may
//! be stopped longer than it lasts. Hence the [`Fence`]: a number that grows with every grant, by which
//! what is being protected turns late writers away.
//!
//! Invariants:
//!
//! - A lock has at most one holder, and the fence of a grant is greater than every earlier one's.
//! - Who waits stands in line by its [`Ticket`] and is served in that order: whenever the lock is free and
//!   the first in line is there, it has the lock.
//! - A lock ends exactly when it was said to end; what its holder asks for after that is refused.
//! - Who was handed the lock after waiting has it for [`HANDOVER_MS`] until it is heard of again.
//! - One asker has one lock: asking again, under the same name, gives the same one.
//!
//! | module | is |
//! | --- | --- |
//! | `name`, `owner`, `terms` | what a request says |
//! | `fence` | fences and tickets, which share one sequence |
//! | `place` | a place in line, as its holder carries it |
//! | `line` | who waits |
//! | `state` | the lock |
//! | `clock` | time that never goes back and never stands still |

mod clock;
mod fence;
mod line;
mod name;
mod owner;
mod place;
mod state;
mod terms;

pub use clock::Clock;
pub use fence::{Fence, Fences, Ticket};
pub use name::{LockName, NameError};
pub use owner::{Asker, Owner};
pub use place::Place;
pub use state::{Ask, Held, Lock, Lost, Moment, Told, Turn};
pub use terms::{TermsError, Ttl, Wait};

/// How many logical shards hold the locks, for the life of the data.
pub const SHARDS: u16 = 64;

/// The shortest time for which a lock can be taken.
pub const SHORTEST_TTL_MS: u64 = 1_000;

/// The longest one. Who needs it for longer renews it.
pub const LONGEST_TTL_MS: u64 = 60 * 60 * 1_000;

/// The time for which a lock is taken if nothing is said.
pub const USUAL_TTL_MS: u64 = 30_000;

/// The longest time for which one request waits.
pub const LONGEST_WAIT_MS: u64 = 25_000;

/// How long who was handed the lock after waiting has it unheard: it may have gone.
pub const HANDOVER_MS: u64 = 5_000;

/// How long the place of who has waited in vain is kept, and the lock with it, if its turn comes.
pub const PLACE_MS: u64 = 5_000;

/// How many wait for one lock.
pub const MOST_WAITERS: usize = 500;

#[cfg(test)]
mod tests;
