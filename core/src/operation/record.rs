//! The record of an operation, and its verbs. Each verb consumes the record and gives the next one.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::attempts::Attempts;
use super::vocabulary::{Admission, Settled, Settling, State, Terms, Turn, View};
use crate::fingerprint::Fingerprint;
use crate::key::KeyKind;
use crate::outcome::Outcome;
use crate::proof::{Origin, judge};

/// How many refused fingerprints a generated key remembers (rule P4).
const MOST_REFUSED: usize = 8;

/// A record with its version, as it is stored. A reader that does not know the version refuses the
/// record: it must never count as absent (rule I5).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "v")]
#[non_exhaustive]
pub enum Stored {
    /// The first version.
    #[serde(rename = "1")]
    V1(Operation),
}

/// The record of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub(super) state: State,
    pub(super) kind: KeyKind,
    pub(super) terms: Terms,
    /// What was asked for last; nothing, if the key was closed before any request was seen.
    pub(super) fingerprint: Option<Fingerprint>,
    /// Fingerprints that were refused under this generated key.
    refused: Vec<Fingerprint>,
    /// Whether an attempt of this fingerprint was refused.
    refusal: bool,
    /// The number of the newest attempt.
    pub(super) attempt: u32,
    /// The first attempt of this fingerprint: the answer of an earlier one is not its answer.
    since: u32,
    unsettled: Attempts,
    answer: AnswerMark,
    pub(super) disputed: bool,
    /// The attempt whose answer closed the operation.
    settled_by: Option<u32>,
    claimed_ms: u64,
    dispatched_ms: u64,
    settled_ms: u64,
    /// The last time stored: the clock never runs backwards for a record.
    seen_ms: u64,
}

/// Whether the answer of a closed operation can be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum AnswerMark {
    Missing,
    Stored,
}

impl Operation {
    /// A key that counts as absent. Its numbers go on where an expired record ends.
    pub(super) fn renew(expired: Option<Self>, now_ms: u64, kind: KeyKind, terms: Terms) -> Self {
        let attempt = expired.map_or(0, |record| record.attempt);
        Self {
            attempt,
            since: attempt + 1,
            ..Self::blank(now_ms, kind, terms)
        }
    }

    fn blank(now_ms: u64, kind: KeyKind, terms: Terms) -> Self {
        Self {
            state: State::Released,
            kind,
            terms,
            fingerprint: None,
            refused: Vec::new(),
            refusal: false,
            attempt: 0,
            since: 1,
            unsettled: Attempts::default(),
            answer: AnswerMark::Missing,
            disputed: false,
            settled_by: None,
            claimed_ms: now_ms,
            dispatched_ms: now_ms,
            settled_ms: now_ms,
            seen_ms: now_ms,
        }
    }

    /// Takes in a request whose key has this record, or none. An expired record counts as none, but
    /// for its numbers: a courier may still be on its way with an answer to one of them.
    pub fn arrive(
        record: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: Terms,
        fingerprint: Fingerprint,
    ) -> (Self, Admission) {
        match record {
            Some(record) if !record.is_expired(now_ms) => record.admit(now_ms, fingerprint),
            expired => {
                let mut record = Self::renew(expired, now_ms, kind, terms);
                record.fingerprint = Some(fingerprint);
                record.redispatch(now_ms)
            }
        }
    }

    /// Admits a request that arrived under this key. If the admission is
    /// [`Dispatch`](Admission::Dispatch), the record has changed and must be stored first.
    pub fn admit(self, now_ms: u64, fingerprint: Fingerprint) -> (Self, Admission) {
        let now_ms = now_ms.max(self.seen_ms);
        if self.fingerprint != Some(fingerprint) {
            return self.admit_other(now_ms, fingerprint);
        }
        // The refusal or cancellation on record is not true: it must not be told again.
        if self.disputed {
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
            State::Released => self.redispatch(now_ms),
            State::Unknown if self.may_ask(now_ms) => self.redispatch(now_ms),
            State::Unknown => self.turn(Turn::Unknown),
        }
    }

    /// Takes the reply to an attempt. The record has changed and must be stored, with the answer if
    /// [`Settled::store`] says so.
    pub fn settle(mut self, now_ms: u64, settling: Settling<'_>) -> (Self, Settled) {
        let attempt = settling.attempt;
        let now_ms = self.advance(now_ms);
        let others_settled = self.unsettled.others_settled(attempt);
        let proof = judge(self.terms.origin, settling.reply, others_settled);
        let was_open = self.unsettled.contains(attempt);
        if self.state.is_closed() {
            self.unsettled.settle(attempt);
            self.disputed |= proof == Outcome::Executed && self.state != State::Executed;
            let settled = Settled {
                superseded: self.settled_by != Some(attempt),
                ..Settled::default()
            };
            return (self, settled);
        }
        // An attempt that was settled before has nothing more to say, except that it did execute.
        if !was_open && proof != Outcome::Executed {
            return (self, Settled::default());
        }
        self.apply(now_ms, attempt, proof);
        let own = attempt >= self.since && !self.yields_to(settling.recorded);
        if self.state.is_closed() {
            self.settled_by = own.then_some(attempt);
        }
        let settled = Settled {
            store: own && self.keeps_answer(settling.storable, None),
            superseded: !own && self.state.is_closed(),
            share: own,
        };
        (self, settled)
    }

    /// A ledger that knows the key under another fingerprint has decided whose key it is: from now on
    /// this request is the one that reuses it.
    fn yields_to(&mut self, recorded: Option<Fingerprint>) -> bool {
        let foreign = recorded.filter(|recorded| self.fingerprint != Some(*recorded));
        if foreign.is_some() && self.state.is_closed() {
            self.fingerprint = foreign;
            self.answer = AnswerMark::Missing;
        }
        foreign.is_some()
    }

    /// Whether the answer that closed the operation is to be stored as its answer.
    pub(super) fn keeps_answer(&mut self, storable: bool, recorded: Option<Fingerprint>) -> bool {
        let answers = matches!(self.state, State::Executed | State::Refused);
        let keeps = storable && answers && !self.yields_to(recorded);
        if keeps {
            self.answer = AnswerMark::Stored;
        }
        keeps
    }

    /// Whether the answer stored with the record is this operation's.
    pub fn has_stored_answer(&self) -> bool {
        self.answer == AnswerMark::Stored
    }

    /// What may be told about the operation at `now_ms`.
    pub fn view(&self, now_ms: u64) -> View {
        let state = self.state_at(now_ms.max(self.seen_ms));
        View {
            state,
            disputed: self.disputed,
            executed: match state {
                State::Executed => Some(true),
                State::Cancelled | State::Refused => Some(false),
                State::Dispatched | State::Released | State::Unknown => None,
            },
            safe_new_key: self.safe_new_key(),
            attempts: self.attempt,
            unsettled: self.unsettled.count(),
            lease_ends_ms: (state == State::Dispatched).then(|| self.lease_ends_ms()),
        }
    }

    /// Whether the record counts as absent: settled, and its key ttl is over (I5, T2).
    pub fn is_expired(&self, now_ms: u64) -> bool {
        let now_ms = now_ms.max(self.seen_ms);
        self.keep_until_ms()
            .is_some_and(|until_ms| now_ms >= until_ms)
    }

    /// Until when the record must be kept; `None` for one that must be kept until it settles.
    pub fn keep_until_ms(&self) -> Option<u64> {
        let until_ms = self.settled_ms.saturating_add(self.terms.key_ttl_ms);
        self.is_settled().then_some(until_ms)
    }

    /// Whether every attempt is settled. A record that is not must never be dropped (I5).
    pub fn is_settled(&self) -> bool {
        self.state.is_closed() || self.state == State::Released
    }

    /// What the operation asks for.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// The terms under which the key was claimed.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Another request under the same key.
    fn admit_other(mut self, now_ms: u64, fingerprint: Fingerprint) -> (Self, Admission) {
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
        self.fingerprint = Some(fingerprint);
        self.refusal = false;
        self.answer = AnswerMark::Missing;
        self.settled_by = None;
        self.since = self.attempt + 1;
        self.redispatch(now_ms)
    }

    fn admit_executed(&self, now_ms: u64) -> Admission {
        let expired = now_ms >= self.settled_ms.saturating_add(self.terms.result_ttl_ms);
        match self.answer {
            AnswerMark::Stored if expired => Admission::Turn(Turn::ResultExpired),
            AnswerMark::Stored => Admission::Replay,
            AnswerMark::Missing => Admission::Turn(Turn::ResultUnavailable),
        }
    }

    fn has_answer(&self, now_ms: u64) -> bool {
        let expires_ms = self.settled_ms.saturating_add(self.terms.result_ttl_ms);
        self.answer == AnswerMark::Stored && now_ms < expires_ms
    }

    fn turn(self, turn: Turn) -> (Self, Admission) {
        (self, Admission::Turn(turn))
    }

    fn redispatch(self, now_ms: u64) -> (Self, Admission) {
        let record = self.dispatch(now_ms);
        let attempt = record.attempt;
        (record, Admission::Dispatch(attempt))
    }

    pub(super) fn dispatch(mut self, now_ms: u64) -> Self {
        let now_ms = self.advance(now_ms);
        if self.is_settled() {
            // No earlier row of the ledger can matter any more: its retention counts from here.
            self.claimed_ms = now_ms;
        }
        self.attempt += 1;
        self.unsettled.open(self.attempt);
        self.state = State::Dispatched;
        self.dispatched_ms = now_ms;
        self
    }

    /// Only a ledger may be sent the same key again without proof, or be asked to cancel it, and only
    /// while it is sure to have kept its row (rule A7).
    pub(super) fn may_ask(&self, now_ms: u64) -> bool {
        let forgets_ms = self
            .claimed_ms
            .saturating_add(self.terms.ledger_retention_ms);
        self.terms.origin == Origin::Ledger && now_ms < forgets_ms
    }

    /// Applies proof to an operation that is not closed.
    pub(super) fn apply(&mut self, now_ms: u64, attempt: u32, proof: Outcome) {
        // A ledger answers from its row, which speaks for every attempt (rule A1).
        if self.terms.origin == Origin::Ledger && proof_is_from_row(proof) {
            self.unsettled.settle_all();
        }
        match proof {
            Outcome::Cancelled => self.close(now_ms, State::Cancelled),
            Outcome::Executed => {
                self.unsettled.settle(attempt);
                self.close(now_ms, State::Executed);
            }
            Outcome::InProgress | Outcome::Unknown => {
                if attempt == self.attempt {
                    self.state = State::Unknown;
                }
            }
            Outcome::NotExecuted => {
                self.unsettled.settle(attempt);
                self.join(now_ms);
            }
            Outcome::Refused => {
                self.unsettled.settle(attempt);
                self.remember_refusal();
                self.join(now_ms);
            }
        }
    }

    /// Rule I7, once no attempt executed: any unsettled attempt keeps the operation open.
    fn join(&mut self, now_ms: u64) {
        if self.unsettled.is_empty() {
            self.close(
                now_ms,
                if self.refusal {
                    State::Refused
                } else {
                    State::Released
                },
            );
        } else if !self.unsettled.contains(self.attempt) {
            self.state = State::Unknown;
        }
    }

    pub(super) fn close(&mut self, now_ms: u64, state: State) {
        self.state = state;
        self.settled_ms = now_ms;
    }

    fn remember_refusal(&mut self) {
        self.refusal = true;
        if self.kind == KeyKind::Generated && self.refused.len() < MOST_REFUSED {
            self.refused.extend(self.fingerprint);
        }
    }

    fn safe_new_key(&self) -> bool {
        let barred = self.disputed || !self.unsettled.is_empty();
        match self.state {
            State::Cancelled => !barred,
            State::Refused => !barred && self.kind != KeyKind::Generated,
            _ => false,
        }
    }

    fn state_at(&self, now_ms: u64) -> State {
        match self.state {
            State::Dispatched if now_ms >= self.lease_ends_ms() => State::Unknown,
            _ if self.disputed => State::Executed,
            state => state,
        }
    }

    fn lease_ends_ms(&self) -> u64 {
        self.dispatched_ms.saturating_add(self.terms.lease_ms)
    }

    pub(super) fn advance(&mut self, now_ms: u64) -> u64 {
        self.seen_ms = self.seen_ms.max(now_ms);
        self.seen_ms
    }
}

fn proof_is_from_row(proof: Outcome) -> bool {
    matches!(
        proof,
        Outcome::Cancelled | Outcome::Executed | Outcome::Refused
    )
}
