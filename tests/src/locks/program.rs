//! A program that takes the lock now and then.

use oncegate_core::lock::{Held, Owner, Place};

/// What it is about.
#[derive(Clone, Debug)]
pub(super) enum Doing {
    /// Something else.
    Rests,
    /// It wants the lock.
    Asks { place: Option<Place> },
    /// It has the lock.
    Works {
        owner: Owner,
        ends_ms: u64,
        done_ms: u64,
    },
    /// It gives the lock back.
    Releases,
    /// Nothing any more.
    Finished,
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) doing: Doing,
    /// How often it still wants the lock.
    pub(super) rounds: u32,
    /// The number of its present request.
    pub(super) asker: u64,
    /// The call whose answer it waits for, and when it was sent.
    pub(super) call: Option<(u64, u64)>,
}

impl Program {
    pub(super) fn new(rounds: u32) -> Self {
        Self {
            doing: Doing::Rests,
            rounds,
            asker: 0,
            call: None,
        }
    }

    /// Until when it believes that the lock is its own.
    pub(super) fn believes_until(&self) -> Option<u64> {
        match self.doing {
            Doing::Works { ends_ms, .. } => Some(ends_ms),
            _ => None,
        }
    }

    pub(super) fn work(&mut self, held: &Held, ends_ms: u64, done_ms: u64) {
        self.doing = Doing::Works {
            owner: held.owner,
            ends_ms,
            done_ms,
        };
    }
}
