//! A key shall be dead: the record decides, or its origin's ledger is asked.

use std::rc::Rc;

use futures_channel::oneshot;
use oncegate_core::operation::{Cancellation, Hearing, Operation, State};
use oncegate_core::outcome::Outcome;
use oncegate_core::problem::{Code, Problem};
use oncegate_store::Written;
use worker::{Date, Response, ResponseBuilder, Result};

use super::Inner;
use super::row::Found;
use super::token::{Expired, Presented};
use crate::answer::{self, Answer, Mark};
use crate::errand;
use crate::log;
use crate::message::{Cancel, Heard, Reply};
use crate::platform::Service;
use crate::shards::within;
use crate::waiters::News;
use crate::wire::{self, Call};

impl Inner {
    /// Makes a key dead, unless it is too late; says what became of it.
    pub(super) async fn cancel(self: &Rc<Self>, cancel: &Cancel) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let found = self.find_or_turn_away(now_ms, &cancel.operation, &cancel.scope)?;
        let found = match found {
            Ok(found) => found,
            Err(problem) => return answer::turn_away(&problem, &cancel.operation),
        };
        let presented = Presented::of_cancel(cancel, now_ms);
        match self.expired(now_ms, &presented, &found)? {
            Some(Expired::Unused(_)) => return self.cancelled(cancel),
            Some(expired) => return expired.answer(now_ms, &presented),
            None => {}
        }
        let Found { row, record, .. } = found;
        let (kind, principal) = (cancel.kind, cancel.principal);
        let cancelled = Operation::cancel(record, now_ms, kind, &presented.terms, principal);
        let (record, cancellation) = match cancelled {
            Ok(cancelled) => cancelled,
            Err(turn) => return answer::turn_away(&Problem::new(turn.into()), &cancel.operation),
        };
        match cancellation {
            Cancellation::Cancelled => {
                self.keep(now_ms, row, record, Written::NOTHING)?;
            }
            Cancellation::Decided => {}
            Cancellation::Ask(inquiry) => {
                let config = self.config()?;
                let call = errand::cancel(cancel, inquiry, record.terms(), &config)?;
                self.ask_ledger(self.courier()?, call, cancel.client_timeout_ms)
                    .await;
            }
        }
        self.cancelled(cancel)
    }

    /// Sends a courier to the ledger and waits for it. Answered, lost or late: what counts is in the
    /// record.
    async fn ask_ledger(&self, courier: Service, call: Call, limit_ms: u64) {
        let (sender, receiver) = oneshot::channel();
        self.state.wait_until(async move {
            if let Err(error) = wire::call(&courier, &call).await {
                log::warn("courier_of_cancellation_lost")
                    .detail(error)
                    .write();
            }
            // Who has given up hears nothing.
            let _ = sender.send(());
        });
        within(limit_ms, receiver).await;
    }

    /// What is said to who wanted to cancel: the operation if it is closed, else that it is open.
    fn cancelled(&self, cancel: &Cancel) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let Found { row, record, .. } = self.find(now_ms, &cancel.operation)?;
        self.note_found(now_ms, row);
        let mark = Mark::new(&cancel.operation, cancel.kind, &cancel.terms);
        let view = match Operation::look(record.as_ref(), now_ms, cancel.principal) {
            Ok(view) => view,
            Err(turn) => return answer::turn_away(&Problem::new(turn.into()), &cancel.operation),
        };
        let code = match view.map(|view| view.state) {
            Some(State::Cancelled | State::Executed | State::Refused) => {
                return self.look(&cancel.operation, cancel.principal);
            }
            Some(State::Dispatched) => Code::InProgress,
            Some(State::Released | State::Unknown) | None => Code::OutcomeUnknown,
        };
        match view {
            Some(view) => mark.problem(now_ms, code, &view),
            None => mark.problem_of_absent(code),
        }
    }

    /// Takes what a ledger said to a cancellation, and the answer that it gave with it.
    pub(super) fn hear(&self, heard: &Heard, answer: Option<Answer>) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let Found { row, record, .. } = self.find(now_ms, &heard.operation)?;
        let hearing = heard.hearing(answer.is_some());
        let closed = Operation::hear(
            record,
            now_ms,
            heard.kind,
            &heard.terms,
            heard.principal,
            hearing,
        );
        if let Some((record, keeps_answer)) = closed {
            let written = Written {
                answer: answer.as_ref().filter(|_| keeps_answer),
                request: None,
            };
            self.keep(now_ms, row, record, written)?;
            self.waiters.tell(&row.operation, &News::Record);
        }
        Ok(ResponseBuilder::new().empty())
    }
}

impl Heard {
    fn hearing(&self, storable: bool) -> Hearing {
        let (said, recorded) = match &self.reply {
            Reply::Answered {
                outcome, recorded, ..
            } => (outcome.as_deref(), *recorded),
            Reply::Lost => (None, None),
        };
        Hearing {
            asked_attempt: self.asked_attempt,
            asked_ms: self.asked_ms,
            said: said.and_then(Outcome::parse).unwrap_or(Outcome::Unknown),
            storable,
            recorded,
        }
    }
}
