//! The gate's own endpoints, below `/.oncegate/v1` (section 7).

use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::policy::Route;
use oncegate_core::problem::{Code, Problem};
use worker::{Env, Method, Response, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::message::{Cancel, Look, ToShard};
use crate::{admin, answer, desk, protect, shards};

pub(crate) async fn handle(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    match (&arrived.method, arrived.raw_path.as_str()) {
        (Method::Get, "/.oncegate/v1/health") => {
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
        (Method::Get, "/.oncegate/v1/admin/operations")
            if asks_for(arrived, "state", "trouble") =>
        {
            desk::endpoints::trouble(arrived, env, config).await
        }
        (Method::Get, "/.oncegate/v1/admin/switch") => {
            desk::endpoints::switch(arrived, env, config).await
        }
        (Method::Put, "/.oncegate/v1/admin/switch") => {
            desk::endpoints::set_switch(arrived, env, config).await
        }
        (_, path) if path.starts_with(admin::OPERATIONS) => {
            admin::handle(arrived, env, config).await
        }
        _ => answer::problem(&Problem::new(Code::EndpointUnknown)),
    }
}

fn asks_for(arrived: &Arrived, name: &str, value: &str) -> bool {
    let mut pairs = arrived.url.query_pairs();
    pairs.any(|(asked, of)| asked == name && of == value)
}

/// What became of a key.
async fn look(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let operation = match question(arrived, config)? {
        Ok(question) => question.operation,
        Err(problem) => return answer::problem(&problem),
    };
    let look = Look {
        operation: operation.reference(),
        principal: None,
    };
    shards::ask(env, config, &operation, &ToShard::Look(look)).await
}

/// Makes a key dead, unless its operation was executed.
async fn cancel(arrived: &Arrived, env: &Env, config: &Config) -> Result<Response> {
    let question = match question(arrived, config)? {
        Ok(question) => question,
        Err(problem) => return answer::problem(&problem),
    };
    let Question {
        operation,
        key,
        route,
    } = question;
    let kind = match route.generates_key() {
        true => KeyKind::Generated,
        false => KeyKind::Client,
    };
    let cancel = Cancel {
        operation: operation.reference(),
        key: key.to_header(),
        kind,
        principal: None,
        terms: route.terms.clone(),
        scope: protect::scope(arrived).to_owned(),
        client_timeout_ms: route.client_timeout_ms,
    };
    shards::ask(env, config, &operation, &ToShard::Cancel(cancel)).await
}

/// A question about a key: it names the key and, if there are several, the route.
struct Question<'a> {
    operation: Identity,
    key: Key,
    route: &'a Route,
}

fn question<'a>(
    arrived: &Arrived,
    config: &'a Config,
) -> Result<std::result::Result<Question<'a>, Problem>> {
    let named = arrived.url.query_pairs().find(|(name, _)| name == "route");
    let Some(route) = config
        .policy
        .route(named.as_ref().map(|(_, name)| name.as_ref()))
    else {
        return Ok(Err(Problem::new(Code::RouteUnknown)));
    };
    let Some(value) = arrived.request.headers().get(header::IDEMPOTENCY_KEY)? else {
        return Ok(Err(Problem::new(Code::KeyMissing)));
    };
    let key = match Key::parse(&value) {
        Ok(key) => key,
        Err(error) => return Ok(Err(Problem::new(Code::KeyInvalid).because(error))),
    };
    let operation = protect::identity(arrived, config, route, &key);
    Ok(Ok(Question {
        operation,
        key,
        route,
    }))
}
