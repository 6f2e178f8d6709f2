//! Where a client's request goes: to the gate's own endpoints, to a shard, or through.

use std::rc::Rc;

use oncegate_core::policy::{Match, OWN_PREFIX, Route};
use oncegate_core::problem::{Code, Problem};
use oncegate_core::switch::Mode;
use wasm_bindgen::JsValue;
use worker::{Context, Date, Env, Request, Response, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::protect::{self, Checked};
use crate::{answer, cors, endpoints, observe, proxy, shards, switch, tally};

/// When what the switch turns away may come again: it is set for minutes, not for seconds.
const REFUSED_RETRY_MS: u64 = 30_000;

pub(crate) async fn handle(
    request: Request,
    env: &Env,
    config: &Rc<Config>,
    context: &Context,
) -> Result<Response> {
    let Some(arrived) = Arrived::read(request)? else {
        return answer::problem(&Problem::new(Code::MethodUnsupported));
    };
    if arrived.has_forbidden_body() {
        let reason = "the platform forwards no body with this method";
        return answer::problem(&Problem::new(Code::MethodUnsupported).because(reason));
    }
    let page = cors::allowed(&arrived, config)?;
    if let Some(page) = &page
        && let Some(asked) = cors::preflight(&arrived)?
    {
        let switch = switch::current(env, config, context).await;
        if let Some(response) = cors::answer(&arrived, page, &asked, config, &switch)? {
            return Ok(response);
        }
    }
    let answered = answer(&arrived, env, config, context).await?;
    tally::tell_later(env, config, context);
    match (answered, page) {
        (Answered::Gate(response), Some(page)) => cors::open(response, &page),
        (Answered::Gate(response) | Answered::Origin(response), _) => Ok(response),
    }
}

/// Who answers for a response.
enum Answered {
    Gate(Response),
    Origin(Response),
}

impl Answered {
    fn response(&self) -> &Response {
        match self {
            Self::Gate(response) | Self::Origin(response) => response,
        }
    }
}

async fn answer(
    arrived: &Arrived,
    env: &Env,
    config: &Rc<Config>,
    context: &Context,
) -> Result<Answered> {
    if arrived.raw_path.starts_with(OWN_PREFIX) {
        return endpoints::handle(arrived, env, config)
            .await
            .map(Answered::Gate);
    }
    let began_ms = Date::now().as_millis();
    let (method, overridden) = (arrived.method.as_ref(), arrived.is_overridden());
    let (answered, route) = match config.policy.find(method, &arrived.raw_path, overridden) {
        Match::NotCanonical => {
            let answered = answer::problem(&Problem::new(Code::PathNotCanonical));
            (answered.map(Answered::Gate)?, "")
        }
        Match::Protected(route) => {
            let switch = switch::current(env, config, context).await;
            let answered = match switch.mode(&route.name) {
                Mode::Enforce => protect(arrived, route, env, config).await?,
                Mode::Observe => {
                    let passed = observe::pass(arrived, route, env, config, context).await;
                    return passed.map(Answered::Origin);
                }
                Mode::Refuse => refused().map(Answered::Gate)?,
            };
            (answered, &*route.name)
        }
        Match::Unprotected => {
            let body = arrived.request.inner().body();
            return pass(arrived, body.map(Into::into), env, config).await;
        }
    };
    tally::decided(route, "enforce", answered.response(), began_ms)?;
    Ok(answered)
}

/// What the switch turns away.
fn refused() -> Result<Response> {
    let reason = "an operator has closed this route for now";
    let problem = Problem::new(Code::GateUnavailable).because(reason);
    answer::problem(&problem.retry_after(REFUSED_RETRY_MS))
}

async fn protect(arrived: &Arrived, route: &Route, env: &Env, config: &Config) -> Result<Answered> {
    match protect::check(arrived, route, config).await? {
        Checked::Claim(operation, request) => shards::call(env, config, &operation, &request)
            .await
            .map(Answered::Gate),
        Checked::Problem(problem) => answer::problem(&problem).map(Answered::Gate),
        Checked::Unkeyed(body) => pass(arrived, body.map(Into::into), env, config).await,
    }
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
