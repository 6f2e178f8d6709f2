//! Pages of other origins (rule P5): which may call, and what they may read of the answers.
//!
//! It concerns what the gate answers for: protected routes and its own endpoints. What is merely
//! passed on has the headers that the origin gives it.

use oncegate_core::header;
use oncegate_core::policy::{Match, OWN_PREFIX};
use oncegate_core::switch::{Mode, Switch};
use worker::{Headers, Method, Response, ResponseBuilder, Result};

use crate::arrived::Arrived;
use crate::config::Config;

/// How long a browser may remember a preflight, in seconds; browsers cap it.
const PREFLIGHT_MAX_AGE_S: &str = "7200";

/// The page's origin, if pages from there may call the gate.
pub(crate) fn allowed(arrived: &Arrived, config: &Config) -> Result<Option<String>> {
    let origin = arrived.request.headers().get("origin")?;
    Ok(origin.filter(|origin| config.cors_origins.contains(origin)))
}

/// The method that a preflight asks for; `None` for every other request.
pub(crate) fn preflight(arrived: &Arrived) -> Result<Option<String>> {
    if arrived.method != Method::Options {
        return Ok(None);
    }
    let asked = arrived.header("access-control-request-method")?;
    Ok((!asked.is_empty()).then_some(asked))
}

/// Answers a preflight for something that the gate answers for.
pub(crate) fn answer(
    arrived: &Arrived,
    origin: &str,
    asked: &str,
    config: &Config,
    switch: &Switch,
) -> Result<Option<Response>> {
    let passes = match config.policy.find(asked, &arrived.raw_path, false) {
        Match::NotCanonical => false,
        Match::Protected(route) => switch.mode(&route.name) == Mode::Observe,
        Match::Unprotected => !arrived.raw_path.starts_with(OWN_PREFIX),
    };
    if passes {
        return Ok(None);
    }
    let headers = Headers::new();
    headers.set("access-control-allow-methods", asked)?;
    let wanted = arrived.header("access-control-request-headers")?;
    headers.set("access-control-allow-headers", &wanted)?;
    headers.set("access-control-max-age", PREFLIGHT_MAX_AGE_S)?;
    allow(&headers, origin)?;
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
pub(crate) fn open(response: Response, origin: &str) -> Result<Response> {
    let headers = response.headers().clone();
    allow(&headers, origin)?;
    let exposed = [
        "location",
        "retry-after",
        header::IDEMPOTENCY_KEY_LIFETIME,
        header::IDEMPOTENCY_REPLAYED,
        header::IDEMPOTENCY_STATUS,
        header::DECISION,
        header::OPERATION,
    ];
    headers.set("access-control-expose-headers", &exposed.join(", "))?;
    Ok(response.with_headers(headers))
}

fn allow(headers: &Headers, origin: &str) -> Result<()> {
    headers.set("access-control-allow-origin", origin)?;
    headers.append("vary", "Origin")
}
