//! Who waits for a lock, in the order in which they are served.

use alloc::vec::Vec;

use super::state::Told;
use super::{Asker, MOST_WAITERS, PLACE_MS, Place, Ticket, Ttl};

/// Somebody in line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiter {
    pub(super) ticket: Ticket,
    pub(super) asker: Asker,
    pub(super) ttl: Ttl,
    /// Until when it waits; for who is away, until when its place is kept.
    pub(super) until_ms: u64,
    /// Whether somebody would hear now that its turn has come.
    pub(super) is_here: bool,
}

/// The line, by ticket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line(Vec<Waiter>);

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= MOST_WAITERS
    }

    pub(super) fn join(&mut self, waiter: Waiter) {
        let place = |other: &Waiter| (other.ticket, other.asker) < (waiter.ticket, waiter.asker);
        let place = self.0.partition_point(place);
        self.0.insert(place, waiter);
    }

    /// Takes whoever asked under this name out of the line.
    pub(super) fn leave(&mut self, asker: Asker) -> Option<Waiter> {
        let place = self.0.iter().position(|waiter| waiter.asker == asker)?;
        Some(self.0.remove(place))
    }

    /// Nobody would hear this one any more.
    pub(super) fn remove(&mut self, asker: Asker) {
        self.0
            .retain(|waiter| waiter.asker != asker || !waiter.is_here);
    }

    /// Whether somebody stands before this place.
    pub(super) fn has_before(&self, ticket: Ticket) -> bool {
        self.0.first().is_some_and(|first| first.ticket < ticket)
    }

    /// The first one, if it is here.
    pub(super) fn take_first(&mut self) -> Option<Waiter> {
        let is_here = self.0.first().is_some_and(|first| first.is_here);
        is_here.then(|| self.0.remove(0))
    }

    /// Places that were kept long enough are given up; who has waited long enough is told so, and its
    /// place is kept.
    pub(super) fn pass_time(&mut self, now_ms: u64, told: &mut Vec<Told>) {
        self.0
            .retain(|waiter| waiter.is_here || waiter.until_ms > now_ms);
        for waiter in &mut self.0 {
            if waiter.is_here && waiter.until_ms <= now_ms {
                told.push(Told::Busy(waiter.asker, waiter.step_aside(now_ms)));
            }
        }
    }

    /// When something happens by itself.
    pub(super) fn next_ms(&self) -> Option<u64> {
        self.0.iter().map(|waiter| waiter.until_ms).min()
    }
}

impl Waiter {
    fn step_aside(&mut self, now_ms: u64) -> Place {
        self.is_here = false;
        self.until_ms = now_ms + PLACE_MS;
        Place {
            ticket: self.ticket,
            until_ms: self.until_ms,
        }
    }
}
