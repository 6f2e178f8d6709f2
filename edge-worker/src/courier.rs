//! A courier carries one attempt to the origin and brings the reply to the shard.
//!
//! It is this Worker, called by the shard through a service binding with a sealed message: it ends
//! neither when the client leaves nor when the shard is replaced. Decisions are the shard's: the answer leaves only after the
//! shard has written what it proves (rule I2).

use std::time::Duration;

use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::policy::HARD_TIMEOUT_MS;
use oncegate_core::policy::STORE_DEADLINE_MS;
use oncegate_core::problem::{Code, Problem};
use oncegate_core::signature::Claims;
use worker::{
    Date, Delay, Env, Error, Fetch, Headers, Method, Request, RequestInit, RequestRedirect,
    Response, ResponseBuilder, Result,
};

use crate::answer::{self, Mark};
use crate::config::Config;
use crate::gate::{self, ShardRequest, within};
use crate::message::{self, Completed, Completion, Dispatch, Errand, Heard, Reply, ToShard};
use crate::{body, headers};

/// Status, headers and body of an answer that may be stored, in bytes. Rows hold 2 MB.
const LARGEST_STORED_BYTES: u32 = 1_900_000;

/// The pauses before the shard is told again, in milliseconds: a shard that is being replaced is
/// back within seconds, and until it knows, the answer must not leave.
const TELL_AGAIN_MS: [u64; 5] = [0, 100, 500, 2_000, 5_000];

/// Set on the answer to a shard if the operation was closed by another attempt.
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
    let Some(mut told) = tell(env, config, &dispatch, completion).await? else {
        // The effect may have happened; the shard finds out by itself, from the ledger.
        return answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000));
    };
    let completed: Completed = told.json().await?;
    if completed.superseded {
        return Ok(ResponseBuilder::new()
            .with_header(SUPERSEDED, "true")?
            .empty());
    }
    let mark = Mark {
        operation: &dispatch.operation,
        key_ttl_ms: dispatch.terms.key_ttl_ms,
    };
    match received {
        Ok(received) => {
            let headers = headers::towards_client(&received.headers)?;
            mark.put(&headers, completed.view.state.status())?;
            Ok(received.into_response(headers))
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
        let headers = Headers::new();
        let heard = Heard {
            operation: dispatch.operation.clone(),
            kind: dispatch.kind,
            terms: dispatch.terms,
            asked_attempt: dispatch.attempt,
            outcome: received.headers.get(header::IDEMPOTENCY_OUTCOME)?,
        };
        message::attach(&headers, &ToShard::Hear(heard))?;
        tell(env, config, &dispatch, ShardRequest::message(headers)).await?;
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
        let body = body::whole_request(request.inner()).await?;
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
            worker::console_warn!(
                "courier: {} attempt {}: {error}",
                dispatch.operation,
                dispatch.attempt
            );
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
    headers.set(
        header::SIGNATURE,
        &config
            .signing_secrets
            .sign(Date::now().as_millis(), &claims),
    )?;
    Ok(headers)
}

/// What the shard is told: the reply, and with it the answer if it can be stored.
fn completion(
    dispatch: &Dispatch,
    received: &std::result::Result<Received, Lost>,
) -> Result<ShardRequest> {
    let headers = Headers::new();
    let mut body = None;
    let reply = match received {
        Ok(received) => {
            let kept = headers::for_replay(&received.headers)?;
            let kept_bytes: usize = kept
                .iter()
                .map(|(name, value)| name.len() + value.len())
                .sum();
            let bytes = u32::try_from(kept_bytes).unwrap_or(u32::MAX);
            let bytes = bytes.saturating_add(received.body.byte_length());
            // A ledger that knows the key under another fingerprint says so; its answer is not ours.
            let recorded = received.headers.get(header::FINGERPRINT)?;
            let ours = recorded.is_none_or(|recorded| recorded == dispatch.fingerprint.to_string());
            let storable = ours && bytes <= LARGEST_STORED_BYTES;
            if storable {
                for (name, value) in kept {
                    headers.set(&name, &value)?;
                }
                body = (received.body.byte_length() > 0).then(|| received.body.clone());
            }
            let outcome = received.headers.get(header::IDEMPOTENCY_OUTCOME)?;
            Reply::Answered {
                status: received.status,
                outcome,
                storable,
            }
        }
        Err(_) => Reply::Lost,
    };
    let completion = Completion {
        operation: dispatch.operation.clone(),
        attempt: dispatch.attempt,
        reply,
    };
    message::attach(&headers, &ToShard::Complete(completion))?;
    Ok(ShardRequest {
        path_and_query: "/".to_owned(),
        method: Method::Post,
        headers,
        body,
    })
}

/// Tells the shard until it has heard; `None` if it does not hear.
async fn tell(
    env: &Env,
    config: &Config,
    dispatch: &Dispatch,
    completion: ShardRequest,
) -> Result<Option<Response>> {
    let operation = Identity::parse(&dispatch.operation)
        .ok_or_else(|| Error::from("a dispatch without an operation"))?;
    for pause_ms in TELL_AGAIN_MS {
        if pause_ms > 0 {
            Delay::from(Duration::from_millis(pause_ms)).await;
        }
        let stub = gate::stub(env, config, &operation)?;
        let request = completion.build("shard")?;
        match within(STORE_DEADLINE_MS, stub.fetch_with_request(request)).await {
            Some(Ok(response)) if response.status_code() == 200 => return Ok(Some(response)),
            Some(Ok(response)) => {
                worker::console_error!("completion: status {}", response.status_code());
            }
            Some(Err(error)) => worker::console_error!("completion: {error}"),
            None => worker::console_error!("completion: no answer within {STORE_DEADLINE_MS} ms"),
        }
    }
    Ok(None)
}

impl Received {
    fn into_response(self, headers: Headers) -> Response {
        let response = ResponseBuilder::new()
            .with_status(self.status)
            .with_headers(headers);
        match self.body.byte_length() {
            0 => response.empty(),
            _ => response.fixed(js_sys::Uint8Array::new(&self.body).to_vec()),
        }
    }
}
