//! The queues whose messages go to routes.

use oncegate_core::policy::Policy;
use oncegate_core::queue::{self, Queue, QueueConfig};
use worker::Env;

use super::{ConfigError, error, json};

const SETTING: &str = "QUEUES";

/// `webhook_queue` is the gate's own.
pub(super) fn read(
    env: &Env,
    policy: &Policy,
    webhook_queue: &str,
) -> Result<Vec<Queue>, ConfigError> {
    let Some(json) = json(env, SETTING) else {
        return Ok(Vec::new());
    };
    let values: Vec<serde_json::Value> =
        serde_json::from_str(&json).map_err(|reason| error(SETTING, reason))?;
    let configs: Result<Vec<_>, _> = values.into_iter().enumerate().map(config).collect();
    let queues = queue::read(&configs?, policy).map_err(|reason| error(SETTING, reason))?;
    match queues.iter().any(|queue| queue.name() == webhook_queue) {
        true => Err(error(
            SETTING,
            format!("queue '{webhook_queue}': queue is the one of stored events, WEBHOOK_QUEUE"),
        )),
        false => Ok(queues),
    }
}

fn config((index, value): (usize, serde_json::Value)) -> Result<QueueConfig, ConfigError> {
    let name = value["queue"]
        .as_str()
        .map_or_else(|| format!("no. {}", index + 1), str::to_owned);
    serde_json::from_value(value)
        .map_err(|reason| error(SETTING, format!("queue '{name}': {reason}")))
}
