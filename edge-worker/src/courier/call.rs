//! The one hand-over of a request to the origin, and what comes back.
//!
//! Invariant: whatever is not a whole answer is [`Lost`]. A timeout stops the waiting, not the call
//! (rule A4).

use js_sys::ArrayBuffer;
use oncegate_core::header;
use oncegate_core::policy::HARD_TIMEOUT_MS;
use oncegate_core::signature::Claims;
use worker::{Date, Env, Headers, Request, Response, Result};

use crate::config::Config;
use crate::message::{self, Dispatch};
use crate::shards::within;
use crate::{body, origins, wire};

/// The last status with which the platform makes an answer. Origins can send higher ones.
pub(super) const LAST_STATUS: u16 = 599;

/// The origin's whole answer.
pub(super) struct Received {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: ArrayBuffer,
}

/// Why there is no whole answer.
pub(super) enum Lost {
    Failed,
    TimedOut,
}

/// Sends the request to the origin, with what the gate has to say about it.
pub(super) async fn send(
    request: &Request,
    dispatch: &Dispatch,
    env: &Env,
    config: &Config,
) -> std::result::Result<Received, Lost> {
    let call = async {
        let body = body::whole_message(request).await?;
        let headers = origin_headers(request, dispatch, config)?;
        let path = dispatch.path_and_query.split('?').next();
        let origin = config.origins.of_path(path.unwrap_or_default());
        let url = origins::url(origin, &dispatch.path_and_query);
        let body = (body.byte_length() > 0).then(|| body.into());
        let request = wire::request(&url, request.method(), headers, body)?;
        receive(origins::send(env, origin, &request).await?).await
    };
    match within(HARD_TIMEOUT_MS, call).await {
        Some(Ok(received)) => Ok(received),
        Some(Err(error)) => {
            let Dispatch {
                operation, attempt, ..
            } = dispatch;
            worker::console_warn!("courier: {operation} attempt {attempt}: {error}");
            Err(Lost::Failed)
        }
        None => Err(Lost::TimedOut),
    }
}

async fn receive(response: Response) -> Result<Received> {
    let status = response.status_code();
    let headers = response.headers().clone();
    let body = body::whole_response(&response.into()).await?;
    // What cannot be given to a client is not kept for one.
    let body = match body::is_bodiless(status) {
        true => ArrayBuffer::new(0),
        false => body,
    };
    Ok(Received {
        status,
        headers,
        body,
    })
}

/// Rule K6: what the origin is told, and the signature over it.
fn origin_headers(request: &Request, dispatch: &Dispatch, config: &Config) -> Result<Headers> {
    let headers = request.headers().clone();
    message::remove(&headers)?;
    let method = request.method();
    let claims = Claims {
        method: method.as_ref(),
        path_and_query: &dispatch.path_and_query,
        key: &dispatch.key,
        attempt: &dispatch.attempt.to_string(),
        operation: &dispatch.operation,
        key_kind: dispatch.kind.as_str(),
        fingerprint: &dispatch.fingerprint.to_string(),
    };
    headers.set(header::IDEMPOTENCY_KEY, claims.key)?;
    headers.set(header::ATTEMPT, claims.attempt)?;
    headers.set(header::OPERATION, claims.operation)?;
    headers.set(header::KEY_KIND, claims.key_kind)?;
    headers.set(header::FINGERPRINT, claims.fingerprint)?;
    let signature = config
        .signing_secrets
        .sign(Date::now().as_millis(), &claims);
    headers.set(header::SIGNATURE, &signature)?;
    Ok(headers)
}
