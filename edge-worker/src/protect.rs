//! The checks before a claim (rules K1 to K6, in the order of K4).
//!
//! Nothing is recorded before the whole body has arrived.

use js_sys::ArrayBuffer;
use oncegate_core::fingerprint::{Fingerprint, Parts};
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::policy::overrides::{body_overrides, is_in_other_charset, may_override};
use oncegate_core::policy::{Asked, Route};
use oncegate_core::problem::{Code, Problem};
use oncegate_core::recent::{self, Question};
use oncegate_core::sealing::SealingSecrets;
use oncegate_core::token::Lifetime;
use oncegate_core::webhook::Webhook;
use serde::{Deserialize, Serialize};
use worker::Result;

use crate::arrived::Arrived;
use crate::body::{self, BodyFault};
use crate::caller::Caller;
use crate::config::Config;
use crate::fields::Fields;
use crate::message::{Claim, ToShard};
use crate::refusal::Refusal;
use crate::shards::ShardRequest;
use crate::{breaker, headers, platform, sealing, tokens, webhook};

/// What the checks say.
pub(crate) enum Checked {
    /// The shard of this operation decides.
    Claim(Box<Claiming>),
    /// The route's key is optional, and there is none. The body was read, so that one that was not
    /// sent whole is not executed here either.
    Unkeyed(Option<ArrayBuffer>),
}

/// What any origin reads, with room for what the gate and proxies add. One that refuses the header
/// fields of a request says nothing about its key, and would say so every time.
const MOST_FIELDS: usize = 64;
const LARGEST_FIELDS_BYTES: usize = 12 * 1024;

pub(crate) async fn check(
    arrived: &Arrived,
    route: &Route,
    config: &Config,
) -> Result<Checked, Refusal> {
    let body = whole_body(arrived, route).await?;
    let content_type = arrived.header("content-type");
    let looks = config
        .policy
        .looks_into(route, &arrived.raw_path, content_type);
    let read = (looks || route.reads_body(content_type)).then(|| platform::bytes(&body));
    let bytes = read.as_deref().unwrap_or_default();
    if looks {
        refuse_override(arrived, content_type, bytes)?;
    }
    let Some((key, kind)) = key(arrived, route, content_type, bytes, config).await? else {
        return Ok(Checked::Unkeyed(not_empty(body)));
    };
    let caller = Caller::of(arrived, route, config).await?;
    let token = tokens::read(&key, &caller, route, config)?;
    let fingerprint = match route.webhook {
        Some(_) => Webhook::fingerprint(),
        None => {
            let said = read.and_then(|read| route.body_digest(content_type, &read));
            let body_sha256 = match said {
                Some(digest) => digest,
                None => body::sha256(&body).await?,
            };
            fingerprint(arrived, content_type, body_sha256)
        }
    };
    let asked = Question {
        operation: caller.identity(config, route, &key),
        fingerprint,
        principal: caller.principal,
    };
    Ok(Checked::Claim(Box::new(Claiming {
        asked,
        scope: caller.scope,
        key,
        kind,
        token,
        body,
        uses_memory: !recent::bypasses(arrived.header("cache-control")),
    })))
}

/// A request that claims an operation.
pub(crate) struct Claiming {
    pub(crate) asked: Question,
    pub(crate) scope: String,
    pub(crate) key: Key,
    pub(crate) kind: KeyKind,
    pub(crate) token: Option<Lifetime>,
    pub(crate) body: ArrayBuffer,
    /// Whether an answer of a moment ago will do, and this one may be given to who asks next.
    pub(crate) uses_memory: bool,
}

/// What the origin gets, without its body.
#[derive(Deserialize, Serialize)]
pub(crate) struct Request {
    method: String,
    path_and_query: String,
    fields: Fields,
}

impl Request {
    pub(crate) fn of(arrived: &Arrived, config: &Config) -> Result<Self> {
        Ok(Self {
            method: arrived.method.as_ref().to_owned(),
            path_and_query: arrived.path_and_query.clone(),
            fields: headers::towards_origin(arrived, true, config)?,
        })
    }
}

impl Request {
    /// A request that nobody has sent: the gate makes it, with a body of JSON.
    pub(crate) fn made(method: &str, path: &str, config: &Config) -> Result<Self> {
        Ok(Self {
            method: method.to_owned(),
            path_and_query: path.to_owned(),
            fields: headers::of_the_gate(config)?,
        })
    }
}

impl Claiming {
    /// What its shard is told. `remembers`: the gate would remember a replay.
    pub(crate) async fn claim(&self, remembers: bool, route: &Route, config: &Config) -> Claim {
        Claim {
            scope: self.scope.clone(),
            max_waiters: route.max_waiters as usize,
            operation: self.asked.operation.reference(),
            key: self.key.to_header(),
            kind: self.kind,
            token: self.token,
            principal: self.asked.principal,
            fingerprint: self.asked.fingerprint,
            unreachable: is_unreachable(route, config).await,
            terms: route.terms.clone(),
            body_bytes: self.body.byte_length(),
            wait_ms: route.wait_ms,
            client_timeout_ms: route.client_timeout_ms,
            remembers,
        }
    }

    /// The same with what the origin gets.
    pub(crate) async fn request(
        &self,
        request: Request,
        remembers: bool,
        route: &Route,
        config: &Config,
    ) -> Result<ShardRequest> {
        let claim = self.claim(remembers, route, config).await;
        let mut fields = request.fields;
        let secret = config.sealing_secrets.as_ref().map(SealingSecrets::first);
        let secret = secret.filter(|_| route.answers.seal && route.terms.finish);
        let body = match (not_empty(self.body.clone()), secret) {
            (Some(body), Some(secret)) => {
                Some(sealing::seal_request(secret, &claim.operation, &mut fields, &body).await?)
            }
            (body, _) => body,
        };
        Ok(ShardRequest {
            path_and_query: request.path_and_query,
            method: request.method,
            body,
            ..ShardRequest::new(&ToShard::Claim(claim), &fields)?
        })
    }
}

/// Whether a request that is not protected under its own method could ask for another one in its body
/// (rule K5).
pub(crate) fn may_hide_method(arrived: &Arrived) -> Result<bool> {
    let has_body = arrived.request.body().is_some();
    Ok(has_body && may_override(arrived.header("content-type")))
}

/// Reads the body of such a request. `route` protects its path under another method.
pub(crate) async fn check_unprotected(
    arrived: &Arrived,
    route: &Route,
) -> Result<Option<ArrayBuffer>, Refusal> {
    let content_type = arrived.header("content-type");
    let body = whole_body(arrived, route).await?;
    refuse_override(arrived, content_type, &platform::bytes(&body))?;
    Ok(not_empty(body))
}

async fn whole_body(arrived: &Arrived, route: &Route) -> Result<ArrayBuffer, Refusal> {
    if headers::exceed(&arrived.fields, MOST_FIELDS, LARGEST_FIELDS_BYTES) {
        let limit = format!("the limits are {MOST_FIELDS} fields and {LARGEST_FIELDS_BYTES} bytes");
        return Err(Problem::new(Code::HeadersTooLarge).because(limit).into());
    }
    let body = body::whole_request(arrived, route.max_body_bytes).await;
    body.map_err(|fault| {
        Refusal::from(match fault {
            BodyFault::Incomplete => Problem::new(Code::BodyIncomplete),
            BodyFault::TooLarge => {
                let limit = format!("the limit is {} bytes", route.max_body_bytes);
                Problem::new(Code::RequestTooLarge).because(limit)
            }
        })
    })
}

/// Refuses a body that asks an origin to read another method. One that is coded, or not UTF-8, cannot be read
/// here, and may be by the origin.
fn refuse_override(arrived: &Arrived, content_type: &str, body: &[u8]) -> Result<(), Refusal> {
    let is_coded = !matches!(arrived.header("content-encoding"), "" | "identity");
    let reason = match is_coded {
        true => "a field in a coded body could stand for another method",
        false if is_in_other_charset(content_type) => {
            "by its charset the form is not UTF-8, and a field in it could stand for another method; send it as UTF-8"
        }
        false if body_overrides(content_type, body) => "a field stands for another method",
        false => return Ok(()),
    };
    Err(Problem::new(Code::PathNotCanonical).because(reason).into())
}

async fn key(
    arrived: &Arrived,
    route: &Route,
    content_type: &str,
    body: &[u8],
    config: &Config,
) -> Result<Option<(Key, KeyKind)>, Refusal> {
    let asked = Asked {
        headers: &arrived.headers_of(route.key_headers()),
        path: &arrived.raw_path,
        query: arrived.url.query().unwrap_or_default(),
        content_type,
        body,
    };
    if let Some(webhook) = &route.webhook {
        let key = webhook::identity(webhook, &asked, arrived, route, config).await?;
        return Ok(Some((key, KeyKind::Generated)));
    }
    Ok(route.key(&asked).map_err(|fault| Problem::from(&fault))?)
}

async fn is_unreachable(route: &Route, config: &Config) -> bool {
    match config.origins.of_route(route) {
        Ok(origin) => breaker::is_unreachable(origin).await,
        // Checked at the start: a route has one origin.
        Err(_) => false,
    }
}

fn fingerprint(arrived: &Arrived, content_type: &str, body_sha256: [u8; 32]) -> Fingerprint {
    Fingerprint::of(&Parts {
        method: arrived.method.as_ref(),
        path_and_query: &arrived.path_and_query,
        content_type,
        content_encoding: arrived.header("content-encoding"),
        body_sha256,
    })
}

fn not_empty(body: ArrayBuffer) -> Option<ArrayBuffer> {
    (body.byte_length() > 0).then_some(body)
}
