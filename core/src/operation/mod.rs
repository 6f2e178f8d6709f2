//! The life of an operation at the edge (section 2 of the contract).
//!
//! ```text
//!  absent ──claim = dispatch record──▶ dispatched ──proof──▶ executed | refused | cancelled | released
//!    ▲                                   │    ▲
//!    │                                   │    └── new attempt (released; unknown at a ledger origin;
//!    │                                   │        refused under a generated key)
//!    └── key ttl, settled records only   └─ lease over, attempt lost ─▶ unknown ── late proof ──▶ settled
//! ```
//!
//! Invariants: at most one attempt is open by the gate's own choice, except a redispatch to a ledger
//! origin (I1); a reply settles the attempt it belongs to, once, however late (I3); *released*,
//! *refused* are said only when no attempt is unsettled (I7); unknown never expires (I5).
//! Atomicity comes from the caller: between reading a record and writing it back it does not await.

mod attempts;

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use self::attempts::Attempts;
use crate::fingerprint::Fingerprint;
use crate::key::KeyKind;
use crate::outcome::{Outcome, Status};
use crate::proof::{Origin, Reply, judge};

/// How many refused fingerprints a generated key remembers (rule P4).
const MOST_REFUSED: usize = 8;

/// Where an operation is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract's list; a new state is a new version"
)]
pub enum State {
    /// Nothing happened and nothing will.
    Cancelled,
    /// An attempt is open and its lease runs.
    Dispatched,
    /// The effect happened.
    Executed,
    /// The origin said no.
    Refused,
    /// Every attempt is settled as not executed; the next request starts a new one.
    Released,
    /// The lease is over or the attempt is lost, and there is no proof.
    Unknown,
}

impl State {
    /// The word used in problems and look-ups.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Dispatched => "dispatched",
            Self::Executed => "executed",
            Self::Refused => "refused",
            Self::Released => "released",
            Self::Unknown => "unknown",
        }
    }

    /// The same as `Idempotency-Status` (rule P3).
    pub fn status(self) -> Status {
        match self {
            Self::Cancelled => Status::Cancelled,
            Self::Dispatched => Status::InProgress,
            Self::Executed => Status::Executed,
            Self::Refused => Status::Refused,
            Self::Released => Status::NotExecuted,
            Self::Unknown => Status::Unknown,
        }
    }

    fn is_closed(self) -> bool {
        matches!(self, Self::Cancelled | Self::Executed | Self::Refused)
    }
}

/// What the route's policy says of an operation. Written into the record at the claim, so that a
/// later configuration changes later operations only (rule T2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a rule left out must be a compile error"
)]
pub struct Terms {
    /// What the origin can do to settle an unknown operation.
    pub origin: Origin,
    /// How long an attempt is waited for before the operation counts as unknown, in milliseconds.
    pub lease_ms: u64,
    /// How long an answer is replayed, in milliseconds from its completion.
    pub result_ttl_ms: u64,
    /// How long a settled record is kept, in milliseconds from its settling.
    pub key_ttl_ms: u64,
    /// How long the origin's ledger keeps its rows, in milliseconds from the claim (rule A7).
    pub ledger_retention_ms: u64,
}

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
    state: State,
    kind: KeyKind,
    terms: Terms,
    fingerprint: Fingerprint,
    /// Fingerprints that were refused under this generated key.
    refused: Vec<Fingerprint>,
    /// Whether an attempt of this fingerprint was refused.
    refusal: bool,
    /// The number of the newest attempt.
    attempt: u32,
    /// The first attempt of this fingerprint: the answer of an earlier one is not its answer.
    since: u32,
    unsettled: Attempts,
    answer: AnswerMark,
    disputed: bool,
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

/// What to do with a request that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a shell must handle every admission"
)]
pub enum Admission {
    /// Start the attempt with this number, once the record is durable (I2).
    Dispatch(u32),
    /// Answer with the stored answer.
    Replay,
    /// Answer with a problem.
    Turn(Turn),
    /// Wait for the open attempt until `lease_ends_ms`; own nothing meanwhile (I4).
    Wait {
        /// When the lease of the open attempt ends.
        lease_ends_ms: u64,
    },
}

/// Why a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Turn {
    /// The operation is cancelled.
    Cancelled,
    /// The key belongs to another request.
    KeyReused,
    /// This request was refused before, and the refusal is no longer stored.
    Refused,
    /// Executed; the answer is no longer replayed.
    ResultExpired,
    /// Executed; the answer was never stored.
    ResultUnavailable,
    /// No proof of what happened, and nothing more that the gate may do.
    Unknown,
}

/// A reply, with what the shell knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a fact left out must be a compile error"
)]
pub struct Settling<'a> {
    /// The attempt that was replied to.
    pub attempt: u32,
    /// What came back.
    pub reply: Reply<'a>,
    /// Whether the answer can be stored: it is whole and within the size limit, and it answers this
    /// request (a ledger's answer to *another* fingerprint gives the state, not the answer).
    pub storable: bool,
}

/// What a reply did to its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a shell must handle all of it")]
pub struct Settled {
    /// Store the answer with the record.
    pub store: bool,
    /// The operation was closed by another attempt: its answer counts, not this one.
    pub superseded: bool,
}

/// What may be told about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one answer")]
pub struct View {
    /// The state, with a lease that is over counted as over.
    pub state: State,
    /// Whether the effect happened; `None` while that is open.
    pub executed: Option<bool>,
    /// Whether a new key is safe (rule I8).
    pub safe_new_key: bool,
    /// Attempts so far.
    pub attempts: u32,
    /// Attempts without proof.
    pub unsettled: u32,
    /// When the lease of the open attempt ends, if one is open.
    pub lease_ends_ms: Option<u64>,
}

impl Operation {
    /// Claims an absent key. The record is the dispatch record of attempt 1 (I2).
    pub fn claim(now_ms: u64, kind: KeyKind, terms: Terms, fingerprint: Fingerprint) -> Self {
        let record = Self {
            state: State::Released,
            kind,
            terms,
            fingerprint,
            refused: Vec::new(),
            refusal: false,
            attempt: 0,
            since: 1,
            unsettled: Attempts::default(),
            answer: AnswerMark::Missing,
            disputed: false,
            claimed_ms: now_ms,
            dispatched_ms: now_ms,
            settled_ms: now_ms,
            seen_ms: now_ms,
        };
        record.dispatch(now_ms)
    }

    /// Takes in a request whose key has this record, or none. An expired record counts as none.
    pub fn arrive(
        record: Option<Self>,
        now_ms: u64,
        kind: KeyKind,
        terms: Terms,
        fingerprint: Fingerprint,
    ) -> (Self, Admission) {
        match record {
            Some(record) if !record.is_expired(now_ms) => record.admit(now_ms, fingerprint),
            _ => {
                let record = Self::claim(now_ms, kind, terms, fingerprint);
                let attempt = record.attempt;
                (record, Admission::Dispatch(attempt))
            }
        }
    }

    /// Admits a request that arrived under this key. If the admission is
    /// [`Dispatch`](Admission::Dispatch), the record has changed and must be stored first.
    pub fn admit(self, now_ms: u64, fingerprint: Fingerprint) -> (Self, Admission) {
        let now_ms = now_ms.max(self.seen_ms);
        if fingerprint != self.fingerprint {
            return self.admit_other(now_ms, fingerprint);
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
            State::Unknown if self.may_redispatch(now_ms) => self.redispatch(now_ms),
            State::Unknown => self.turn(Turn::Unknown),
        }
    }

    /// Takes the reply to an attempt. The record has changed and must be stored, with the answer if
    /// [`Settled::store`] says so.
    pub fn settle(mut self, now_ms: u64, settling: Settling<'_>) -> (Self, Settled) {
        let Settling {
            attempt,
            reply,
            storable,
        } = settling;
        let now_ms = self.advance(now_ms);
        let others_settled = self.unsettled.others_settled(attempt);
        let proof = judge(self.terms.origin, reply, others_settled);
        let was_open = self.unsettled.contains(attempt);
        if self.state.is_closed() {
            self.unsettled.settle(attempt);
            self.disputed |= proof == Outcome::Executed && self.state != State::Executed;
            return (
                self,
                Settled {
                    store: false,
                    superseded: true,
                },
            );
        }
        // An attempt that was settled before has nothing more to say, except that it did execute.
        if !was_open && proof != Outcome::Executed {
            return (
                self,
                Settled {
                    store: false,
                    superseded: false,
                },
            );
        }
        self.apply(now_ms, attempt, proof);
        let answers = matches!(self.state, State::Executed | State::Refused);
        let store = storable && answers && attempt >= self.since;
        if store {
            self.answer = AnswerMark::Stored;
        }
        (
            self,
            Settled {
                store,
                superseded: false,
            },
        )
    }

    /// What may be told about the operation at `now_ms`.
    pub fn view(&self, now_ms: u64) -> View {
        let state = self.state_at(now_ms.max(self.seen_ms));
        View {
            state,
            executed: match state {
                State::Executed => Some(true),
                State::Cancelled | State::Refused => Some(self.disputed),
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
    pub fn fingerprint(&self) -> Fingerprint {
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
        match self.state {
            State::Refused if generated && spent => return self.turn(Turn::Refused),
            // Another card for the same order (rule P4).
            State::Refused if generated && !self.disputed => {}
            // A fingerprint that was refused under this key is never attempted again.
            State::Released if spent => return self.turn(Turn::Refused),
            // Nothing of the earlier request happened or can: the key is as good as new.
            State::Released => {}
            _ => return self.turn(Turn::KeyReused),
        }
        self.fingerprint = fingerprint;
        self.refusal = false;
        self.answer = AnswerMark::Missing;
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

    fn dispatch(mut self, now_ms: u64) -> Self {
        let now_ms = self.advance(now_ms);
        self.attempt += 1;
        self.unsettled.open(self.attempt);
        self.state = State::Dispatched;
        self.dispatched_ms = now_ms;
        self
    }

    /// Only a ledger may be sent the same key again without proof, and only while it is sure to
    /// have kept its row (rule A7).
    fn may_redispatch(&self, now_ms: u64) -> bool {
        let forgets_ms = self
            .claimed_ms
            .saturating_add(self.terms.ledger_retention_ms);
        self.terms.origin == Origin::Ledger && now_ms < forgets_ms
    }

    /// Applies proof to an operation that is not closed.
    fn apply(&mut self, now_ms: u64, attempt: u32, proof: Outcome) {
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

    fn close(&mut self, now_ms: u64, state: State) {
        self.state = state;
        self.settled_ms = now_ms;
    }

    fn remember_refusal(&mut self) {
        self.refusal = true;
        if self.kind == KeyKind::Generated && self.refused.len() < MOST_REFUSED {
            self.refused.push(self.fingerprint);
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
            state => state,
        }
    }

    fn lease_ends_ms(&self) -> u64 {
        self.dispatched_ms.saturating_add(self.terms.lease_ms)
    }

    fn advance(&mut self, now_ms: u64) -> u64 {
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

#[cfg(test)]
mod tests;
