//! The one hand-over of a request to the origin, and what comes back.
//!
//! Invariant: whatever is not a whole answer, or the beginning of one that is passed on, is [`Lost`]. A timeout stops the waiting, not the call
//! (rule A4).

use js_sys::ArrayBuffer;
use oncegate_core::deadline::Deadline;
use oncegate_core::header;
use oncegate_core::signature::Claims;
use worker::{Env, Error, Result};

use super::keep::Keep;
use super::passing::Passing;
use super::tell::line;
use crate::body::{self, Chunks, Read};
use crate::config::{Config, NO_ORIGIN};
use crate::fields::Fields;
use crate::message::Dispatch;
use crate::platform::now_ms;
use crate::shards::within;
use crate::wire::{Call, Incoming, Response};
use crate::{headers, log, origins, sealing};

/// What the origin has answered.
pub(super) struct Received {
    pub(super) head: Head,
    pub(super) body: Body,
    /// What may be kept of it.
    pub(super) keep: Keep,
}

/// An answer without its body.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) fields: Fields,
    /// Those that a client may have.
    pub(super) passed: Fields,
}

/// The body of an answer.
pub(super) enum Body {
    /// It is passed on as it comes (rule P6).
    Passing(Passing),
    Whole(ArrayBuffer),
}

/// Why there is no whole answer.
pub(super) enum Lost {
    Failed,
    TimedOut,
}

/// Sends the request to the origin, with what the gate has to say about it.
pub(super) async fn send(
    incoming: &Incoming,
    dispatch: &Dispatch,
    deadline: Deadline,
    env: &Env,
    config: &Config,
) -> std::result::Result<Received, Lost> {
    let keep = Keep::of(config, dispatch);
    let call = async {
        let body = sealing::open_request(incoming, &dispatch.operation, config).await?;
        let fields = origin_fields(incoming, dispatch, config);
        let origin = config.origin_of(&dispatch.terms);
        let origin = origin.ok_or_else(|| Error::from(NO_ORIGIN))?;
        let url = origins::url(origin, &dispatch.path_and_query);
        let body = (body.byte_length() > 0).then(|| body.into());
        let call = Call::new(url, &incoming.method, &fields, body)?;
        receive(origins::send(env, origin, &call).await?, keep).await
    };
    match within(deadline.listening_ms(now_ms()), call).await {
        Some(Ok(received)) => Ok(received),
        Some(Err(error)) => {
            let line = line(log::warn("attempt_lost"), dispatch);
            line.detail(error).write();
            Err(Lost::Failed)
        }
        None => Err(Lost::TimedOut),
    }
}

async fn receive(response: Response, keep: Keep) -> Result<Received> {
    let mut fields = response.fields()?;
    fields.drop_unreadable();
    let head = Head {
        status: response.status_code(),
        passed: headers::towards_client(&fields),
        fields,
    };
    let body = if head.status > body::LAST_STATUS || body::is_bodiless(head.status) {
        // What cannot be given to a client is not kept for one.
        response.discard();
        Body::Whole(ArrayBuffer::new(0))
    } else {
        read(response, &head.fields, &keep).await?
    };
    Ok(Received { head, body, keep })
}

/// Reads an answer that may be stored. One of unknown length is read until it is too large: most are
/// not, and an answer that cannot be given again is of little use to who has lost it.
async fn read(response: Response, fields: &Fields, keep: &Keep) -> Result<Body> {
    let length = announced_length(fields);
    let is_endless = keep.stream || is_event_stream(fields);
    match (response.inner().body(), length) {
        (None, _) => Ok(Body::Whole(ArrayBuffer::new(0))),
        (Some(stream), _) if is_endless || length > Some(keep.max_bytes) => {
            Ok(Body::Passing(Passing::new(Chunks::of(&stream), length)))
        }
        (Some(_), Some(_)) => body::whole_response(response.inner())
            .await
            .map(Body::Whole),
        (Some(stream), None) => {
            let mut chunks = Chunks::of(&stream);
            Ok(match chunks.up_to(keep.max_bytes).await? {
                Read::Whole(body) => Body::Whole(body),
                Read::More(first) => Body::Passing(Passing::begun(first, chunks)),
            })
        }
    }
}

/// How long an answer says that it is. One in chunks is as long as they are, whatever length it announces beside
/// them: passed on under that length, it would be cut to it, or never be whole.
fn announced_length(fields: &Fields) -> Option<u64> {
    let is_chunked = fields.get("transfer-encoding").is_some();
    let length = fields.get("content-length").filter(|_| !is_chunked);
    length.and_then(|length| length.parse().ok())
}

/// Events are of use while they happen, and have no end to wait for.
fn is_event_stream(fields: &Fields) -> bool {
    let content_type = fields.get("content-type").unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("text/event-stream")
}

/// Rule K6: what the origin is told, and the signature over it.
fn origin_fields(incoming: &Incoming, dispatch: &Dispatch, config: &Config) -> Fields {
    let mut fields = incoming.fields.clone();
    fields.remove(sealing::SEALED);
    let claims = Claims {
        method: &incoming.method,
        path_and_query: &dispatch.path_and_query,
        key: &dispatch.key,
        attempt: &dispatch.attempt.to_string(),
        operation: &dispatch.operation,
        key_kind: dispatch.kind.as_str(),
        fingerprint: &dispatch.fingerprint.to_string(),
    };
    fields.set(header::IDEMPOTENCY_KEY, claims.key);
    fields.set(header::ATTEMPT, claims.attempt);
    fields.set(header::OPERATION, claims.operation);
    fields.set(header::KEY_KIND, claims.key_kind);
    fields.set(header::FINGERPRINT, claims.fingerprint);
    let signature = config.signing_secrets.sign(now_ms(), &claims);
    fields.set(header::SIGNATURE, signature);
    fields
}
