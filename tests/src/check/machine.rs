//! The real machines, asked once for every question.
//!
//! Invariant: whatever is answered here was answered by [`oncegate_core`], unless a bug is planted.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{
    Admission, Cancellation, Hearing, Operation, Resolution, Resolved, Settled, Settling, State,
    Step, Streaming, Terms, View,
};
use oncegate_core::outcome::Outcome;
use oncegate_core::principal::Principal;
use oncegate_core::problem::{Code, Problem};
use oncegate_core::proof::Reply;

use super::questions::{Asked, Cancelled, Found, Memo, Own, Resolve, Viewed};
use super::records::{BASE_MS, Records, small};
use super::small::{SETTLE_MS, Small};
use super::state::{Asker, Inquiry, Word};
use super::told::{Told, passed, replayed, understood};
use crate::model::{Payload, Response};
use crate::plant::Plant;

/// A record after a reply, and what the reply did.
type Answered = (u32, Settled);

pub(super) struct Machine {
    kind: KeyKind,
    terms: Terms,
    plant: Option<Plant>,
    records: Records,
    asked: Memo<(u32, u8, Asker), Asked>,
    streamed: Memo<(u32, u8, u8, Word), (u32, Streaming)>,
    settled: Memo<(u32, u8, u8, Word, bool), Answered>,
    cancelled: Memo<(u32, u8, u8), Option<Cancelled>>,
    heard: Memo<(u32, u8, Inquiry), Option<u32>>,
    resolved: Memo<(u32, u8, Resolve), Option<u32>>,
    erased: Memo<(u32, u8), Option<u32>>,
    steps: Memo<(u32, u8, bool), Own>,
    views: Memo<(u32, u8), Viewed>,
    told: Memo<(u32, u8, Word), Told>,
}

impl Machine {
    pub(super) fn new(small: &Small) -> Self {
        Self {
            kind: small.kind,
            terms: small.terms(),
            plant: small.plant,
            records: Records::new(small.ages),
            asked: Memo::new(),
            streamed: Memo::new(),
            settled: Memo::new(),
            cancelled: Memo::new(),
            heard: Memo::new(),
            resolved: Memo::new(),
            erased: Memo::new(),
            steps: Memo::new(),
            views: Memo::new(),
            told: Memo::new(),
        }
    }

    pub(super) fn ask(&self, record: u32, age: u8, asker: Asker) -> Asked {
        self.asked.get((record, age, asker), || {
            let now_ms = self.records.now_ms(age);
            let (next, admission) = Operation::arrive(
                self.found(record, now_ms),
                now_ms,
                self.kind,
                &self.terms,
                self.principal(asker.who),
                fingerprint(asker.card),
            );
            let view = self.seen(next.view(now_ms));
            let told = self.told_of(admission, &view);
            let record = match admission {
                Admission::Wait { .. } if self.has(Plant::WaiterReleases) => 0,
                Admission::Dispatch(_) => self.records.keep(&next),
                // Nothing is written.
                _ => self.records.keep_or_same(record, &next),
            };
            Asked {
                record,
                admission,
                told,
            }
        })
    }

    /// The head of an answer that is passed through as it comes.
    pub(super) fn stream(&self, record: u32, age: u8, attempt: u8, word: Word) -> (u32, Streaming) {
        self.streamed.get((record, age, attempt, word), || {
            let old = self.records.existing(record);
            let head = settling(attempt, word, false);
            let (next, streaming) = old.begin_streaming(self.records.now_ms(age), head);
            (
                self.records.keep_if(streaming.changed, record, &next),
                streaming,
            )
        })
    }

    pub(super) fn settle(
        &self,
        record: u32,
        age: u8,
        attempt: u8,
        word: Word,
        storable: bool,
    ) -> Answered {
        self.settled
            .get((record, age, attempt, word, storable), || {
                let old = self.records.existing(record);
                let is_late = old.view(self.records.now_ms(age)).state == State::Unknown;
                if is_late && self.has(Plant::LateProofDropped) {
                    return (record, Settled::default());
                }
                let settling = settling(attempt, word, storable);
                let (next, settled) = old.settle(self.records.now_ms(age), settling);
                (
                    self.records.keep_if(settled.changed, record, &next),
                    settled,
                )
            })
    }

    /// `None`: the key is somebody else's.
    pub(super) fn cancel(&self, key: u8, record: u32, age: u8, who: u8) -> Option<Cancelled> {
        let cancelled = self.cancelled.get((record, age, who), || {
            let (old, now_ms) = (self.records.get(record), self.records.now_ms(age));
            let asked = Operation::cancel(old, now_ms, self.kind, &self.terms, self.principal(who));
            let (next, cancellation) = asked.ok()?;
            Some(match cancellation {
                Cancellation::Decided => Cancelled::Decided(record),
                Cancellation::Cancelled => Cancelled::Decided(self.records.keep(&next)),
                Cancellation::Ask(asked) => Cancelled::Ask(self.inquiry(&next, asked, Some(who))),
            })
        });
        match cancelled {
            Some(Cancelled::Ask(inquiry)) => Some(Cancelled::Ask(Inquiry { key, ..inquiry })),
            cancelled => cancelled,
        }
    }

    /// What the gate does about an unknown operation, by its alarm or, with `probe`, for a request
    /// that it cannot send again.
    pub(super) fn step(&self, key: u8, record: u32, age: u8, probe: bool) -> Own {
        let own = self.steps.get((record, age, probe), || {
            if self.has(Plant::AlarmThrows) {
                return Own::Rest;
            }
            let now_ms = self.records.now_ms(age);
            let old = self.records.existing(record);
            let step = old.next_step(now_ms);
            match probe {
                true => match old.probe(now_ms) {
                    Some(asked) => Own::Ask(self.inquiry(&old, asked, None)),
                    None => Own::Rest,
                },
                false => match (step, old.clone().redispatch(now_ms)) {
                    (Step::Ask(asked), _) => Own::Ask(self.inquiry(&old, asked, None)),
                    (Step::Redispatch, Some((next, attempt))) => {
                        Own::Redispatch(self.records.keep(&next), small(attempt))
                    }
                    _ => Own::Rest,
                },
            }
        });
        match own {
            Own::Ask(inquiry) => Own::Ask(Inquiry { key, ..inquiry }),
            own => own,
        }
    }

    /// `None`: what was said changes nothing.
    pub(super) fn hear(&self, record: u32, age: u8, inquiry: Inquiry) -> Option<u32> {
        self.heard.get((record, age, inquiry), || {
            let word = inquiry.word.expect("it is heard when it is said");
            let hearing = Hearing {
                asked_attempt: match self.plant {
                    Some(Plant::StaleProbeBelieved) => {
                        self.records.existing(record).view(0).attempts
                    }
                    _ => inquiry.attempt.into(),
                },
                asked_ms: if inquiry.ripe { BASE_MS + SETTLE_MS } else { 0 },
                said: word.outcome().unwrap_or(Outcome::Unknown),
                storable: false,
                recorded: word.recorded().map(fingerprint),
            };
            let (old, now_ms) = (self.records.get(record), self.records.now_ms(age));
            let heard = match inquiry.canceller {
                Some(who) => {
                    let who = self.principal(who);
                    Operation::hear(old, now_ms, self.kind, &self.terms, who, hearing)
                }
                None => old.and_then(|old| old.answered_probe(now_ms, hearing)),
            };
            heard.map(|(record, _)| self.records.keep(&record))
        })
    }

    /// `None`: a person may not settle it so, or not now.
    pub(super) fn resolve(&self, record: u32, age: u8, resolve: Resolve) -> Option<u32> {
        self.resolved.get((record, age, resolve), || {
            let early = self.has(Plant::OperatorTooEarly);
            let resolution = Resolution {
                // Kept records are of revision 0: when they change is told beside them.
                revision: u32::from(resolve.changed),
                outcome: match resolve.outcome {
                    Found::Cancelled => Resolved::Cancelled,
                    Found::Executed => Resolved::Executed,
                    Found::NotExecuted => Resolved::NotExecuted,
                },
            };
            let now_ms = self.records.now_ms(age) + if early { SETTLE_MS } else { 0 };
            let resolved = self
                .records
                .existing(record)
                .resolve(now_ms, resolution)
                .ok()?;
            Some(self.records.keep(&resolved))
        })
    }

    /// `None`: it is not settled.
    pub(super) fn erase(&self, record: u32, age: u8) -> Option<u32> {
        self.erased.get((record, age), || {
            let erased = self
                .records
                .existing(record)
                .erase(self.records.now_ms(age))
                .ok()?;
            Some(self.records.keep(&erased))
        })
    }

    /// `None`: there is no record.
    pub(super) fn view(&self, record: u32, age: u8) -> Option<Viewed> {
        (record != 0).then(|| {
            self.views.get((record, age), || {
                let now_ms = self.records.now_ms(age);
                let record = self.records.existing(record);
                Viewed {
                    view: self.seen(record.view(now_ms)),
                    is_expired: record.is_expired(now_ms) || self.expires_early(&record, now_ms),
                    card: record.fingerprint().map(card_of),
                }
            })
        })
    }

    /// What the caller of an attempt hears of its reply, as the courier answers.
    pub(super) fn told(&self, record: u32, age: u8, word: Word) -> Told {
        self.told.get((record, age, word), || {
            let view = self
                .view(record, age)
                .expect("an attempt has a record")
                .view;
            let status = view.state.status();
            match word {
                Word::Lost => {
                    let problem = Problem::about(Code::OutcomeUnknown, "op", &view);
                    understood(
                        &Response::problem(problem.met_with(502), Some(status)),
                        word,
                    )
                }
                word => passed(word, status),
            }
        })
    }

    fn told_of(&self, admission: Admission, view: &View) -> Told {
        let (code, view) = match admission {
            Admission::Dispatch(_) => (Code::OutcomeUnknown, self.seen(view.of_unsent())),
            Admission::Wait { .. } => (Code::InProgress, *view),
            Admission::Turn(turn) => (turn.into(), *view),
            Admission::Replay => return replayed(view.state),
        };
        let problem = Problem::about(code, "op", &view);
        let response = Response::problem(problem, Some(view.state.status()));
        understood(&response, Word::Lost)
    }

    /// What is told of a record; the planted bugs tell more.
    fn seen(&self, view: View) -> View {
        let more = match self.plant {
            Some(Plant::ReleasedSaysSafe) => view.state == State::Released,
            Some(Plant::GeneratedRefusalSaysSafe) => view.state == State::Refused,
            _ => false,
        };
        View {
            safe_new_key: view.safe_new_key || more,
            ..view
        }
    }

    /// The planted bugs.
    fn expires_early(&self, record: &Operation, now_ms: u64) -> bool {
        let is_old = now_ms >= record.claimed_ms() + self.terms.key_ttl_ms;
        match self.plant {
            Some(Plant::ExpiresWithItsClaim) => is_old && record.is_settled(),
            Some(Plant::DisputeExpires) => is_old && record.view(now_ms).disputed,
            Some(Plant::OpenRowsDropped) => is_old && !record.is_settled(),
            _ => false,
        }
    }

    /// What the shard finds; a planted bug may have dropped it.
    fn found(&self, number: u32, now_ms: u64) -> Option<Operation> {
        let lease_ms = self.terms.lease_ms;
        let is_over = |record: &Operation| now_ms >= record.dispatched_ms() + lease_ms;
        let record = self.records.get(number);
        record.filter(|record| !(self.has(Plant::TtlIsLease) && is_over(record)))
    }

    fn has(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }

    fn principal(&self, who: u8) -> Option<Principal> {
        let binds = !self.has(Plant::PrincipalIgnored);
        binds.then(|| Principal::of(b"secret", "shop", &who.to_string()))
    }

    fn inquiry(
        &self,
        record: &Operation,
        asked: oncegate_core::operation::Inquiry,
        canceller: Option<u8>,
    ) -> Inquiry {
        let over_ms = record.dispatched_ms() + self.terms.settle_after_ms;
        Inquiry {
            key: 0,
            canceller,
            attempt: small(asked.attempt),
            ripe: over_ms <= asked.asked_ms,
            card: asked.fingerprint.map(card_of),
            word: None,
        }
    }
}

fn settling(attempt: u8, word: Word, storable: bool) -> Settling<'static> {
    Settling {
        attempt: attempt.into(),
        reply: match word {
            Word::Lost => Reply::Lost,
            word => Reply::Answered {
                status: word.http(),
                outcome: word.outcome().map(Outcome::as_str),
                value: None,
            },
        },
        storable: storable && word != Word::Lost,
        recorded: word.recorded().map(fingerprint),
    }
}

pub(super) fn fingerprint(card: u8) -> Fingerprint {
    Payload { purchase: 0, card }.fingerprint()
}

fn card_of(known: Fingerprint) -> u8 {
    (0..=u8::MAX)
        .find(|card| fingerprint(*card) == known)
        .expect("it is made from a card")
}
