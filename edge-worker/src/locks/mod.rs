//! Named locks with fences, in objects of their own ([`oncegate_core::lock`] decides).
//!
//! Invariant: a grant is told only after it is stored, and whoever waits is remembered in memory alone:
//! losing that costs those who wait another request, which the gate makes for them, and nothing else.

pub(crate) mod admin;
pub(crate) mod endpoints;
mod message;
mod object;
mod store;
mod table;

use oncegate_core::identity::Identity;
use oncegate_core::lock::LockName;
use worker::{Env, Error, Result};

use crate::config::Config;
use crate::fields::Fields;
use crate::message::written;
use crate::shards::object;
use crate::wire::{self, Call};
use crate::{log, tally};
use message::{Answer, Said, ToLocks};

/// How long an object may take beyond the time for which it was asked to wait.
const PATIENCE_MS: u64 = 5_000;

/// The shard of a lock.
fn shard_of(config: &Config, name: &LockName) -> u16 {
    Identity::of_lock(config.identity_secret.as_bytes(), name).lock_shard()
}

/// Asks the object of a shard; an error means that it may not have heard.
async fn ask(
    env: &Env,
    config: &Config,
    shard: u16,
    message: &ToLocks,
    wait_ms: u64,
) -> Result<Said> {
    let body = written(message)?.into();
    let call = Call::new("https://locks/", "POST", &Fields::default(), Some(body))?;
    let object = object(env, config, "LOCKS", &format!("locks-{shard}"))?;
    let fault = match wire::call_within(wait_ms + PATIENCE_MS, &object, &call).await {
        Some(Ok(response)) if response.status_code() == 200 => {
            let answer: Answer = response.read().await?;
            tally::rows_written(answer.rows_written);
            return Ok(answer.said);
        }
        Some(Ok(response)) => format!("status {}", response.status_code()),
        Some(Err(error)) => error.to_string(),
        None => "no answer in time".to_owned(),
    };
    log::error("locks_call")
        .with("shard", shard)
        .detail(&fault)
        .write();
    Err(Error::from(fault))
}
