//! An attempt was replied to, or lost.

use std::rc::Rc;

use oncegate_core::operation::{Settling, State};
use oncegate_core::proof;
use oncegate_store::Written;
use worker::{Error, Result};

use super::Inner;
use super::row::Found;
use crate::answer::Answer;
use crate::log;
use crate::message::{Begun, Completed, Completion, Reply};
use crate::pace;
use crate::platform::now_ms;
use crate::waiters::News;

impl Inner {
    /// Settles an attempt, stores what it proves and tells those who wait.
    pub(super) fn complete(
        &self,
        completion: &Completion,
        answer: Option<Answer>,
    ) -> Result<Completed> {
        let now_ms = now_ms();
        let Found { row, record, .. } = self.find(now_ms, &completion.operation)?;
        let record = record.ok_or_else(|| Error::from("a completion without a record"))?;
        if completion.attempt == record.view(now_ms).attempts {
            let took_ms = now_ms.saturating_sub(record.dispatched_ms());
            pace::took(&record.terms().route, took_ms);
        }
        let settling = completion.settling(answer.is_some());
        let (record, settled) = record.settle(now_ms, settling);
        let (view, fingerprint) = (record.view(now_ms), record.fingerprint());
        let remember_ms = record.replays_for_ms(now_ms);
        if view.disputed {
            log::error("disputed")
                .operation(&completion.operation)
                .detail("executed, although it was said not to be")
                .write();
        }
        let written = Written {
            answer: answer.as_ref().filter(|_| settled.store),
            request: None,
        };
        if settled.changed {
            self.keep(now_ms, row, record, written)?;
        }
        if view.state != State::Dispatched {
            let news = match (answer, fingerprint) {
                (Some(answer), Some(fingerprint)) if settled.share => News::Answer(
                    fingerprint,
                    Rc::new(answer),
                    view.state.status(),
                    remember_ms,
                ),
                _ => News::Record,
            };
            self.waiters.tell(&row.operation, &news);
        }
        Ok(Completed {
            view,
            superseded: settled.superseded,
            remember_ms: if settled.store { remember_ms } else { 0 },
            rows_written: self.store(now_ms)?.database().take_written(),
        })
    }
}

impl Inner {
    /// Takes the head of an answer that is passed on (rule P6).
    pub(super) fn begin(&self, head: &Completion) -> Result<Begun> {
        let now_ms = now_ms();
        let Found { row, record, .. } = self.find(now_ms, &head.operation)?;
        let record = record.ok_or_else(|| Error::from("an answer without a record"))?;
        let (record, streaming) = record.begin_streaming(now_ms, head.settling(false));
        let is_open = record.view(now_ms).state == State::Dispatched;
        if streaming.changed {
            self.keep(now_ms, row, record, Written::NOTHING)?;
        }
        if !is_open {
            self.waiters.tell(&row.operation, &News::Record);
        }
        Ok(Begun {
            status: streaming.status.as_str().to_owned(),
            superseded: streaming.superseded,
        })
    }
}

impl Completion {
    pub(super) fn settling(&self, storable: bool) -> Settling<'_> {
        let (reply, recorded) = match &self.reply {
            Reply::Answered {
                status,
                outcome,
                value,
                recorded,
                ..
            } => {
                let reply = proof::Reply::Answered {
                    status: *status,
                    outcome: outcome.as_deref(),
                    value: value.as_deref(),
                };
                (reply, *recorded)
            }
            Reply::Lost => (proof::Reply::Lost, None),
        };
        Settling {
            attempt: self.attempt,
            reply,
            storable,
            recorded,
        }
    }
}
