//! The gate's own endpoints, below `/.oncegate/v1` (section 7).

use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::key::Key;
use oncegate_core::problem::{Code, Problem};
use worker::{Env, Method, Request, Response, Result};

use crate::answer;
use crate::config::Config;
use crate::gate;
use crate::message::{Look, ToShard};

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
        _ => Response::error(
            "There is no such endpoint; docs/protocol.md lists them.",
            404,
        ),
    }
}

/// What became of a key.
async fn look(request: &Request, env: &Env, config: &Config) -> Result<Response> {
    let Some(value) = request.headers().get(header::IDEMPOTENCY_KEY)? else {
        return answer::problem(&Problem::new(Code::KeyMissing));
    };
    let key = match Key::parse(&value) {
        Ok(key) => key,
        Err(error) => return answer::problem(&Problem::new(Code::KeyInvalid).because(error)),
    };
    let scope = gate::scope(request)?;
    let operation = Identity::of_key(config.identity_secret.as_bytes(), &scope, &key);
    let message = ToShard::Look(Look {
        operation: operation.reference(),
    });
    gate::ask(env, config, &operation, &message).await
}
