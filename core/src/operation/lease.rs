//! What a holder does with the lease of its attempt ([`claim`](crate::claim)).
//!
//! Invariant: a lease is begun anew or given up for the attempt that is open, and for no other. Who may
//! do so is the caller's to know; attempts that a courier carries have leases that nobody touches. Who
//! has given up its attempt, or lost it, begins no other under the same call.

use super::admit::MOST_REFUSED;
use super::record::Operation;
use super::vocabulary::{Settling, State};
use crate::fingerprint::Fingerprint;
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
        let (mut record, settled) = self.settle(now_ms, settling);
        if said == Outcome::NotExecuted {
            record.retire();
        }
        (record, settled.store)
    }

    /// Whether the attempt that was made by this call has ended without effect: of the last few that is
    /// remembered.
    pub fn is_retired(&self, call: Fingerprint) -> bool {
        self.refused.contains(&call)
    }

    fn retire(&mut self) {
        // With as many as there may be, nobody would be let in any more.
        if self.refused.len() + 1 == MOST_REFUSED {
            self.refused.remove(0);
        }
        self.refused.extend(self.fingerprint);
    }
}
