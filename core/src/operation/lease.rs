//! What a holder does with the lease of its attempt ([`claim`](crate::claim)).
//!
//! Invariant: a lease is begun anew or given up for the attempt that is open, and for no other. Who may
//! do so is the caller's to know; attempts that a courier carries have leases that nobody touches.

use super::record::Operation;
use super::vocabulary::{Settling, State};
use crate::outcome::Outcome;
use crate::proof::Reply;

impl Operation {
    /// Begins the lease of the open attempt anew, with this length; `None` if none is open. The record
    /// must be stored.
    pub fn extend_lease(mut self, now_ms: u64, lease_ms: u64) -> Option<Self> {
        let now_ms = self.now(now_ms);
        if self.state != State::Dispatched {
            return None;
        }
        self.dispatched_ms = now_ms;
        self.terms.lease_ms = lease_ms;
        self.touch(now_ms);
        Some(self)
    }

    /// Settles the newest attempt by the word of who holds its lease, or for whom it is over. The record
    /// must be stored, with the answer if the second value says so.
    pub fn end_lease(self, now_ms: u64, said: Outcome, storable: bool) -> (Self, bool) {
        let settling = Settling {
            attempt: self.attempt,
            reply: Reply::Answered {
                status: 200,
                outcome: Some(said.as_str()),
                value: None,
            },
            storable,
            recorded: None,
        };
        let (record, settled) = self.settle(now_ms, settling);
        (record, settled.store)
    }
}
