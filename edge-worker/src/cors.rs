//! Pages of other origins (rule P5): which may call, and what they may read of the answers.
//!
//! It concerns what the gate answers for: protected routes and its own endpoints. What is merely
//! passed on has the headers that the origin gives it.

use oncegate_core::header;
use oncegate_core::policy::{Match, OWN_PREFIX, Route};
use oncegate_core::switch::{Mode, Switch};
use worker::{Env, Headers, Method, ResponseBuilder, Result};

use crate::arrived::Arrived;
use crate::config::{self, Config};
use crate::fields::Fields;
use crate::wire::{Incoming, Response};

/// How long a browser may remember a preflight, in seconds; browsers cap it.
const PREFLIGHT_MAX_AGE_S: &str = "7200";

/// The page's origin, if pages from there may call the gate.
pub(crate) fn allowed(fields: &Fields, config: &Config) -> Option<String> {
    let origin = fields.get("origin").map(str::to_owned);
    origin.filter(|origin| config.cors_origins.contains(origin))
}

/// The method that a preflight asks for; `None` for every other request.
pub(crate) fn preflight(arrived: &Arrived) -> Option<&str> {
    if arrived.method != Method::Options {
        return None;
    }
    let asked = arrived.header("access-control-request-method");
    (!asked.is_empty()).then_some(asked)
}

/// Answers a preflight for something that the gate answers for. The page's permission is added to it as
/// to every answer.
pub(crate) fn answer(
    arrived: &Arrived,
    asked: &str,
    config: &Config,
    switch: &Switch,
) -> Result<Option<worker::Response>> {
    let passes = match config.policy.find(asked, &arrived.raw_path, false) {
        Match::NotCanonical(route) | Match::Protected(route) => switch.of(route) == Mode::Observe,
        Match::OtherMethod(_) | Match::Unprotected => !arrived.raw_path.starts_with(OWN_PREFIX),
    };
    if passes {
        return Ok(None);
    }
    let headers = Headers::new();
    headers.set("access-control-allow-methods", asked)?;
    let wanted = arrived.header("access-control-request-headers");
    headers.set("access-control-allow-headers", wanted)?;
    headers.set("access-control-max-age", PREFLIGHT_MAX_AGE_S)?;
    for name in [
        "Access-Control-Request-Method",
        "Access-Control-Request-Headers",
    ] {
        headers.append("vary", name)?;
    }
    Ok(Some(
        ResponseBuilder::new()
            .with_status(204)
            .with_headers(headers)
            .empty(),
    ))
}

/// Lets the page read an answer, whatever it is: a problem that a page cannot read is of no use to it.
pub(crate) fn open(response: &Response, origin: &str, config: &Config) -> Result<Response> {
    expose(response, origin, &config.exposed_headers)
}

/// The same for the answer of a gate whose settings are wrong, as far as these are right.
pub(crate) fn open_unconfigured(
    response: Response,
    request: &Incoming,
    env: &Env,
) -> Result<Response> {
    let origins = config::cors_origins(env).unwrap_or_default();
    match request.fields.get("origin").map(str::to_owned) {
        Some(origin) if origins.contains(&origin) => expose(&response, &origin, &exposed(&[])),
        _ => Ok(response),
    }
}

/// What a page may read of answers: what the gate says with them, and what the routes repeat.
pub(crate) fn exposed(routes: &[Route]) -> String {
    let mut names = vec![
        "location",
        "retry-after",
        header::DECISION,
        header::IDEMPOTENCY_KEY_LIFETIME,
        header::IDEMPOTENCY_REPLAYED,
        header::IDEMPOTENCY_STATUS,
        header::KEY_KIND,
        header::OPERATION,
        header::PLACE,
    ];
    let repeated = routes
        .iter()
        .flat_map(|route| &route.answers.replay_headers);
    names.extend(repeated.map(String::as_str));
    names.join(", ")
}

fn expose(response: &Response, origin: &str, exposed: &str) -> Result<Response> {
    let mut set = Fields::default();
    set.set("access-control-allow-origin", origin);
    set.set("access-control-expose-headers", exposed);
    let mut added = Fields::default();
    added.set("vary", "Origin");
    response.changed(&set, &added)
}
