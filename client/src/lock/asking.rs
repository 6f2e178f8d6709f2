//! Asking for a lock until it is there, or was waited for long enough.
//!
//! Invariant: every try is under the same key, and whoever gives up calls the request off: no lock stays
//! with nobody because an answer was lost.

use std::time::Duration;

use oncegate_core::header::{IDEMPOTENCY_KEY, PLACE};
use oncegate_core::lock::LONGEST_WAIT_MS;
use reqwest::Method;
use serde_json::json;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::Grant;
use super::guard::{self, LockGuard};
use crate::call::{Answer, Call};
use crate::client::Client;
use crate::error::Error;

/// How long an answer may take beyond the time for which the gate waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long after the gate was last heard of it is out of reach.
const OUT_OF_REACH: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(500);

/// A request; dropped before it has come to something, it is called off.
struct Asking {
    client: Client,
    name: String,
    key: String,
    is_open: bool,
}

pub(super) async fn acquire(
    client: Client,
    name: String,
    ttl_ms: u64,
    wait: Duration,
) -> Result<LockGuard, Error> {
    let mut asking = Asking {
        client,
        name,
        key: Uuid::new_v4().to_string(),
        is_open: true,
    };
    let begun = Instant::now();
    let (mut heard, mut place) = (begun, None);
    loop {
        let left = wait.saturating_sub(begun.elapsed());
        let sent = Instant::now();
        match asking.ask(ttl_ms, left, place.as_deref()).await {
            Ok(answer) => {
                let grant: Grant = answer.read()?;
                asking.is_open = false;
                let (client, name) = (asking.client.clone(), asking.name.clone());
                return guard::hold(client, name, grant, sent).await;
            }
            Err((error, given)) if is_for_later(&error) => {
                let is_busy = error.code() == Some("lock_busy");
                if is_busy {
                    heard = Instant::now();
                }
                let is_over = match is_busy {
                    true => begun.elapsed() >= wait,
                    false => heard.elapsed() >= OUT_OF_REACH.max(left),
                };
                if is_over {
                    return Err(error);
                }
                if given.is_none() {
                    sleep(PAUSE).await;
                }
                place = given.or(place);
            }
            Err((error, _)) => return Err(error),
        }
    }
}

fn is_for_later(error: &Error) -> bool {
    match error {
        Error::Refused { problem, .. } => problem.retryable,
        Error::NoAnswer { .. } => true,
        Error::Setup(_) => false,
    }
}

impl Asking {
    async fn ask(
        &self,
        ttl_ms: u64,
        left: Duration,
        place: Option<&str>,
    ) -> Result<Answer, (Error, Option<String>)> {
        let wait = left.min(Duration::from_millis(LONGEST_WAIT_MS));
        let doing = format!("taking the lock '{}'", self.name);
        let call = Call::new(&self.client, Method::POST, &["locks", &self.name], doing)
            .header(IDEMPOTENCY_KEY, &self.key)
            .json(&json!({ "ttl_ms": ttl_ms, "wait_ms": wait.as_millis() }));
        let call = match place {
            Some(place) => call.header(PLACE, place),
            None => call,
        };
        call.send_with_header(wait + PATIENCE, PLACE).await
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let doing = format!("calling off the lock '{}'", self.name);
        let call = Call::new(&self.client, Method::DELETE, &["locks", &self.name], doing)
            .header(IDEMPOTENCY_KEY, &self.key);
        call.send_behind(PATIENCE);
    }
}
