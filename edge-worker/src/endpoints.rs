//! The gate's own endpoints, below `/.oncegate/v1` (section 7).

use oncegate_core::claim::Verb;
use oncegate_core::identity::Identity;
use oncegate_core::key::Key;
use oncegate_core::policy::{Route, named_key};
use oncegate_core::problem::{Code, Problem};
use oncegate_core::token::Lifetime;
use worker::{Env, Method, Response, Result};

use crate::arrived::Arrived;
use crate::caller::Caller;
use crate::config::Config;
use crate::message::{Cancel, Look, ToShard};
use crate::refusal::Refusal;
use crate::{admin, answer, claims, cron, desk, locks, shards, tokens};

pub(crate) async fn handle(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    match (&arrived.method, arrived.raw_path.as_str()) {
        (Method::Get | Method::Head, "/.oncegate/v1/health") => {
            Response::from_json(&serde_json::json!({ "status": "ok" }))
        }
        (Method::Get, "/.oncegate/v1/metrics") => {
            desk::endpoints::metrics(arrived, env, config).await
        }
        (Method::Get, "/.oncegate/v1/events") => {
            desk::endpoints::events(arrived, env, config).await
        }
        (Method::Get, "/.oncegate/v1/operations") => look(arrived, env, config).await,
        (Method::Post, "/.oncegate/v1/operations/cancel") => cancel(arrived, env, config).await,
        (Method::Post, "/.oncegate/v1/claims") => {
            claims::handle(arrived, Verb::Claim, env, config).await
        }
        (Method::Post, "/.oncegate/v1/claims/complete") => {
            claims::handle(arrived, Verb::Complete, env, config).await
        }
        (Method::Post, "/.oncegate/v1/claims/heartbeat") => {
            claims::handle(arrived, Verb::Heartbeat, env, config).await
        }
        (Method::Post, "/.oncegate/v1/claims/release") => {
            claims::handle(arrived, Verb::Release, env, config).await
        }
        (Method::Get, "/.oncegate/v1/admin/operations")
            if arrived.query("state").as_deref() == Some("trouble") =>
        {
            desk::endpoints::trouble(arrived, env, config).await
        }
        (Method::Get, "/.oncegate/v1/admin/switch") => {
            desk::endpoints::switch(arrived, env, config).await
        }
        (Method::Put, "/.oncegate/v1/admin/switch") => {
            desk::endpoints::set_switch(arrived, env, config).await
        }
        (Method::Post, "/.oncegate/v1/tokens") => tokens::issue(arrived, config).await,
        (_, path) if path.starts_with(locks::endpoints::LOCKS) => {
            locks::endpoints::handle(arrived, env, config).await
        }
        (_, path) if path.starts_with(locks::admin::LOCKS) => {
            locks::admin::handle(arrived, env, config).await
        }
        (_, path) if path.starts_with(cron::admin::CRON) => {
            cron::admin::handle(arrived, env, config).await
        }
        (_, path) if path.starts_with(admin::OPERATIONS) => {
            admin::handle(arrived, env, config).await
        }
        _ => answer::problem(&Problem::new(Code::EndpointUnknown)),
    }
}

/// What became of a key.
async fn look(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let question = match Question::read(arrived, config).await {
        Ok(question) => question,
        Err(refusal) => return refusal.answer(),
    };
    let look = Look {
        operation: question.operation.reference(),
        principal: question.caller.principal,
    };
    let answer = shards::ask(env, config, &question.operation, &ToShard::Look(look)).await?;
    Ok(answer::about_keys(answer.into(), question.route.key_kind())?.into())
}

/// Makes a key dead, unless its operation was executed.
async fn cancel(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let question = match Question::read(arrived, config).await {
        Ok(question) => question,
        Err(refusal) => return refusal.answer(),
    };
    let Question { key, route, .. } = question;
    let cancel = Cancel {
        operation: question.operation.reference(),
        key: key.to_header(),
        kind: route.key_kind(),
        token: question.token,
        principal: question.caller.principal,
        terms: route.terms.clone(),
        scope: question.caller.scope,
        client_timeout_ms: route.client_timeout_ms,
    };
    let answer = shards::ask(env, config, &question.operation, &ToShard::Cancel(cancel)).await?;
    Ok(answer::about_keys(answer.into(), route.key_kind())?.into())
}

/// A question about a key: it names the key and, if there are several, the route or the request.
struct Question<'a> {
    operation: Identity,
    caller: Caller,
    key: Key,
    token: Option<Lifetime>,
    route: &'a Route,
}

impl<'a> Question<'a> {
    async fn read(arrived: &Arrived, config: &'a Config) -> Result<Self, Refusal> {
        let route = arrived.asked_route(&config.policy);
        let route = route.ok_or_else(|| Problem::new(Code::RouteUnknown))?;
        let headers = arrived.headers_of(route.key_headers());
        let key = named_key(&headers).map_err(|fault| Problem::from(&fault))?;
        let key = key.ok_or_else(|| Problem::new(Code::KeyMissing))?;
        let caller = Caller::of(arrived, route, config).await?;
        let token = tokens::read(&key, &caller, route, config)?;
        Ok(Self {
            operation: caller.identity(config, route, &key),
            caller,
            key,
            token,
            route,
        })
    }
}
