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

use worker::{Env, Error, Response, Result};

use crate::config::Config;
use crate::fields::Fields;
use crate::message::written;
use crate::platform::Service;
use crate::shards::object;
use crate::wire::{self, Call};
use message::ToDesk;

/// How long the Desk is waited for, in milliseconds.
const DEADLINE_MS: u64 = 5_000;

/// Says something to the Desk and gives its answer. An error means that it may not have heard.
pub(crate) async fn tell(env: &Env, config: &Config, message: &ToDesk) -> Result<Response> {
    let body = written(message)?.into();
    let call = Call::new("https://desk/", "POST", &Fields::default(), Some(body))?;
    match wire::call_within(DEADLINE_MS, &desk(env, config)?, &call).await {
        Some(Ok(response)) if response.status_code() == 200 => Ok(response.into()),
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
fn desk(env: &Env, config: &Config) -> Result<Service> {
    object(env, config, "DESK", "desk")
}
