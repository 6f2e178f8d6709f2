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
    let whole = ShardRequest::message(&message(reply(&received.head, true)?));
    match whole.and_then(|request| with_answer(request, received)) {
        Ok(Some(request)) => return Ok(request),
        Ok(None) => {}
        Err(error) => log::error("answer_not_stored").detail(error).write(),
    }
    ShardRequest::message(&message(reply(&received.head, false)?))
}

/// What the origin has answered, for its proof.
pub(super) fn reply(head: &Head, storable: bool) -> Result<Reply> {
    Ok(Reply::Answered {
        status: head.status,
        outcome: outcome(head)?,
        value: None,
        recorded: recorded(head)?,
        storable,
    })
}

/// Adds the answer; `None` if it cannot be given again: it is too large for a row, or it cannot be given
/// to anybody.
fn with_answer(mut request: ShardRequest, received: &Received) -> Result<Option<ShardRequest>> {
    let Body::Whole(body) = &received.body else {
        return Ok(None);
    };
    let kept = headers::for_replay(&received.head.headers)?;
    let headers: usize = kept
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    let size = headers as u64 + u64::from(body.byte_length());
    if size > received.keep.max_bytes || received.head.status > LAST_STATUS {
        return Ok(None);
    }
    for (name, value) in kept {
        request.headers.set(&name, &value)?;
    }
    request.body = (body.byte_length() > 0).then(|| body.clone());
    Ok(Some(request))
}

/// The outcome that the origin states, in the contract's word for it.
fn outcome(head: &Head) -> Result<Option<String>> {
    let value = head.headers.get(header::IDEMPOTENCY_OUTCOME)?;
    // A word that the contract does not know proves nothing, and is not the same as none.
    Ok(value.map(|value| {
        Outcome::parse(&value)
            .unwrap_or(Outcome::Unknown)
            .to_string()
    }))
}

/// What the answer is about, if the ledger says so (rule L5).
fn recorded(head: &Head) -> Result<Option<Fingerprint>> {
    let value = head.headers.get(header::FINGERPRINT)?;
    Ok(value.and_then(|value| Fingerprint::parse(&value)))
}
