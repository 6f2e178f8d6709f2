//! Claims in a small world, of which every state is visited: two workers, one message, a network that loses,
//! delays and doubles, crashes, and time that passes at any moment.
//!
//! What workers believe is theirs; what is true is kept beside it: which claims were granted, which
//! completions were taken. The sentences that must hold are in [`Oracle`].

mod words;
mod world;

pub use self::words::{Bug, Oracle};
use self::world::World;
pub use crate::explore::{Explored, Violation};

/// Visits every state of the world, with this bug in it.
///
/// # Errors
/// The first sentence that does not hold.
pub fn explore(bug: Option<Bug>) -> Result<Explored, Violation<Oracle>> {
    crate::explore::explore(World::new(bug))
}
