//! Where a client's request goes: to the gate's own endpoints, to a shard, or through.

use oncegate_core::policy::{Match, OWN_PREFIX};
use oncegate_core::problem::{Code, Problem};
use wasm_bindgen::JsValue;
use worker::{Env, Request, Response, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::protect::{self, Checked};
use crate::{answer, cors, endpoints, proxy, shards};

pub(crate) async fn handle(request: Request, env: &Env, config: &Config) -> Result<Response> {
    let Some(arrived) = Arrived::read(request)? else {
        return answer::problem(&Problem::new(Code::MethodUnsupported));
    };
    if arrived.has_forbidden_body() {
        let reason = "the platform forwards no body with this method";
        return answer::problem(&Problem::new(Code::MethodUnsupported).because(reason));
    }
    let page = cors::allowed(&arrived, config)?;
    if let Some(page) = &page
        && let Some(response) = cors::preflight(&arrived, page, config)?
    {
        return Ok(response);
    }
    match (answer(&arrived, env, config).await?, page) {
        (Answered::Gate(response), Some(page)) => cors::open(response, &page),
        (Answered::Gate(response) | Answered::Origin(response), _) => Ok(response),
    }
}

/// Who answers for a response.
enum Answered {
    Gate(Response),
    Origin(Response),
}

async fn answer(arrived: &Arrived, env: &Env, config: &Config) -> Result<Answered> {
    if arrived.raw_path.starts_with(OWN_PREFIX) {
        return endpoints::handle(arrived, env, config)
            .await
            .map(Answered::Gate);
    }
    let (method, overridden) = (arrived.method.as_ref(), arrived.is_overridden());
    let response = match config.policy.find(method, &arrived.raw_path, overridden) {
        Match::NotCanonical => answer::problem(&Problem::new(Code::PathNotCanonical)),
        Match::Protected(route) => match protect::check(arrived, route, config).await? {
            Checked::Claim(operation, request) => {
                shards::call(env, config, &operation, &request).await
            }
            Checked::Problem(problem) => answer::problem(&problem),
            Checked::Unkeyed(body) => {
                return pass(arrived, body.map(Into::into), env, config).await;
            }
        },
        Match::Unprotected => {
            let body = arrived.request.inner().body();
            return pass(arrived, body.map(Into::into), env, config).await;
        }
    };
    response.map(Answered::Gate)
}

async fn pass(
    arrived: &Arrived,
    body: Option<JsValue>,
    env: &Env,
    config: &Config,
) -> Result<Answered> {
    proxy::pass(arrived, body, env, config)
        .await
        .map(Answered::Origin)
}
