//! A courier is on its way, and the shard stays awake for it.

use std::fmt::Display;
use std::rc::Rc;

use futures_channel::oneshot;
use oncegate_core::identity::Identity;
use oncegate_core::operation::Operation;
use worker::Result;

use super::Inner;
use crate::log;
use crate::message::{Completion, Reply};
use crate::platform::{Service, now_ms};
use crate::shards::within;
use crate::wire::{self, Call, Response};

/// An attempt that is durable, and may be carried.
pub(super) struct Attempt {
    operation: Identity,
    number: u32,
    lease_ms: u64,
    /// Whether the gate has to settle it by itself.
    pub(super) finish: bool,
}

impl Attempt {
    pub(super) fn new(operation: Identity, number: u32, record: &Operation) -> Self {
        Self {
            operation,
            number,
            lease_ms: record.terms().lease_ms,
            finish: record.terms().finish,
        }
    }

    fn log(&self, event: &str, detail: impl Display) {
        log::error(event)
            .operation(&self.operation.reference())
            .attempt(self.number)
            .detail(detail)
            .write();
    }

    /// What is told if its courier does not come back.
    fn lost(&self) -> Completion {
        Completion {
            operation: self.operation.reference(),
            attempt: self.number,
            reply: Reply::Lost,
        }
    }
}

impl Inner {
    /// Starts the courier of an attempt. Its answer goes to the receiver, if somebody still waits and
    /// it is the one that counts.
    pub(super) fn dispatch(
        self: &Rc<Self>,
        now_ms: u64,
        courier: Service,
        call: Call,
        attempt: Attempt,
    ) -> Result<oneshot::Receiver<Response>> {
        if attempt.finish {
            self.finishes(now_ms, now_ms + attempt.lease_ms)?;
        }
        let (sender, receiver) = oneshot::channel();
        let shard = Rc::clone(self);
        self.state.wait_until(async move {
            let mut carried = Box::pin(wire::call(&courier, &call));
            let mut answered = within(attempt.lease_ms, carried.as_mut()).await;
            if attempt.finish {
                shard.finished();
            }
            if answered.is_none() {
                shard.lease_is_over(&attempt);
                answered = Some(carried.await);
            }
            match answered {
                Some(Ok(response)) if says_see_record(&response) => {}
                // Nobody may wait any more: the record has the answer.
                Some(Ok(response)) if is_marked(&response) => {
                    if let Err(unwanted) = sender.send(response) {
                        unwanted.discard();
                    }
                }
                answered => {
                    let fault = answered.map(|said| said.map(|response| response.status_code()));
                    attempt.log("courier_lost", format!("{fault:?}"));
                    if let Err(error) = shard.complete(&attempt.lost(), None) {
                        attempt.log("completion_failed", error);
                    }
                }
            }
        });
        Ok(receiver)
    }

    /// The operation counts as unknown from now on: it goes on the list, and listening goes on.
    fn lease_is_over(&self, attempt: &Attempt) {
        let now_ms = now_ms();
        match self.found(now_ms, attempt.operation) {
            Ok(found) => self.note_found(now_ms, found.row),
            Err(error) => attempt.log("not_listed", error),
        }
    }
}

fn says_see_record(response: &Response) -> bool {
    response.marks().superseded.is_some()
}

/// A courier marks its answers with the operation; nobody else who may answer in its place does.
fn is_marked(response: &Response) -> bool {
    response.marks().operation.is_some()
}
