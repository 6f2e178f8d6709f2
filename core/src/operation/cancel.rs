//! Cancelling: making sure that nothing will happen under a key (section 7, rule L6).
//!
//! Invariant: a record is *cancelled* only where nothing can happen any more: a ledger holds the
//! cancelled row, or no attempt was ever made or each is settled as not executed. Who is told
//! *cancelled* may take a new key.

use super::record::Operation;
use super::vocabulary::{Cancellation, Hearing, Inquiry, State, Terms, Turn};
use crate::fingerprint::Fingerprint;
use crate::key::KeyKind;
use crate::outcome::Outcome;
use crate::principal::Principal;
use crate::proof::Origin;

impl Operation {
    /// Takes in a request to cancel a key that has this record, or none.
    ///
    /// # Errors
    ///
    /// [`Turn::PrincipalMismatch`]: the key is not the caller's to cancel.
    pub fn cancel(
        record: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: &Terms,
        principal: Option<Principal>,
    ) -> Result<(Self, Cancellation), Turn> {
        let mut record = Self::known(record, now_ms, kind, terms, principal);
        let now_ms = record.now(now_ms);
        if record.is_foreign(principal) {
            return Err(Turn::PrincipalMismatch);
        }
        let cancellation = if record.is_unused_token() {
            // From now on it is dead because somebody wanted it so.
            record.fingerprint = None;
            record.touch(now_ms);
            Cancellation::Cancelled
        } else if record.state.is_closed() {
            Cancellation::Decided
        } else if record.may_resend(now_ms) {
            Cancellation::Ask(record.inquiry(now_ms))
        } else if record.state == State::Released && record.terms.origin != Origin::Ledger {
            record.close(now_ms, State::Cancelled);
            record.touch(now_ms);
            Cancellation::Cancelled
        } else {
            Cancellation::Decided
        };
        Ok((record, cancellation))
    }

    /// Takes what a ledger said to a cancellation that `principal` was entitled to. `None`: it said
    /// nothing that counts, and the record is as it was. `terms` are those under which it was asked.
    /// Otherwise the record must be stored, with the
    /// answer if the second value says so. What may be told of it, [`look`](Self::look) says.
    pub fn hear(
        record: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: &Terms,
        principal: Option<Principal>,
        hearing: Hearing,
    ) -> Option<(Self, bool)> {
        let mut record = Self::known(record, now_ms, kind, terms, principal);
        let before = record.clone();
        let now_ms = record.now(now_ms);
        let mut store = false;
        match hearing.said {
            said if record.state.is_closed() => record.doubt(now_ms, said),
            // A refusal may be of an attempt before the newest one, which may still execute.
            Outcome::Refused if record.attempt != hearing.asked_attempt => {}
            // Another card was refused: under a generated key that says nothing of this one.
            Outcome::Refused if record.is_other_card(hearing.recorded) => {}
            // Another route has the key by now: this ledger knows nothing of its attempts.
            Outcome::Refused | Outcome::Cancelled if !record.is_of(terms) => {}
            Outcome::Executed | Outcome::Refused | Outcome::Cancelled => {
                record.apply(now_ms, hearing.asked_attempt, hearing.said);
                store = record.keeps_answer(hearing.storable, hearing.recorded);
            }
            Outcome::InProgress | Outcome::NotExecuted | Outcome::Unknown => {}
        }
        record
            .changed_from(&before, now_ms)
            .then_some((record, store))
    }

    pub(super) fn inquiry(&self, now_ms: u64) -> Inquiry {
        Inquiry {
            attempt: self.attempt,
            asked_ms: now_ms,
            fingerprint: self.fingerprint,
        }
    }

    fn is_other_card(&self, recorded: Option<Fingerprint>) -> bool {
        let foreign = recorded.is_some() && recorded != self.fingerprint;
        foreign && self.kind == KeyKind::Generated
    }

    /// The first version did not write the route down: its gates had one origin.
    fn is_of(&self, asked: &Terms) -> bool {
        let is_old = self.terms.route.is_empty();
        self.terms.origin == Origin::Ledger && (is_old || self.terms.route == asked.route)
    }

    fn known(
        record: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: &Terms,
        principal: Option<Principal>,
    ) -> Self {
        match record {
            Some(record) if !record.is_expired(now_ms) => record,
            expired => Self::renew(expired, now_ms, kind, terms, principal),
        }
    }
}
