//! The record of an operation, and what can be read from it. Each verb consumes the record and gives
//! the next one.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::attempts::Attempts;
use super::vocabulary::{State, Terms, View};
use crate::fingerprint::Fingerprint;
use crate::key::KeyKind;
use crate::policy::HARD_TIMEOUT_MS;
use crate::principal::Principal;
use crate::proof::Origin;

/// The record of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub(super) state: State,
    pub(super) kind: KeyKind,
    pub(super) terms: Terms,
    /// Whose it is; nobody's in particular, if the route binds nobody.
    pub(super) principal: Option<Principal>,
    /// What was asked for last; nothing, if the key was closed before any request was seen.
    pub(super) fingerprint: Option<Fingerprint>,
    /// Fingerprints that are not attempted again: those that were refused under this generated key, or
    /// of claims that have ended without effect.
    pub(super) refused: Vec<Fingerprint>,
    /// Whether an attempt of this fingerprint was refused.
    pub(super) refusal: bool,
    /// The number of the newest attempt.
    pub(super) attempt: u32,
    /// The first attempt of this fingerprint and principal: the answer of an earlier one is not theirs.
    pub(super) since: u32,
    pub(super) unsettled: Attempts,
    /// The attempt whose answer was passed through as it came (rule P6): it is stored nowhere.
    pub(super) streamed: Option<u32>,
    pub(super) answer: AnswerMark,
    /// The content was erased; this is the tombstone.
    pub(super) erased: bool,
    /// When proof contradicted the record.
    pub(super) disputed_ms: Option<u64>,
    /// The attempt whose answer closed the operation.
    pub(super) settled_by: Option<u32>,
    pub(super) claimed_ms: u64,
    pub(super) dispatched_ms: u64,
    pub(super) settled_ms: u64,
    /// The last time stored: the clock never runs backwards for a record.
    pub(super) seen_ms: u64,
    /// Rises with every stored change.
    pub(super) revision: u32,
}

/// Whether the answer of a closed operation can be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AnswerMark {
    Missing,
    Stored,
}

impl Operation {
    /// A key that counts as absent. Its numbers go on where an expired record ends.
    pub(super) fn renew(
        expired: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: &Terms,
        principal: Option<Principal>,
    ) -> Self {
        let now_ms = expired.as_ref().map_or(now_ms, |record| record.now(now_ms));
        let (attempt, revision) =
            expired.map_or((0, 0), |record| (record.attempt, record.revision));
        Self {
            attempt,
            since: attempt.saturating_add(1),
            principal,
            revision,
            ..Self::blank(now_ms, kind, terms.clone())
        }
    }

    fn blank(now_ms: u64, kind: KeyKind, terms: Terms) -> Self {
        Self {
            state: State::Released,
            kind,
            terms,
            principal: None,
            fingerprint: None,
            refused: Vec::new(),
            refusal: false,
            attempt: 0,
            since: 1,
            unsettled: Attempts::default(),
            streamed: None,
            answer: AnswerMark::Missing,
            erased: false,
            disputed_ms: None,
            settled_by: None,
            claimed_ms: now_ms,
            dispatched_ms: now_ms,
            settled_ms: now_ms,
            seen_ms: now_ms,
            revision: 0,
        }
    }

    /// What may be told about the operation at `now_ms`, to its principal.
    pub fn view(&self, now_ms: u64) -> View {
        let now_ms = self.now(now_ms);
        let state = self.state_at(now_ms);
        View {
            state,
            disputed: self.is_disputed(),
            held: state == State::Unknown && self.is_held(now_ms),
            erased: self.erased,
            executed: match state {
                State::Executed => Some(true),
                State::Cancelled | State::Refused => Some(false),
                State::Dispatched | State::Released | State::Unknown => None,
            },
            safe_new_key: self.safe_new_key(),
            generated: self.kind == KeyKind::Generated,
            attempts: self.attempt,
            unsettled: self.unsettled.count(),
            lease_ends_ms: (state == State::Dispatched).then(|| self.lease_ends_ms()),
            revision: self.revision,
        }
    }

    /// Whether the record counts as absent: settled beyond doubt, and its key ttl is over (I5, T2).
    pub fn is_expired(&self, now_ms: u64) -> bool {
        let now_ms = self.now(now_ms);
        self.keep_until_ms()
            .is_some_and(|until_ms| now_ms >= until_ms)
    }

    /// Until when the record must be kept; `None` for one that must be kept until it settles, or until a
    /// person has ended its dispute.
    pub fn keep_until_ms(&self) -> Option<u64> {
        let until_ms = self.settled_ms.saturating_add(self.terms.key_ttl_ms);
        let ends = self.is_settled() && !self.is_disputed();
        ends.then_some(until_ms)
    }

    /// Whether every attempt is settled. A record that is not must never be dropped (I5).
    pub fn is_settled(&self) -> bool {
        self.state.is_closed() || self.state == State::Released
    }

    /// Whether the answer stored with the record is this operation's.
    pub fn has_stored_answer(&self) -> bool {
        self.answer == AnswerMark::Stored
    }

    /// What the operation asks for.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// Who made the key.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// The terms under which the key was claimed.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Whether a principal is bound to the operation.
    pub fn is_bound(&self) -> bool {
        self.principal.is_some()
    }

    /// When the key was claimed; after all was settled, when it was claimed again.
    pub fn claimed_ms(&self) -> u64 {
        self.claimed_ms
    }

    /// When the newest attempt was handed over.
    pub fn dispatched_ms(&self) -> u64 {
        self.dispatched_ms
    }

    /// When the operation was settled, if it is.
    pub fn settled_ms(&self) -> Option<u64> {
        self.is_settled().then_some(self.settled_ms)
    }

    /// When the courier of the newest attempt has stopped listening at the latest (rule A4).
    pub fn courier_ends_ms(&self) -> u64 {
        self.dispatched_ms.saturating_add(HARD_TIMEOUT_MS)
    }

    /// Starts an attempt.
    pub(super) fn dispatch(mut self, now_ms: u64) -> Self {
        let now_ms = self.now(now_ms);
        if self.is_settled() {
            // No earlier row of the ledger can matter any more: its retention counts from here.
            self.claimed_ms = now_ms;
        }
        self.attempt = self.attempt.saturating_add(1);
        self.unsettled.open(self.attempt);
        self.state = State::Dispatched;
        self.dispatched_ms = now_ms;
        self.erased = false;
        self.touch(now_ms);
        self
    }

    /// Whether the origin's ledger is sure to have kept its rows (rule A7).
    pub(super) fn is_remembered(&self, now_ms: u64) -> bool {
        let retention_ms = self.terms.ledger_retention_ms;
        now_ms < self.claimed_ms.saturating_add(retention_ms)
    }

    /// Only a ledger may be sent the same key again without proof, or be asked to cancel it.
    pub(super) fn may_resend(&self, now_ms: u64) -> bool {
        self.terms.origin == Origin::Ledger && self.is_remembered(now_ms)
    }

    /// Whether an unknown operation can still be settled without a person.
    pub(super) fn may_settle(&self, now_ms: u64) -> bool {
        match self.terms.origin {
            Origin::Ledger => self.is_remembered(now_ms),
            Origin::Read => self.terms.finish && self.is_remembered(now_ms),
            Origin::None => false,
        }
    }

    /// Whether an unknown operation waits for a person: nothing else settles it, and nobody listens
    /// for an answer any more.
    pub(super) fn is_held(&self, now_ms: u64) -> bool {
        !self.may_settle(now_ms) && self.courier_ends_ms() <= now_ms
    }

    /// Whether the operation is not `principal`'s. Where nothing has happened, it is nobody's (K4).
    pub(super) fn is_foreign(&self, principal: Option<Principal>) -> bool {
        let bound = self.principal.is_some() && self.principal != principal;
        bound && self.state != State::Released
    }

    pub(super) fn close(&mut self, now_ms: u64, state: State) {
        self.state = state;
        self.settled_ms = now_ms;
    }

    pub(super) fn is_disputed(&self) -> bool {
        self.disputed_ms.is_some()
    }

    fn safe_new_key(&self) -> bool {
        let barred = self.is_disputed() || !self.unsettled.is_empty();
        match self.state {
            State::Cancelled => !barred,
            State::Refused => !barred && self.kind != KeyKind::Generated,
            _ => false,
        }
    }

    pub(super) fn state_at(&self, now_ms: u64) -> State {
        match self.state {
            State::Dispatched if now_ms >= self.lease_ends_ms() => State::Unknown,
            _ if self.is_disputed() => State::Executed,
            state => state,
        }
    }

    pub(super) fn lease_ends_ms(&self) -> u64 {
        self.dispatched_ms.saturating_add(self.terms.lease_ms)
    }

    /// The time for this record (rule T2).
    pub(super) fn now(&self, now_ms: u64) -> u64 {
        now_ms.max(self.seen_ms)
    }

    pub(super) fn touch(&mut self, now_ms: u64) {
        self.seen_ms = self.now(now_ms);
        self.revision = self.revision.saturating_add(1);
    }

    /// Says whether a verb has changed the record; if it has, this is the next version.
    pub(super) fn changed_from(&mut self, before: &Self, now_ms: u64) -> bool {
        let changed = self != before;
        if changed {
            self.touch(now_ms);
        }
        changed
    }
}
