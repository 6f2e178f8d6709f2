//! A request has arrived: it starts an attempt, waits for one, or is answered from the record.

use std::rc::Rc;

use futures_channel::oneshot;
use oncegate_core::identity::Identity;
use oncegate_core::operation::{Admission, Operation, Turn, View};
use oncegate_core::problem::{Code, Problem};
use oncegate_store::Written;
use worker::{Error, Result};

use super::Inner;
use super::dispatch::Attempt;
use super::request::Sendable;
use super::row::{Found, Row};
use super::token::Presented;
use crate::answer::{self, Answer, DISPATCHED, Mark, REPLAYED, WAITED};
use crate::body;
use crate::errand::{self, Body};
use crate::jwt::Jwt;
use crate::message::Claim;
use crate::platform::now_ms;
use crate::shards::within;
use crate::waiters::{News, Room};
use crate::wire::{Response, Told};

/// Who is answered: the request whose attempt it is, or another one.
#[derive(Clone, Copy)]
enum Asker {
    First,
    Waiter,
}

impl Asker {
    /// How a request is decided that is answered from the record.
    fn decision(self) -> &'static str {
        match self {
            Self::First => DISPATCHED,
            Self::Waiter => REPLAYED,
        }
    }

    /// An answer that is none from the record: a first request was dispatched all the same.
    fn hears(self, answer: worker::Response) -> Result<Response> {
        Ok(match self {
            Self::First => answer::decided(answer, DISPATCHED)?.into(),
            Self::Waiter => answer.into(),
        })
    }
}

impl Inner {
    pub(super) async fn claim(self: &Rc<Self>, told: Told, claim: &Claim) -> Result<Response> {
        let body = unread_or_read(&told.request, claim).await?;
        let now_ms = now_ms();
        let found = match self.find_or_turn_away(now_ms, &claim.operation, &claim.scope)? {
            Ok(found) => found,
            Err(problem) => return Ok(answer::turn_away(&problem, &claim.operation)?.into()),
        };
        let presented = Presented::of_claim(claim, now_ms);
        if let Some(expired) = self.expired(now_ms, &presented, &found)? {
            return Ok(expired.answer(now_ms, &presented)?.into());
        }
        let is_new = found.is_absent(now_ms);
        let is_open = found
            .record
            .as_ref()
            .is_some_and(|record| !record.is_settled());
        let (record, admission) = Operation::arrive(
            found.record,
            now_ms,
            claim.kind,
            &presented.terms,
            claim.principal,
            claim.fingerprint,
        );
        match admission {
            // What was claimed before goes on as if nothing were known of the origin.
            Admission::Dispatch(_) if claim.unreachable && !is_open => {
                let problem = Problem::new(Code::OriginUnreachable).retry_after(1_000);
                Ok(answer::turn_away(&problem, &claim.operation)?.into())
            }
            // Whatever the origin of today is, it is not the one that this may be sent to.
            Admission::Dispatch(_) if self.config()?.origin_of(record.terms()).is_none() => {
                self.strand(now_ms, claim, is_new)
            }
            Admission::Dispatch(number) => {
                let started = Started {
                    number,
                    record,
                    row: found.row,
                };
                let answer = self.start(now_ms, &told, body, claim, started)?;
                match within(claim.client_timeout_ms, answer).await {
                    Some(Ok(response)) => Ok(response),
                    _ => self.record_answer(claim, Asker::First),
                }
            }
            Admission::Wait { lease_ends_ms } => {
                let open = (found.row.operation, &record);
                self.wait(now_ms, claim, open, lease_ends_ms).await
            }
            Admission::Replay | Admission::Turn(_) => {
                self.note_found(now_ms, found.row);
                let from = Source {
                    record: &record,
                    answer: found.answer.as_ref(),
                    admission,
                };
                answer_from(now_ms, claim, from, Asker::Waiter)
            }
        }
    }

    /// Writes the attempt down and sends a courier.
    fn start(
        self: &Rc<Self>,
        now_ms: u64,
        told: &Told,
        body: Body,
        claim: &Claim,
        started: Started,
    ) -> Result<oneshot::Receiver<Response>> {
        let Started {
            number,
            record,
            row,
        } = started;
        let attempt = Attempt::new(row.operation, number, &record);
        // What can fail comes before the write: a row that says "dispatched" must be true.
        let (courier, config) = (self.courier()?, self.config()?);
        // What an earlier configuration of the route has stored stays.
        let stores = attempt.finish && claim.terms.finish;
        let tokens = config.jwt.as_ref().map(Jwt::header);
        let stored = match stores {
            true => Some(Sendable::new(told, claim, &body, tokens)?.stored()?),
            false => None,
        };
        let call = errand::attempt(told, body, claim, number, record.terms(), &config)?;
        let written = Written {
            answer: None,
            request: stored.as_ref(),
        };
        self.keep(now_ms, row, record, written)?;
        self.dispatch(now_ms, courier, call, attempt)
    }

    /// Answers what there is no origin for any more. What was begun waits for a person, and what was not is
    /// of a gate with earlier settings.
    fn strand(&self, now_ms: u64, claim: &Claim, is_new: bool) -> Result<Response> {
        if is_new {
            let reason = "the settings of its route are being changed";
            let problem = Problem::new(Code::GateUnavailable).because(reason);
            let problem = problem.retry_after(1_000);
            return Ok(answer::turn_away(&problem, &claim.operation)?.into());
        }
        let Found { row, record, .. } = self.find(now_ms, &claim.operation)?;
        self.note_found(now_ms, row);
        let record = record.ok_or_else(|| Error::from("an operation without a record"))?;
        let view = View {
            held: true,
            ..record.view(now_ms).of_unsent()
        };
        let mark = Mark::new(&claim.operation, record.kind(), record.terms());
        let problem = mark.problem(now_ms, Code::OutcomeUnknown, &view)?;
        Ok(problem.into())
    }

    /// Waits for the attempt of another request.
    async fn wait(
        &self,
        now_ms: u64,
        claim: &Claim,
        (operation, record): (Identity, &Operation),
        lease_ends_ms: u64,
    ) -> Result<Response> {
        let mark = Mark::new(&claim.operation, record.kind(), record.terms());
        let room = Room {
            per_operation: claim.max_waiters,
            per_shard: self.config()?.limits.waiters,
        };
        let Some(news) = self.waiters.join(operation, claim.fingerprint, room) else {
            return Ok(mark
                .problem(now_ms, Code::InProgress, &record.view(now_ms))?
                .into());
        };
        let wait_ms = claim.wait_ms.min(lease_ends_ms.saturating_sub(now_ms));
        match within(wait_ms, news).await {
            Some(Ok(News::Answer(_, answer, status, remember_ms))) => {
                mark.again(&answer, status, WAITED, claim.remember_ms(remember_ms))
            }
            _ => self.record_answer(claim, Asker::Waiter),
        }
    }

    /// The record's answer for a request that has waited. It never starts an attempt (rule I4).
    fn record_answer(&self, claim: &Claim, asker: Asker) -> Result<Response> {
        let now_ms = now_ms();
        let Found {
            row,
            record,
            answer,
        } = self.find(now_ms, &claim.operation)?;
        // Its lease may have ended meanwhile, and nobody else may be left to see it.
        self.note_found(now_ms, row);
        let record = record.ok_or_else(|| Error::from("an operation without a record"))?;
        let (_, admission) = Operation::arrive(
            Some(record.clone()),
            now_ms,
            claim.kind,
            &claim.terms,
            claim.principal,
            claim.fingerprint,
        );
        let from = Source {
            record: &record,
            answer: answer.as_ref(),
            admission,
        };
        answer_from(now_ms, claim, from, asker)
    }
}

impl Claim {
    /// For how long the gate is told to remember a replay: not at all, unless it would.
    fn remember_ms(&self, allowed_ms: u64) -> u64 {
        if self.remembers { allowed_ms } else { 0 }
    }
}

/// An attempt that the record allows.
struct Started {
    number: u32,
    record: Operation,
    row: Row,
}

/// What a request is answered from.
struct Source<'a> {
    record: &'a Operation,
    answer: Option<&'a Answer>,
    admission: Admission,
}

fn answer_from(now_ms: u64, claim: &Claim, from: Source<'_>, asker: Asker) -> Result<Response> {
    let Source {
        record,
        answer: stored,
        admission,
    } = from;
    let mark = Mark::new(&claim.operation, record.kind(), record.terms());
    let view = record.view(now_ms);
    let (code, view) = match admission {
        // What is on record may be another request's: of this one nothing is known.
        Admission::Dispatch(_) => (Code::OutcomeUnknown, view.of_unsent()),
        Admission::Replay => {
            let answer =
                stored.ok_or_else(|| Error::from("a record without the answer it speaks of"))?;
            let remember_ms = claim.remember_ms(record.replays_for_ms(now_ms));
            return mark.again(answer, view.state.status(), asker.decision(), remember_ms);
        }
        Admission::Turn(Turn::PrincipalMismatch) => {
            let problem = Problem::new(Code::PrincipalMismatch);
            return asker.hears(answer::turn_away(&problem, &claim.operation)?);
        }
        Admission::Turn(turn) => (Code::from(turn), view),
        Admission::Wait { .. } => (Code::InProgress, view),
    };
    asker.hears(match (code, asker) {
        (Code::OutcomeUnknown, Asker::First) => mark.lost(now_ms, 502, &view)?,
        _ => mark.problem(now_ms, code, &view)?,
    })
}

/// A request that the gate may have to send again is read to be stored, before anything is decided:
/// from then on nothing is awaited.
async fn unread_or_read(request: &web_sys::Request, claim: &Claim) -> Result<Body> {
    if !Sendable::is_kept_whole(claim) {
        return Ok(Body::Unread);
    }
    let bytes = body::whole_message(request).await?;
    Ok(Body::Read((bytes.byte_length() > 0).then_some(bytes)))
}
