//! What the gate may do by itself to settle what is unknown (rules A6, A7).
//!
//! Invariant: it sends the same key again only where a ledger protects it, and believes a *no* only if
//! no attempt has begun since it asked, and the origin's longest request was over when it did.

use super::record::Operation;
use super::vocabulary::{Hearing, Inquiry, State, Step};
use crate::outcome::Outcome;
use crate::proof::Origin;

impl Operation {
    /// What to do about the operation now. Only a route that finishes has anything done by itself.
    pub fn next_step(&self, now_ms: u64) -> Step {
        let now_ms = self.now(now_ms);
        match self.state_at(now_ms) {
            State::Cancelled | State::Executed | State::Refused | State::Released => Step::Rest,
            State::Dispatched => Step::At(self.lease_ends_ms()),
            State::Unknown if !self.may_settle(now_ms) => Step::Hold,
            State::Unknown if !self.terms.finish => Step::Rest,
            State::Unknown if self.terms.origin == Origin::Ledger => Step::Redispatch,
            State::Unknown => Step::Ask(self.inquiry(now_ms)),
        }
    }

    /// Starts another attempt of what was asked for, without a request: `None` if the record does not
    /// allow it (any more). The record must be stored first.
    pub fn redispatch(self, now_ms: u64) -> Option<(Self, u32)> {
        let allowed = self.next_step(now_ms) == Step::Redispatch;
        let record = allowed.then(|| self.dispatch(now_ms))?;
        let attempt = record.attempt;
        Some((record, attempt))
    }

    /// What the origin is to be asked, where the request itself cannot be sent again or a person wants
    /// to know: `None` if the operation is not unknown, or the origin cannot be asked (any more).
    pub fn probe(&self, now_ms: u64) -> Option<Inquiry> {
        let now_ms = self.now(now_ms);
        let can_tell = self.terms.origin != Origin::None && self.is_remembered(now_ms);
        let unknown = self.state_at(now_ms) == State::Unknown;
        (unknown && can_tell).then(|| self.inquiry(now_ms))
    }

    /// Takes what an origin said when it was asked what became of the key. `None`: it said nothing
    /// that counts. Otherwise the record must be stored, with the answer if the second value says so.
    pub fn answered_probe(mut self, now_ms: u64, hearing: Hearing) -> Option<(Self, bool)> {
        let before = self.clone();
        let now_ms = self.now(now_ms);
        let mut store = false;
        if self.state.is_closed() {
            self.doubt(now_ms, hearing.said);
        } else if self.believes(&hearing) {
            if hearing.said != Outcome::Executed {
                // It was asked about the key: it speaks of all that was sent under it.
                self.unsettled.settle_all();
            }
            self.apply(now_ms, hearing.asked_attempt, hearing.said);
            store = self.keeps_answer(hearing.storable, hearing.recorded);
        }
        self.changed_from(&before, now_ms).then_some((self, store))
    }

    fn believes(&self, hearing: &Hearing) -> bool {
        let ledger = self.terms.origin == Origin::Ledger;
        let is_newest = self.attempt == hearing.asked_attempt;
        let is_over = self.settles_after_ms() <= hearing.asked_ms;
        let foreign = hearing.recorded.is_some() && hearing.recorded != self.fingerprint;
        match hearing.said {
            Outcome::Executed => true,
            // Only a ledger's row can promise that nothing will happen later.
            Outcome::Cancelled => ledger && self.since <= hearing.asked_attempt,
            Outcome::Refused => is_newest && !foreign && (ledger || is_over),
            Outcome::NotExecuted => is_newest && is_over && !self.unsettled.is_empty(),
            Outcome::InProgress | Outcome::Unknown => false,
        }
    }

    /// From when on nothing that was sent can still begin at the origin.
    pub(super) fn settles_after_ms(&self) -> u64 {
        self.dispatched_ms
            .saturating_add(self.terms.settle_after_ms)
    }
}
