//! Jobs that the clock starts (docs/cron.md), and a slot that a person runs once more.
//!
//! Invariant: the same slot under the same name is one run, so that a call whose answer was lost is made again as it was.

use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::client::Client;
use crate::error::Error;

/// The gate answers when the job has: so long at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that somebody wants, and why.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the contract's list")]
pub struct Again<'a> {
    /// The minute at which the job was due, in UTC: `2026-12-01T03:00Z`.
    pub slot: &'a str,
    /// What this run is called: the same name twice is one run.
    pub name: &'a str,
    /// Who wants it.
    pub actor: &'a str,
    /// Why.
    pub reason: &'a str,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Ran {
    /// The reference of the operation.
    pub operation: String,
    /// As `Idempotency-Status` says it; `None` if nothing was tried.
    pub state: Option<String>,
    /// The status of the job's answer, if there was one.
    pub status: Option<u16>,
}

impl Client {
    /// Runs a slot of a job once more. Needs one of `ADMIN_SECRETS`.
    ///
    /// # Errors
    /// [`Error::Refused`]: there is no such job, or its slot has not begun. [`Error::NoAnswer`]: it is not known
    /// whether it ran; ask again with the same name.
    pub async fn run_again(&self, job: &str, again: Again<'_>) -> Result<Ran, Error> {
        let doing = format!("running the job '{job}' again");
        let path = ["admin", "cron", job, "run"];
        let call = Call::new(self, Method::POST, &path, doing).json(&again);
        call.send(PATIENCE).await?.read()
    }
}
