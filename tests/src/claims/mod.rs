//! Claims in a small world, of which every state is visited: two workers, one message, a network that loses,
//! delays and doubles, crashes, and time that passes at any moment.
//!
//! What workers believe is theirs; what is true is kept beside it: which claims were granted, which
//! completions were taken. The sentences that must hold are in [`Oracle`].

mod explore;
mod world;

pub use explore::{Explored, Violation, explore};
pub use world::{Bug, Oracle};
