//! The jobs that the clock starts.

use oncegate_core::cron::{Job, JobConfig, jobs};
use oncegate_core::policy::Policy;
use worker::Env;

use super::{ConfigError, error, json};

const SETTING: &str = "CRON";

/// Every job; none if there is no such setting.
pub(super) fn read(env: &Env, policy: &Policy) -> Result<Vec<Job>, ConfigError> {
    let Some(json) = json(env, SETTING) else {
        return Ok(Vec::new());
    };
    let values: Vec<serde_json::Value> =
        serde_json::from_str(&json).map_err(|reason| error(SETTING, reason))?;
    let configs: Result<Vec<_>, _> = values.into_iter().enumerate().map(job).collect();
    jobs(&configs?, policy).map_err(|reason| error(SETTING, reason))
}

fn job((index, value): (usize, serde_json::Value)) -> Result<JobConfig, ConfigError> {
    let name = value["name"]
        .as_str()
        .map_or_else(|| format!("no. {}", index + 1), str::to_owned);
    serde_json::from_value(value)
        .map_err(|reason| error(SETTING, format!("job '{name}': {reason}")))
}
