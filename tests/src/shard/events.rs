//! What can happen to a shard, and what it stores.

use oncegate_core::operation::Operation;
use oncegate_core::outcome::Outcome;

use super::{CancelEvent, Probe};
use crate::courier::Dispatch;
use crate::model::{Answered, Call, CallId, CourierId, KeyId, Payload, Reply, Response};

#[derive(Debug)]
pub(crate) enum ShardEvent {
    /// The alarm of this shard.
    Alarm(usize),
    Arrive(Call),
    Cancel(CancelEvent),
    Carried(CallId, u64, Carried),
    ClientTimeout(CallId),
    Complete(Completion, Option<CourierId>),
    CourierLost(Dispatch),
    /// The head of an answer that is to be passed on as it comes.
    Head(Completion, CourierId),
    /// A client asks what became of its key.
    Look(Call),
    /// What the origin said when it was asked.
    Probed(Probe, Outcome),
    WaitOver(CallId),
    /// A planted bug: the row follows its dispatch.
    WriteLate(u64, KeyId, Box<Row>),
}

/// What a courier brings.
#[derive(Clone, Debug)]
pub(crate) enum Carried {
    Answered(Response),
    /// It broke in front of the caller.
    Broken,
    Superseded,
}

#[derive(Clone, Debug)]
pub(crate) struct Completion {
    pub(crate) key: KeyId,
    pub(crate) attempt: u32,
    pub(crate) reply: Reply,
    /// The answer was passed on and is not here.
    pub(crate) streamed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(super) record: Operation,
    pub(super) payload: Payload,
    pub(super) who: usize,
    pub(super) answer: Option<Answered>,
}

impl ShardEvent {
    /// Whom it concerns.
    pub(crate) fn shard(&self) -> usize {
        match self {
            Self::Alarm(shard) => *shard,
            Self::Arrive(call) | Self::Look(call) => call.key.shard(),
            Self::Cancel(event) => event.key().shard(),
            Self::Carried(call, ..) | Self::ClientTimeout(call) | Self::WaitOver(call) => {
                call.shard
            }
            Self::Complete(completion, _) | Self::Head(completion, _) => completion.key.shard(),
            Self::CourierLost(dispatch) => dispatch.key.shard(),
            Self::Probed(probe, _) => probe.key.shard(),
            Self::WriteLate(_, key, _) => key.shard(),
        }
    }
}
