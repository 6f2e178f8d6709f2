//! What the shard is told of a reply.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::header;
use oncegate_core::outcome::Outcome;
use worker::Result;

use super::call::{Body, Head, LAST_STATUS, Received};
use crate::message::{Reply, ToShard};
use crate::shards::ShardRequest;
use crate::{headers, log};

/// Reports a reply, and with it the answer if it can be stored. An answer that cannot be passed on
/// must not take the proof with it.
pub(super) fn report(
    received: &Received,
    message: impl Fn(Reply) -> ToShard,
) -> Result<ShardRequest> {
    match with_answer(received, &message) {
        Ok(Some(request)) => return Ok(request),
        Ok(None) => {}
        Err(error) => log::error("answer_not_stored").detail(error).write(),
    }
    ShardRequest::message(&message(reply(&received.head, false)))
}

/// What the origin has answered, for its proof.
pub(super) fn reply(head: &Head, storable: bool) -> Reply {
    Reply::Answered {
        status: head.status,
        outcome: outcome(head),
        value: None,
        recorded: recorded(head),
        storable,
    }
}

/// With the answer; `None` if it cannot be given again: it is too large for a row, or it cannot be given
/// to anybody.
fn with_answer(
    received: &Received,
    message: impl Fn(Reply) -> ToShard,
) -> Result<Option<ShardRequest>> {
    let Body::Whole(body) = &received.body else {
        return Ok(None);
    };
    let kept = headers::for_replay(&received.head.fields);
    let headers: usize = kept
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    let size = headers as u64 + u64::from(body.byte_length());
    if size > received.keep.max_bytes || received.head.status > LAST_STATUS {
        return Ok(None);
    }
    let message = message(reply(&received.head, true));
    let mut request = ShardRequest::new(&message, kept.into_iter().collect())?;
    request.body = (body.byte_length() > 0).then(|| body.clone());
    Ok(Some(request))
}

/// The outcome that the origin states, in the contract's word for it.
fn outcome(head: &Head) -> Option<String> {
    let value = head.fields.get(header::IDEMPOTENCY_OUTCOME)?;
    // A word that the contract does not know proves nothing, and is not the same as none.
    let outcome = Outcome::parse(value).unwrap_or(Outcome::Unknown);
    Some(outcome.to_string())
}

/// What the answer is about, if the ledger says so (rule L5).
fn recorded(head: &Head) -> Option<Fingerprint> {
    Fingerprint::parse(head.fields.get(header::FINGERPRINT)?)
}
