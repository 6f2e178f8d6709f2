//! What the shard is told of a reply.

use js_sys::ArrayBuffer;
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::header;
use oncegate_core::outcome::Outcome;
use oncegate_core::proof::Origin;
use worker::Result;

use super::call::{Body, Head, Received};
use super::keep::Keep;
use crate::log;
use crate::message::{Reply, ToShard};
use crate::shards::ShardRequest;

/// Reports a reply, and with it the answer if it can be stored. An answer that cannot be passed on
/// must not take the proof with it.
pub(super) async fn report(
    received: &Received,
    message: impl Fn(Reply) -> ToShard,
) -> Result<ShardRequest> {
    match with_answer(received, &message).await {
        Ok(Some(request)) => return Ok(request),
        Ok(None) => {}
        Err(error) => log::error("answer_not_stored").detail(error).write(),
    }
    ShardRequest::message(&message(whole(received)))
}

fn whole(received: &Received) -> Reply {
    let body = match &received.body {
        Body::Passing(_) => None,
        Body::Whole(body) => Some(body),
    };
    reply(&received.head, &received.keep, body)
}

/// What the origin has answered, for its proof.
pub(super) fn reply(head: &Head, keep: &Keep, body: Option<&ArrayBuffer>) -> Reply {
    let value = keep.value(head, body);
    let is_hidden = value.is_none() && keep.may_hide_value(head, body);
    let unknown = || is_hidden.then(|| Outcome::Unknown.to_string());
    Reply::Answered {
        status: head.status,
        outcome: outcome(head, keep.origin).or_else(unknown),
        value,
        recorded: recorded(head),
        storable: false,
        fields: Vec::new(),
    }
}

/// The same with the answer; `None` if it cannot be given again.
async fn with_answer(
    received: &Received,
    message: impl Fn(Reply) -> ToShard,
) -> Result<Option<ShardRequest>> {
    let Some(kept) = received.kept().await? else {
        return Ok(None);
    };
    let mut reply = whole(received);
    if let Reply::Answered {
        storable, fields, ..
    } = &mut reply
    {
        *storable = true;
        fields.extend(kept.fields.iter().map(|(name, _)| name.clone()));
    }
    let mut request = ShardRequest::new(&message(reply), &kept.fields.into_iter().collect())?;
    request.body = kept.body.filter(|body| body.byte_length() > 0);
    Ok(Some(request))
}

/// The outcome that the origin states, in the contract's word for it. One that is itself a gate states it
/// as gates do: its 410 for an answer that has expired is no refusal, and what a ledger behind it said of one
/// attempt is not what it says of all. A ledger has its own word only (rule A1).
fn outcome(head: &Head, origin: Origin) -> Option<String> {
    let said = |name| head.fields.get(name);
    if origin != Origin::Ledger
        && said(header::KEY_KIND).is_some()
        && let Some(status) = said(header::IDEMPOTENCY_STATUS)
    {
        let outcome = Outcome::of_gate(status, said(header::DECISION))?;
        return Some(outcome.to_string());
    }
    let word = said(header::IDEMPOTENCY_OUTCOME)?;
    // A word that the contract does not know proves nothing, and is not the same as none.
    let outcome = Outcome::parse(word).unwrap_or(Outcome::Unknown);
    Some(outcome.to_string())
}

/// What the answer is about, if the ledger says so (rule L5).
fn recorded(head: &Head) -> Option<Fingerprint> {
    Fingerprint::parse(head.fields.get(header::FINGERPRINT)?)
}
