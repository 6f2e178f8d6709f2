//! The checks before a claim (rules K1 to K6, in the order of K4).
//!
//! Nothing is recorded before the whole body has arrived.

use js_sys::{ArrayBuffer, Uint8Array};
use oncegate_core::fingerprint::{Fingerprint, Parts};
use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::key::Key;
use oncegate_core::policy::{Asked, Route};
use oncegate_core::problem::{Code, Problem};
use worker::Result;

use crate::arrived::Arrived;
use crate::body::{self, BodyFault};
use crate::config::Config;
use crate::message::{self, Claim, ToShard};
use crate::shards::ShardRequest;
use crate::{breaker, headers};

/// What the checks say.
pub(crate) enum Checked {
    /// The shard of this operation decides.
    Claim(Identity, ShardRequest),
    Problem(Problem),
    /// The route's key is optional, and there is none. The body was read, so that one that was not
    /// sent whole is not executed here either.
    Unkeyed(Option<ArrayBuffer>),
}

/// What any origin reads, with room for what the gate and proxies add. One that refuses the header
/// fields of a request says nothing about its key, and would say so every time.
const MOST_FIELDS: usize = 64;
const LARGEST_FIELDS_BYTES: usize = 12 * 1024;

/// How many requests may wait for one operation.
const MAX_WAITERS: usize = 1_000;

pub(crate) async fn check(arrived: &Arrived, route: &Route, config: &Config) -> Result<Checked> {
    if headers::exceed(arrived.request.headers(), MOST_FIELDS, LARGEST_FIELDS_BYTES) {
        let limit = format!("the limits are {MOST_FIELDS} fields and {LARGEST_FIELDS_BYTES} bytes");
        return problem(Problem::new(Code::HeadersTooLarge).because(limit));
    }
    let body = match body::whole_request(&arrived.request, route.max_body_bytes).await {
        Ok(body) => body,
        Err(BodyFault::Incomplete) => return problem(Problem::new(Code::BodyIncomplete)),
        Err(BodyFault::TooLarge) => {
            let limit = format!("the limit is {} bytes", route.max_body_bytes);
            return problem(Problem::new(Code::RequestTooLarge).because(limit));
        }
    };
    let content_type = arrived.header("content-type")?;
    let read = route
        .reads_body(&content_type)
        .then(|| Uint8Array::new(&body).to_vec());
    let header = arrived.request.headers().get(header::IDEMPOTENCY_KEY)?;
    let asked = Asked {
        header: header.as_deref(),
        path: &arrived.raw_path,
        query: arrived.url.query().unwrap_or_default(),
        content_type: &content_type,
        body: read.as_deref().unwrap_or_default(),
    };
    let (key, kind) = match route.key(&asked) {
        Ok(Some(key)) => key,
        Ok(None) => return Ok(Checked::Unkeyed(not_empty(body))),
        Err(fault) => return problem(Problem::from(&fault)),
    };
    let said = read.and_then(|read| route.body_digest(&content_type, &read));
    let body_sha256 = match said {
        Some(digest) => digest,
        None => body::sha256(&body).await?,
    };
    let operation = identity(arrived, config, route, &key);
    let claim = Claim {
        scope: scope(arrived).to_owned(),
        max_waiters: MAX_WAITERS,
        operation: operation.reference(),
        key: key.to_header(),
        kind,
        principal: None,
        fingerprint: fingerprint(arrived, &content_type, body_sha256)?,
        unreachable: breaker::is_unreachable(config.origins.of_path(arrived.url.path())).await,
        terms: route.terms.clone(),
        wait_ms: route.wait_ms,
        client_timeout_ms: route.client_timeout_ms,
    };
    let headers = headers::towards_origin(arrived, true)?;
    message::attach(&headers, &ToShard::Claim(claim))?;
    let request = ShardRequest {
        path_and_query: arrived.path_and_query.clone(),
        method: arrived.method.clone(),
        headers,
        body: not_empty(body),
    };
    Ok(Checked::Claim(operation, request))
}

/// The identity of a key on a route: a client's key is the same on every route, a generated one is not.
pub(crate) fn identity(arrived: &Arrived, config: &Config, route: &Route, key: &Key) -> Identity {
    let secret = config.identity_secret.as_bytes();
    let scope = scope(arrived);
    match route.generates_key() {
        true => Identity::of_generated(secret, scope, &route.name, key),
        false => Identity::of_key(secret, scope, key),
    }
}

/// The tenant: constant for the life of an operation, never the user.
pub(crate) fn scope(arrived: &Arrived) -> &str {
    arrived.url.authority()
}

fn fingerprint(
    arrived: &Arrived,
    content_type: &str,
    body_sha256: [u8; 32],
) -> Result<Fingerprint> {
    Ok(Fingerprint::of(&Parts {
        method: arrived.method.as_ref(),
        path_and_query: &arrived.path_and_query,
        content_type,
        content_encoding: &arrived.header("content-encoding")?,
        body_sha256,
    }))
}

fn problem(problem: Problem) -> Result<Checked> {
    Ok(Checked::Problem(problem))
}

fn not_empty(body: ArrayBuffer) -> Option<ArrayBuffer> {
    (body.byte_length() > 0).then_some(body)
}
