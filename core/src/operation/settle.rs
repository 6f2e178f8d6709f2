//! Replies to attempts, and the join over them (rules A1 to A4, I3, I7, P6).
//!
//! Invariant: a reply settles the attempt it belongs to, once, however late; *released* and *refused*
//! are said only when no attempt is unsettled; what contradicts a closed record is kept as a dispute.

use super::admit::MOST_REFUSED;
use super::record::{AnswerMark, Operation};
use super::vocabulary::{Settled, Settling, State, Streaming};
use crate::fingerprint::Fingerprint;
use crate::key::KeyKind;
use crate::outcome::{Outcome, Status};
use crate::proof::{Origin, judge};

impl Operation {
    /// Takes the reply to an attempt. If [`Settled::changed`], the record must be stored, with the
    /// answer if [`Settled::store`] says so.
    pub fn settle(mut self, now_ms: u64, settling: Settling<'_>) -> (Self, Settled) {
        let before = self.clone();
        let now_ms = self.now(now_ms);
        let mut settled = self.take_reply(now_ms, settling);
        settled.changed = self.changed_from(&before, now_ms);
        (self, settled)
    }

    /// Takes the head of an answer that is passed through as it comes, before its first byte is. Its
    /// end is a reply that is not storable; if it breaks, a lost one.
    pub fn begin_streaming(mut self, now_ms: u64, head: Settling<'_>) -> (Self, Streaming) {
        let now_ms = self.now(now_ms);
        let head = Settling {
            storable: false,
            ..head
        };
        let (whole, settled) = self.clone().settle(now_ms, head);
        let mut streaming = Streaming {
            status: whole.state_at(now_ms).status(),
            superseded: settled.superseded,
            changed: settled.changed,
        };
        // A ledger's header is proof without the body.
        if self.terms.origin == Origin::Ledger {
            return (whole, streaming);
        }
        // Elsewhere a body that breaks off proves nothing: nobody is told *no* by its head.
        if !self.state.is_closed() && streaming.status != Status::Executed {
            streaming.status = Status::Unknown;
        }
        let before = self.clone();
        if !self.state.is_closed() {
            self.streamed = Some(head.attempt);
        }
        streaming.changed = self.changed_from(&before, now_ms);
        (self, streaming)
    }

    fn take_reply(&mut self, now_ms: u64, settling: Settling<'_>) -> Settled {
        let attempt = settling.attempt;
        let others_settled = self.unsettled.others_settled(attempt);
        let (origin, rules) = (self.terms.origin, &self.terms.rules);
        let proof = judge(origin, rules, settling.reply, others_settled);
        let was_open = self.unsettled.contains(attempt);
        if self.state.is_closed() {
            self.unsettled.settle(attempt);
            self.doubt(now_ms, proof);
            return Settled {
                superseded: self.settled_by != Some(attempt),
                ..Settled::default()
            };
        }
        // An attempt that was settled before has nothing more to say, except that it did execute.
        if !was_open && proof != Outcome::Executed {
            return Settled::default();
        }
        self.apply(now_ms, attempt, proof);
        let own = attempt >= self.since && !self.yields_to(settling.recorded);
        if self.state.is_closed() {
            self.settled_by = own.then_some(attempt);
        }
        let storable = settling.storable && self.streamed != Some(attempt);
        Settled {
            store: own && self.keeps_answer(storable, None),
            superseded: !own && self.state.is_closed(),
            share: own,
            changed: false,
        }
    }

    /// Proof of *executed* contradicts every other end (rule I3).
    pub(super) fn doubt(&mut self, now_ms: u64, proof: Outcome) {
        let contradicts = proof == Outcome::Executed && self.state != State::Executed;
        if contradicts && !self.is_disputed() {
            self.disputed_ms = Some(now_ms);
        }
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
    pub(super) fn join(&mut self, now_ms: u64) {
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

    pub(super) fn remember_refusal(&mut self) {
        self.refusal = true;
        if self.kind == KeyKind::Generated && self.refused.len() < MOST_REFUSED {
            self.refused.extend(self.fingerprint);
        }
    }
}

fn proof_is_from_row(proof: Outcome) -> bool {
    matches!(
        proof,
        Outcome::Cancelled | Outcome::Executed | Outcome::Refused
    )
}
