//! A client's request, from its arrival to the shard and back (rules K1 to K6, in the order of K4).
//!
//! Nothing is recorded before the whole body has arrived. A shard that does not answer is asked
//! again once: a claim is the same however often it is made.

use std::time::Duration;

use futures_util::future::{Either, select};
use js_sys::ArrayBuffer;
use oncegate_core::fingerprint::{Fingerprint, Parts};
use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::policy::{METHOD_OVERRIDE_HEADERS, Match, Route, STORE_DEADLINE_MS};
use oncegate_core::problem::{Code, Problem};
use worker::{Delay, Env, Error, Headers, Method, Request, RequestInit, Response, Result, Stub};

use crate::config::Config;
use crate::message::{self, Claim, ToShard};
use crate::{answer, body, endpoints, headers, proxy};

/// How often a shard that fails is asked.
const TRIES: u32 = 2;

pub(crate) async fn handle(request: Request, env: &Env, config: &Config) -> Result<Response> {
    let url = request.inner().url();
    let path_and_query = path_and_query(&url);
    let path = path_and_query.split('?').next().unwrap_or_default();
    if path.starts_with(endpoints::PREFIX) {
        return endpoints::handle(&request, path, env, config).await;
    }
    let mut overrides = METHOD_OVERRIDE_HEADERS.iter();
    let overridden = overrides.any(|name| request.headers().has(name).unwrap_or(true));
    match config
        .policy
        .find(request.method().as_ref(), path, overridden)
    {
        Match::NotCanonical => answer::problem(&Problem::new(Code::PathNotCanonical)),
        Match::Protected(route) => match protect(&request, path_and_query, route, config).await? {
            Checked::Claim(operation, shard_request) => {
                call(env, config, &operation, &shard_request).await
            }
            Checked::Problem(problem) => answer::problem(&problem),
            Checked::Unkeyed => proxy::pass(&request, path_and_query, config).await,
        },
        Match::Unprotected => proxy::pass(&request, path_and_query, config).await,
    }
}

/// The tenant: constant for the life of an operation, never the user.
pub(crate) fn scope(request: &Request) -> Result<String> {
    Ok(request.url()?.authority().to_owned())
}

/// Asks the shard of `operation`.
pub(crate) async fn ask(
    env: &Env,
    config: &Config,
    operation: &Identity,
    question: &ToShard,
) -> Result<Response> {
    let headers = Headers::new();
    message::attach(&headers, question)?;
    call(env, config, operation, &ShardRequest::message(headers)).await
}

enum Checked {
    Claim(Identity, ShardRequest),
    Problem(Problem),
    /// The route's key is optional, and there is none.
    Unkeyed,
}

/// A request to a shard, which can be made more than once.
pub(crate) struct ShardRequest {
    pub(crate) path_and_query: String,
    pub(crate) method: Method,
    pub(crate) headers: Headers,
    pub(crate) body: Option<ArrayBuffer>,
}

impl ShardRequest {
    /// A message alone.
    pub(crate) fn message(headers: Headers) -> Self {
        Self {
            path_and_query: "/".to_owned(),
            method: Method::Post,
            headers,
            body: None,
        }
    }

    pub(crate) fn build(&self, host: &str) -> Result<Request> {
        let mut init = RequestInit::new();
        init.with_method(self.method.clone())
            .with_headers(self.headers.clone())
            .with_body(self.body.clone().map(Into::into));
        Request::new_with_init(&format!("https://{host}{}", self.path_and_query), &init)
    }
}

async fn protect(
    request: &Request,
    path_and_query: &str,
    route: &Route,
    config: &Config,
) -> Result<Checked> {
    let too_large = || {
        let reason = format!("the limit is {} bytes", route.max_body_bytes);
        Ok(Checked::Problem(
            Problem::new(Code::RequestTooLarge).because(reason),
        ))
    };
    let announced = request.headers().get("content-length")?;
    if announced
        .and_then(|length| length.parse().ok())
        .is_some_and(|length: u64| length > route.max_body_bytes)
    {
        return too_large();
    }
    let key = match (
        request.headers().get(header::IDEMPOTENCY_KEY)?,
        route.key_required,
    ) {
        (Some(value), _) => match Key::parse(&value) {
            Ok(key) => key,
            Err(error) => {
                return Ok(Checked::Problem(
                    Problem::new(Code::KeyInvalid).because(error),
                ));
            }
        },
        (None, true) => return Ok(Checked::Problem(Problem::new(Code::KeyMissing))),
        (None, false) => return Ok(Checked::Unkeyed),
    };
    let Ok(body) = body::whole_request(request.inner()).await else {
        return Ok(Checked::Problem(Problem::new(Code::BodyIncomplete)));
    };
    if u64::from(body.byte_length()) > route.max_body_bytes {
        return too_large();
    }
    let operation = Identity::of_key(config.identity_secret.as_bytes(), &scope(request)?, &key);
    let claim = Claim {
        operation: operation.reference(),
        key: key.to_header(),
        kind: KeyKind::Client,
        fingerprint: fingerprint(request, path_and_query, &body).await?,
        terms: route.terms,
        wait_ms: route.wait_ms,
        client_timeout_ms: route.client_timeout_ms,
    };
    let headers = headers::towards_origin(request.headers(), &request.url()?, true)?;
    message::attach(&headers, &ToShard::Claim(claim))?;
    let shard_request = ShardRequest {
        path_and_query: path_and_query.to_owned(),
        method: request.method(),
        headers,
        body: (body.byte_length() > 0).then_some(body),
    };
    Ok(Checked::Claim(operation, shard_request))
}

async fn fingerprint(
    request: &Request,
    path_and_query: &str,
    body: &ArrayBuffer,
) -> Result<Fingerprint> {
    let field = |name| Ok::<_, Error>(request.headers().get(name)?.unwrap_or_default());
    Ok(Fingerprint::of(&Parts {
        method: request.method().as_ref(),
        path_and_query,
        content_type: &field("content-type")?,
        content_encoding: &field("content-encoding")?,
        body_sha256: body::sha256(body).await?,
    }))
}

/// Calls a shard, with a deadline. Whatever fails here says nothing about the operation.
async fn call(
    env: &Env,
    config: &Config,
    operation: &Identity,
    request: &ShardRequest,
) -> Result<Response> {
    for _ in 0..TRIES {
        // A stub is of no use after an error: each try has its own.
        let stub = stub(env, config, operation)?;
        match within(
            STORE_DEADLINE_MS,
            stub.fetch_with_request(request.build("shard")?),
        )
        .await
        {
            // What the client gets of a shard's answer is the client's: the message is ours.
            Some(Ok(response)) if !is_fault(&response) => return Ok(response),
            Some(Ok(response)) => {
                worker::console_error!("shard: status {}", response.status_code());
            }
            Some(Err(error)) => worker::console_error!("shard: {error}"),
            None => {
                worker::console_error!("shard: no answer within {STORE_DEADLINE_MS} ms");
                break;
            }
        }
    }
    answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))
}

/// A shard marks each of its answers with the operation; a runtime's error page has no mark.
fn is_fault(response: &Response) -> bool {
    !response.headers().has(header::OPERATION).unwrap_or(false)
}

/// The object that holds `operation`.
pub(crate) fn stub(env: &Env, config: &Config, operation: &Identity) -> Result<Stub> {
    let shards = env.durable_object("SHARDS")?;
    let name = format!("shard-{}", operation.shard());
    match &config.location_hint {
        Some(hint) => shards.get_by_name_with_location_hint(&name, hint),
        None => shards.get_by_name(&name),
    }
}

/// Waits for `future` at most `limit_ms`.
pub(crate) async fn within<T>(limit_ms: u64, future: impl Future<Output = T>) -> Option<T> {
    let delay = Delay::from(Duration::from_millis(limit_ms));
    match select(Box::pin(future), delay).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

/// What follows the authority in an absolute URL, exactly as received.
pub(crate) fn path_and_query(url: &str) -> &str {
    let after_scheme = url.find("://").map_or(url, |index| &url[index + 3..]);
    let path = after_scheme
        .find('/')
        .map_or("/", |index| &after_scheme[index..]);
    path.split('#').next().unwrap_or(path)
}
