//! Where a client's request goes: to the gate's own endpoints, to a shard, or through.

use std::rc::Rc;

use oncegate_core::policy::{Match, OWN_PREFIX, Route};
use oncegate_core::problem::{Code, Problem};
use oncegate_core::switch::Mode;
use wasm_bindgen::JsValue;
use worker::{Context, Env, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::platform::now_ms;
use crate::protect::{self, Checked, Claiming, Request};
use crate::webhook::queue;
use crate::wire::{Incoming, Response};
use crate::{
    answer, cors, endpoints, log, loops, observe, proxy, recent, sealing, shards, switch, tally,
    webhook,
};

/// When what the switch turns away may come again: it is set for minutes, not for seconds.
const REFUSED_RETRY_MS: u64 = 30_000;

pub(crate) async fn handle(
    incoming: Incoming,
    env: &Env,
    config: &Rc<Config>,
    context: &Context,
) -> Result<Response> {
    let page = cors::allowed(&incoming.fields, config);
    let answered = match arrive(incoming, page.is_some(), env, config, context).await {
        Ok(answered) => answered,
        // What fails here has told nobody anything: a client may send the same again.
        Err(error) => {
            log::error("request").detail(error).write();
            problem(Problem::new(Code::GateUnavailable).retry_after(1_000))?
        }
    };
    tally::tell_later(env, config, context);
    match (answered, page) {
        (Answered::Gate(response), Some(page)) => cors::open(&response, &page, config),
        (Answered::Gate(response) | Answered::Origin(response), _) => Ok(response),
    }
}

async fn arrive(
    incoming: Incoming,
    is_page: bool,
    env: &Env,
    config: &Rc<Config>,
    context: &Context,
) -> Result<Answered> {
    match Arrived::read(incoming)? {
        Some(arrived) => admit(&arrived, is_page, env, config, context).await,
        None => problem(Problem::new(Code::MethodUnsupported)),
    }
}

/// Who answers for a response.
pub(crate) enum Answered {
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

impl From<Answered> for Response {
    fn from(answered: Answered) -> Self {
        match answered {
            Answered::Gate(response) | Answered::Origin(response) => response,
        }
    }
}

/// Answers what is answered alike whatever the request is about.
async fn admit(
    arrived: &Arrived,
    is_page: bool,
    env: &Env,
    config: &Rc<Config>,
    context: &Context,
) -> Result<Answered> {
    if arrived.has_forbidden_body() {
        let reason = "the platform forwards no body with this method";
        return problem(Problem::new(Code::MethodUnsupported).because(reason));
    }
    if loops::is_loop(arrived, config) {
        return problem(Problem::new(Code::LoopDetected));
    }
    if is_page && let Some(asked) = cors::preflight(arrived) {
        let switch = switch::current(env, config, context).await;
        if let Some(response) = cors::answer(arrived, asked, config, &switch)? {
            return Ok(Answered::Gate(response.into()));
        }
    }
    answer(arrived, env, config, context).await
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
            .map(|response| Answered::Gate(response.into()));
    }
    let began_ms = now_ms();
    let (method, overridden) = (arrived.method.as_ref(), arrived.is_overridden());
    let found = config.policy.find(method, &arrived.raw_path, overridden);
    let route = match found {
        Match::OtherMethod(route) if protect::may_hide_method(arrived)? => route,
        Match::OtherMethod(_) | Match::Unprotected => {
            return pass(arrived, stream(arrived), env, config).await;
        }
        Match::NotCanonical(route) | Match::Protected(route) => route,
    };
    // The one place where it is asked what a route does to its requests.
    let mode = switch::current(env, config, context).await.of(route);
    let answered = match (found, mode) {
        (Match::Protected(_), Mode::Observe) => {
            let passed = observe::pass(arrived, route, env, config, context).await;
            return passed.map(Answered::Origin);
        }
        (_, Mode::Observe) => return pass(arrived, stream(arrived), env, config).await,
        (Match::OtherMethod(_), _) => return pass_other(arrived, route, env, config).await,
        (_, Mode::Refuse) => refused()?,
        (Match::Protected(_), Mode::Enforce) => protect(arrived, route, env, config).await?,
        (_, Mode::Enforce) => problem(Problem::new(Code::PathNotCanonical))?,
    };
    tally::decided(&route.name, "enforce", answered.response(), began_ms);
    match (&route.webhook, answered) {
        (Some(webhook), Answered::Gate(answer)) => {
            webhook::told(webhook, answer).map(Answered::Gate)
        }
        (_, answered) => Ok(answered),
    }
}

/// What the switch turns away.
fn refused() -> Result<Answered> {
    let reason = "an operator has closed this route for now";
    let problem = Problem::new(Code::GateUnavailable).because(reason);
    self::problem(problem.retry_after(REFUSED_RETRY_MS))
}

/// Answers a request of a protected route.
pub(crate) async fn protect(
    arrived: &Arrived,
    route: &Route,
    env: &Env,
    config: &Config,
) -> Result<Answered> {
    let answer = match protect::check(arrived, route, config).await {
        Ok(Checked::Claim(claiming)) => {
            let request = Request::of(arrived, config)?;
            match queue::takes(route, &claiming) {
                true => queue::put(&claiming, request, route, env).await?,
                false => answer_to(&claiming, request, route, env, config).await?,
            }
        }
        // What answers the route's preflights says to pages what they may read of it.
        Ok(Checked::Unkeyed(body)) => {
            let passed = pass(arrived, body.map(Into::into), env, config).await?;
            return Ok(Answered::Gate(passed.into()));
        }
        Err(refusal) => refusal.answer()?.into(),
    };
    Ok(Answered::Gate(answer::about_keys(
        answer,
        route.key_kind(),
    )?))
}

/// What the operation's shard answers, or has just answered to the same.
pub(crate) async fn answer_to(
    claiming: &Claiming,
    request: Request,
    route: &Route,
    env: &Env,
    config: &Config,
) -> Result<Response> {
    let asked = &claiming.asked;
    let known = match claiming.uses_memory {
        true => recent::answer(asked)?,
        false => None,
    };
    let answer = match known {
        Some(answer) => answer,
        None => {
            let remembers = claiming.uses_memory && recent::note(asked);
            let request = claiming.request(request, remembers, route, config).await?;
            let asked_ms = now_ms();
            let answer = shards::call(env, config, &asked.operation, &request).await?;
            match claiming.uses_memory {
                true => recent::remember(asked_ms, asked, answer).await?,
                false => recent::unmarked(asked, answer)?,
            }
        }
    };
    sealing::opened(answer, &asked.operation, config).await
}

/// Passes a request whose path is protected under another method, unless its body asks for that one.
async fn pass_other(
    arrived: &Arrived,
    route: &Route,
    env: &Env,
    config: &Config,
) -> Result<Answered> {
    match protect::check_unprotected(arrived, route).await {
        Ok(body) => pass(arrived, body.map(Into::into), env, config).await,
        Err(refusal) => Ok(Answered::Gate(refusal.answer()?.into())),
    }
}

/// The body as it comes.
fn stream(arrived: &Arrived) -> Option<JsValue> {
    arrived.request.body().map(Into::into)
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

fn problem(problem: Problem) -> Result<Answered> {
    Ok(Answered::Gate(answer::problem(&problem)?.into()))
}
