//! The gate's own endpoints, below `/.oncegate/v1` (section 7).

use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::problem::{Code, Problem};
use worker::{Env, Method, Request, Response, Result};

use crate::answer;
use crate::config::Config;
use crate::gate;
use crate::message::{Cancel, Look, ToShard};

/// Everything below this prefix belongs to the gate and never reaches the origin.
pub(crate) const PREFIX: &str = "/.oncegate/";

pub(crate) async fn handle(
    request: &Request,
    path: &str,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    match (request.method(), path) {
        (Method::Get, "/.oncegate/v1/health") => {
            Response::from_json(&serde_json::json!({ "status": "ok" }))
        }
        (Method::Get, "/.oncegate/v1/operations") => look(request, env, config).await,
        (Method::Post, "/.oncegate/v1/operations/cancel") => cancel(request, env, config).await,
        _ => Response::error(
            "There is no such endpoint; docs/protocol.md lists them.",
            404,
        ),
    }
}

/// What became of a key.
async fn look(request: &Request, env: &Env, config: &Config) -> Result<Response> {
    let key = match key(request)? {
        Ok(key) => key,
        Err(problem) => return answer::problem(&problem),
    };
    let operation = identity(request, config, &key)?;
    let look = Look {
        operation: operation.reference(),
    };
    gate::ask(env, config, &operation, &ToShard::Look(look)).await
}

/// Makes a key dead, unless its operation was executed.
async fn cancel(request: &Request, env: &Env, config: &Config) -> Result<Response> {
    let key = match key(request)? {
        Ok(key) => key,
        Err(problem) => return answer::problem(&problem),
    };
    let url = request.url()?;
    let named = url.query_pairs().find(|(name, _)| name == "route");
    let Some(route) = config
        .policy
        .route(named.as_ref().map(|(_, name)| name.as_ref()))
    else {
        return answer::problem(&Problem::new(Code::RouteUnknown));
    };
    let operation = identity(request, config, &key)?;
    let cancel = Cancel {
        operation: operation.reference(),
        key: key.to_header(),
        kind: KeyKind::Client,
        terms: route.terms,
        client_timeout_ms: route.client_timeout_ms,
    };
    gate::ask(env, config, &operation, &ToShard::Cancel(cancel)).await
}

fn key(request: &Request) -> Result<std::result::Result<Key, Problem>> {
    let Some(value) = request.headers().get(header::IDEMPOTENCY_KEY)? else {
        return Ok(Err(Problem::new(Code::KeyMissing)));
    };
    Ok(Key::parse(&value).map_err(|error| Problem::new(Code::KeyInvalid).because(error)))
}

fn identity(request: &Request, config: &Config, key: &Key) -> Result<Identity> {
    let scope = gate::scope(request)?;
    Ok(Identity::of_key(
        config.identity_secret.as_bytes(),
        &scope,
        key,
    ))
}
