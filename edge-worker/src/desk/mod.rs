//! The Desk: the one place that sees the whole gate.
//!
//! It keeps the list of operations in trouble and alerts somebody, holds the switch, adds up what the isolates count and shows the latest
//! decisions. Invariant: no decision about an operation is made here and none waits for it; with the
//! Desk gone, the gate protects as before.

mod alert;
pub(crate) mod endpoints;
pub(crate) mod message;
mod object;
mod store;

use worker::{Env, Error, Method, Request, RequestInit, Response, Result, Stub};

use crate::config::Config;
use crate::message::written;
use crate::shards::{object, within};
use message::ToDesk;

/// How long the Desk is waited for, in milliseconds.
const DEADLINE_MS: u64 = 5_000;

/// Says something to the Desk and gives its answer. An error means that it may not have heard.
pub(crate) async fn tell(env: &Env, config: &Config, message: &ToDesk) -> Result<Response> {
    let mut init = RequestInit::new();
    init.with_method(Method::Post)
        .with_body(Some(written(message)?.into()));
    let request = Request::new_with_init("https://desk/", &init)?;
    let stub = stub(env, config)?;
    match within(DEADLINE_MS, stub.fetch_with_request(request)).await {
        Some(Ok(response)) if response.status_code() == 200 => Ok(response),
        Some(Ok(response)) => Err(Error::from(format!(
            "the desk answered with status {}",
            response.status_code()
        ))),
        Some(Err(error)) => Err(error),
        None => Err(Error::from(format!(
            "the desk did not answer within {DEADLINE_MS} ms"
        ))),
    }
}

/// One object for the whole gate.
fn stub(env: &Env, config: &Config) -> Result<Stub> {
    object(env, config, "DESK", "desk")
}
