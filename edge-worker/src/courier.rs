//! A courier carries one attempt to the origin and brings the reply to the shard.
//!
//! It is this Worker, called by the shard through a service binding with a sealed message: it ends
//! neither when the client leaves nor when the shard is replaced. Decisions are the shard's: the
//! answer leaves only after the shard has written what it proves (rule I2).

use std::time::Duration;

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::outcome::Outcome;
use oncegate_core::policy::{HARD_TIMEOUT_MS, STORE_DEADLINE_MS};
use oncegate_core::problem::{Code, Problem};
use oncegate_core::signature::Claims;
use worker::{
    Date, Delay, Env, Error, Fetch, Headers, Request, RequestInit, RequestRedirect, Response,
    ResponseBuilder, Result,
};

use crate::answer::{self, Mark};
use crate::config::Config;
use crate::message::{self, Completed, Completion, Dispatch, Errand, Heard, Reply, ToShard};
use crate::shards::{self, ShardRequest, within};
use crate::{body, headers};

/// Headers and body of an answer that may be stored, in bytes. Rows hold 2 MB.
const LARGEST_STORED_BYTES: u64 = 1_900_000;

/// The pauses before the shard is told again, in milliseconds; the last one is repeated as long as a
/// reply is worth telling. A shard that is being replaced is back within seconds, one that is
/// overloaded may take longer, and what the origin said is nowhere else.
const TELL_AGAIN_MS: [u64; 6] = [100, 500, 2_000, 5_000, 10_000, 30_000];

/// Set on the answer to a shard if the record's answer counts and not this one.
pub(crate) const SUPERSEDED: &str = "oncegate-superseded";

/// The origin's whole answer.
struct Received {
    status: u16,
    headers: Headers,
    body: js_sys::ArrayBuffer,
}

/// Why there is no whole answer.
enum Lost {
    Failed,
    TimedOut,
}

pub(crate) async fn run(
    request: Request,
    dispatch: Dispatch,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    match dispatch.errand {
        Errand::Attempt => carry(request, dispatch, env, config).await,
        Errand::Cancel => cancel(request, dispatch, env, config).await,
    }
}

async fn carry(
    request: Request,
    dispatch: Dispatch,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    let received = send(&request, &dispatch, config).await;
    let completion = completion(&dispatch, &received)?;
    let Some(mut told) = tell(env, config, &dispatch, &completion).await? else {
        return answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000));
    };
    let completed: Completed = told.json().await?;
    if completed.superseded {
        return Ok(ResponseBuilder::new()
            .with_header(SUPERSEDED, "true")?
            .empty());
    }
    let mark = Mark::new(&dispatch.operation, &dispatch.terms);
    match received {
        Ok(received) => {
            let headers = headers::towards_client(&received.headers)?;
            mark.put(&headers, completed.view.state.status())?;
            body::response(received.status, &headers, &received.body)
        }
        Err(lost) => {
            let status = if matches!(lost, Lost::TimedOut) {
                504
            } else {
                502
            };
            mark.lost(Date::now().as_millis(), status, &completed.view)
        }
    }
}

/// Has the ledger cancel the key, and tells the shard what it said. Whatever fails on the way, the
/// shard looks at its record afterwards.
async fn cancel(
    request: Request,
    dispatch: Dispatch,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    if let Ok(received) = send(&request, &dispatch, config).await {
        let heard = report(&received, |reply| {
            ToShard::Hear(Heard {
                operation: dispatch.operation.clone(),
                kind: dispatch.kind,
                terms: dispatch.terms,
                asked_attempt: dispatch.attempt,
                reply,
            })
        })?;
        tell(env, config, &dispatch, &heard).await?;
    }
    Ok(ResponseBuilder::new().empty())
}

/// The one hand-over to the origin. A timeout stops the waiting, not the call (rule A4).
async fn send(
    request: &Request,
    dispatch: &Dispatch,
    config: &Config,
) -> std::result::Result<Received, Lost> {
    let call = async {
        let body = body::whole_message(request).await?;
        let mut init = RequestInit::new();
        init.with_method(request.method())
            .with_headers(origin_headers(request, dispatch, config)?)
            .with_body((body.byte_length() > 0).then(|| body.into()))
            .with_redirect(RequestRedirect::Manual);
        let url = format!("{}{}", config.origin_url, dispatch.path_and_query);
        receive(
            Fetch::Request(Request::new_with_init(&url, &init)?)
                .send()
                .await?,
        )
        .await
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
    if !(200..600).contains(&status) {
        return Err(Error::from(format!(
            "the origin answered with status {status}"
        )));
    }
    let body = body::whole_response(&response.into()).await?;
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

/// What the shard is told of an attempt.
fn completion(
    dispatch: &Dispatch,
    received: &std::result::Result<Received, Lost>,
) -> Result<ShardRequest> {
    let complete = |reply| {
        ToShard::Complete(Completion {
            operation: dispatch.operation.clone(),
            attempt: dispatch.attempt,
            reply,
        })
    };
    match received {
        Ok(received) => report(received, complete),
        Err(_) => ShardRequest::message(&complete(Reply::Lost)),
    }
}

/// Reports a reply, and with it the answer if it can be stored. An answer that cannot be passed on
/// must not take the proof with it.
fn report(received: &Received, message: impl Fn(Reply) -> ToShard) -> Result<ShardRequest> {
    let reply = |storable| {
        Ok::<_, Error>(Reply::Answered {
            status: received.status,
            outcome: outcome(received)?,
            recorded: recorded(received)?,
            storable,
        })
    };
    let whole = ShardRequest::message(&message(reply(true)?));
    match whole.and_then(|request| with_answer(request, received)) {
        Ok(Some(request)) => return Ok(request),
        Ok(None) => {}
        Err(error) => worker::console_error!("an answer is not stored: {error}"),
    }
    ShardRequest::message(&message(reply(false)?))
}

/// Adds the answer; `None` if it is too large for a row.
fn with_answer(mut request: ShardRequest, received: &Received) -> Result<Option<ShardRequest>> {
    let kept = headers::for_replay(&received.headers)?;
    let headers: usize = kept
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if headers as u64 + u64::from(received.body.byte_length()) > LARGEST_STORED_BYTES {
        return Ok(None);
    }
    for (name, value) in kept {
        request.headers.set(&name, &value)?;
    }
    request.body = (received.body.byte_length() > 0).then(|| received.body.clone());
    Ok(Some(request))
}

/// The outcome that the origin states, in the contract's word for it.
fn outcome(received: &Received) -> Result<Option<String>> {
    let value = received.headers.get(header::IDEMPOTENCY_OUTCOME)?;
    // A word that the contract does not know proves nothing, and is not the same as none.
    Ok(value.map(|value| {
        Outcome::parse(&value)
            .unwrap_or(Outcome::Unknown)
            .to_string()
    }))
}

/// What the answer is about, if the ledger says so (rule L5).
fn recorded(received: &Received) -> Result<Option<Fingerprint>> {
    let value = received.headers.get(header::FINGERPRINT)?;
    Ok(value.and_then(|value| Fingerprint::parse(&value)))
}

/// Tells the shard until it has heard; `None` if it never does.
async fn tell(
    env: &Env,
    config: &Config,
    dispatch: &Dispatch,
    message: &ShardRequest,
) -> Result<Option<Response>> {
    let operation = Identity::parse(&dispatch.operation)
        .ok_or_else(|| Error::from("a dispatch without an operation"))?;
    let began_ms = Date::now().as_millis();
    let mut pauses = TELL_AGAIN_MS.iter();
    let mut pause_ms = 0;
    while Date::now().as_millis() - began_ms < HARD_TIMEOUT_MS {
        let stub = shards::stub(env, config, &operation)?;
        let told = within(STORE_DEADLINE_MS, stub.fetch_with_request(message.build()?)).await;
        match told {
            Some(Ok(response)) if response.status_code() == 200 => return Ok(Some(response)),
            Some(Ok(response)) => {
                worker::console_error!("completion: status {}", response.status_code());
            }
            Some(Err(error)) => worker::console_error!("completion: {error}"),
            None => {
                worker::console_error!("completion: no answer within {STORE_DEADLINE_MS} ms");
            }
        }
        pause_ms = *pauses.next().unwrap_or(&pause_ms);
        Delay::from(Duration::from_millis(pause_ms)).await;
    }
    worker::console_error!(
        "{} attempt {}: its shard could not be told",
        dispatch.operation,
        dispatch.attempt
    );
    Ok(None)
}
