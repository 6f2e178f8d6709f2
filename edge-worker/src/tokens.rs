//! One-time tokens: keys that the gate issues (rule K2, section 7).
//!
//! Invariant: issuing touches no object and writes nothing, however often it is asked for. What a token
//! says is read here, beside the caller's other credentials; whether it has expired is its shard's to
//! say, which has its record ([`shard::token`](crate::shard)).

use oncegate_core::key::Key;
use oncegate_core::policy::Route;
use oncegate_core::problem::{Code, Problem};
use oncegate_core::signature::Secrets;
use oncegate_core::token::{Holder, Lifetime, Token};
use serde::Serialize;
use worker::{Error, Response, ResponseBuilder, Result};

use crate::arrived::Arrived;
use crate::caller::Caller;
use crate::config::Config;
use crate::platform::now_ms;
use crate::refusal::Refusal;
use crate::web_crypto;

/// What is answered to who asks for a token.
#[derive(Serialize)]
struct Issued<'a> {
    token: String,
    route: &'a str,
    /// By the gate's clock.
    expires_at: u64,
    /// For who cannot trust their own.
    expires_in_ms: u64,
}

/// Issues a token.
pub(crate) async fn issue(arrived: &Arrived, config: &Config) -> Result<Response> {
    match issued(arrived, config).await {
        Ok(response) => Ok(response),
        Err(refusal) => refusal.answer(),
    }
}

async fn issued(arrived: &Arrived, config: &Config) -> Result<Response, Refusal> {
    let (route, ttl_ms) = asked_route(arrived, config)?;
    let caller = Caller::without_bind(arrived, route, config).await?;
    let lifetime = Lifetime {
        issued_ms: now_ms(),
        ttl_ms,
        key_ttl_ms: route.terms.key_ttl_ms,
    };
    let drawn = web_crypto::random_bytes()?;
    let issued = Issued {
        token: Token::issue(secrets(config)?, lifetime, &holder(&caller, route), drawn),
        route: &route.name,
        expires_at: lifetime.expires_ms(),
        expires_in_ms: ttl_ms,
    };
    let answer = ResponseBuilder::new().with_header("cache-control", "no-store")?;
    Ok(answer.from_json(&issued)?)
}

/// The route, named if several take tokens, and how long its tokens may wait for their first use.
fn asked_route<'a>(arrived: &Arrived, config: &'a Config) -> Result<(&'a Route, u64), Problem> {
    let taking = |route: &'a Route| Some((route, route.token_ttl_ms?));
    let mut all = config.policy.routes().iter().filter_map(taking);
    let Some(first) = all.next() else {
        return Err(Problem::new(Code::EndpointUnknown));
    };
    match arrived.asked_route(&config.policy) {
        Some(route) => {
            let reason = "the route takes no tokens";
            taking(route).ok_or_else(|| Problem::new(Code::RequestInvalid).because(reason))
        }
        None if arrived.query("route").is_some() || all.next().is_some() => {
            Err(Problem::new(Code::RouteUnknown))
        }
        None => Ok(first),
    }
}

/// The token that a key is; on a route that takes tokens it must be one, and the caller's.
pub(crate) fn read(
    key: &Key,
    caller: &Caller,
    route: &Route,
    config: &Config,
) -> Result<Option<Lifetime>, Refusal> {
    if route.token_ttl_ms.is_none() {
        return Ok(None);
    }
    let token = Token::parse(key.as_str(), secrets(config)?, &holder(caller, route));
    let token = token.map_err(|error| Problem::new(Code::TokenInvalid).because(error))?;
    Ok(Some(token.lifetime()))
}

fn holder<'a>(caller: &'a Caller, route: &'a Route) -> Holder<'a> {
    Holder {
        scope: &caller.scope,
        route: &route.name,
        principal: caller.principal,
    }
}

/// Checked at the start: they are there if a route takes tokens.
fn secrets(config: &Config) -> Result<&Secrets> {
    let secrets = config.token_secrets.as_ref();
    secrets.ok_or_else(|| Error::from("TOKEN_SECRETS is not set"))
}
