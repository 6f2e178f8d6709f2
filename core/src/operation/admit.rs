//! Requests that arrive under a key, and questions about it (rules K4, I1, I6, P4).
//!
//! Invariant: a record changes here only by the start of an attempt. Whoever may not know of an
//! operation hears nothing of it.

use super::record::{AnswerMark, Operation};
use super::vocabulary::{Admission, State, Terms, Turn, View};
use crate::fingerprint::Fingerprint;
use crate::key::KeyKind;
use crate::principal::Principal;
use crate::recent::REPLAYS_FOR_MS;

/// How many refused fingerprints a generated key remembers (rule P4).
pub(super) const MOST_REFUSED: usize = 8;

impl Operation {
    /// Takes in a request whose key has this record, or none. If the admission is
    /// [`Dispatch`](Admission::Dispatch), the record has changed and must be stored first.
    ///
    /// An expired record counts as none, but for its numbers: a courier may still be on its way with an
    /// answer to one of them. `terms` are those of the request's route now: a record keeps those of its
    /// claim as long as an attempt may be open.
    pub fn arrive(
        record: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: &Terms,
        principal: Option<Principal>,
        fingerprint: Fingerprint,
    ) -> (Self, Admission) {
        match record {
            Some(record) if !record.is_expired(now_ms) => {
                record.admit(now_ms, terms, principal, fingerprint)
            }
            expired => {
                let mut record = Self::renew(expired, now_ms, kind, terms, principal);
                record.fingerprint = Some(fingerprint);
                record.start(now_ms)
            }
        }
    }

    fn admit(
        self,
        now_ms: u64,
        terms: &Terms,
        principal: Option<Principal>,
        fingerprint: Fingerprint,
    ) -> (Self, Admission) {
        let now_ms = self.now(now_ms);
        if self.is_foreign(principal) {
            return self.turn(Turn::PrincipalMismatch);
        }
        let same = self.fingerprint == Some(fingerprint);
        if !same || self.state == State::Released && self.principal != principal {
            return self.admit_other(now_ms, terms, principal, fingerprint);
        }
        // The refusal or cancellation on record is not true: it must not be told again.
        if self.is_disputed() {
            return self.turn(Turn::ResultUnavailable);
        }
        match self.state_at(now_ms) {
            State::Cancelled => self.turn(Turn::Cancelled),
            State::Dispatched => {
                let lease_ends_ms = self.lease_ends_ms();
                (self, Admission::Wait { lease_ends_ms })
            }
            State::Executed => {
                let admission = self.admit_executed(now_ms);
                (self, admission)
            }
            State::Refused if self.has_answer(now_ms) => (self, Admission::Replay),
            State::Refused => self.turn(Turn::Refused),
            State::Released => self.claim_again(now_ms, terms),
            State::Unknown if self.may_resend(now_ms) => self.start(now_ms),
            State::Unknown => self.turn(Turn::Unknown),
        }
    }

    /// What may be told `principal` of a key that has this record, or none; `None` for a key that
    /// counts as absent.
    ///
    /// # Errors
    ///
    /// [`Turn::PrincipalMismatch`]: nothing may be told.
    pub fn look(
        record: Option<&Self>,
        now_ms: u64,
        principal: Option<Principal>,
    ) -> Result<Option<View>, Turn> {
        match record.filter(|record| !record.is_expired(now_ms)) {
            Some(record) if record.is_foreign(principal) => Err(Turn::PrincipalMismatch),
            record => Ok(record.map(|record| record.view(now_ms))),
        }
    }

    /// Another request under the same key, or another principal's.
    fn admit_other(
        mut self,
        now_ms: u64,
        terms: &Terms,
        principal: Option<Principal>,
        fingerprint: Fingerprint,
    ) -> (Self, Admission) {
        let generated = self.kind == KeyKind::Generated;
        let spent = self.refused.contains(&fingerprint) || self.refused.len() == MOST_REFUSED;
        match self.state_at(now_ms) {
            // Whatever is asked for: under this key nothing will happen.
            State::Cancelled => return self.turn(Turn::Cancelled),
            State::Refused if generated && spent => return self.turn(Turn::Refused),
            // Another card for the same order (rule P4).
            State::Refused if generated => {}
            // A fingerprint that was refused under this key is never attempted again.
            State::Released if spent => return self.turn(Turn::Refused),
            // Nothing of the earlier request happened or can: the key is as good as new.
            State::Released => {}
            _ => return self.turn(Turn::KeyReused),
        }
        self.principal = principal;
        self.fingerprint = Some(fingerprint);
        self.refusal = false;
        self.answer = AnswerMark::Missing;
        self.settled_by = None;
        self.since = self.attempt.saturating_add(1);
        self.claim_again(now_ms, terms)
    }

    /// Nothing is open: the key is claimed anew, under the terms of the route as they are now.
    fn claim_again(mut self, now_ms: u64, terms: &Terms) -> (Self, Admission) {
        self.terms = terms.clone();
        self.start(now_ms)
    }

    fn admit_executed(&self, now_ms: u64) -> Admission {
        match self.answer {
            AnswerMark::Stored if self.has_answer(now_ms) => Admission::Replay,
            AnswerMark::Stored => Admission::Turn(Turn::ResultExpired),
            AnswerMark::Missing => Admission::Turn(Turn::ResultUnavailable),
        }
    }

    /// For how long the answer of this record may be given again without reading it
    /// ([`recent`](crate::recent)), in milliseconds. A refusal may be attempted again, and what is
    /// disputed is looked at: of those nothing is.
    #[must_use]
    pub fn replays_for_ms(&self, now_ms: u64) -> u64 {
        let now_ms = self.now(now_ms);
        let is_told = self.state == State::Executed && !self.is_disputed();
        if !is_told || !self.has_answer(now_ms) {
            return 0;
        }
        let ttl_ms = self.terms.result_ttl_ms.min(self.terms.key_ttl_ms);
        let ends_ms = self.settled_ms.saturating_add(ttl_ms);
        ends_ms.saturating_sub(now_ms).min(REPLAYS_FOR_MS)
    }

    fn has_answer(&self, now_ms: u64) -> bool {
        let expires_ms = self.settled_ms.saturating_add(self.terms.result_ttl_ms);
        self.answer == AnswerMark::Stored && now_ms < expires_ms
    }

    fn turn(self, turn: Turn) -> (Self, Admission) {
        (self, Admission::Turn(turn))
    }

    pub(super) fn start(self, now_ms: u64) -> (Self, Admission) {
        let record = self.dispatch(now_ms);
        let attempt = record.attempt;
        (record, Admission::Dispatch(attempt))
    }
}
