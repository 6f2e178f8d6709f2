//! The keys with which the senders of events are known.

use std::collections::BTreeMap;

use oncegate_core::policy::{Policy, Route};
use oncegate_core::webhook::keys::{KeyConfig, Keys};
use oncegate_core::webhook::{Acknowledge, Webhook};
use worker::Env;

use super::{ConfigError, error, text_if_set};
use crate::webhook::queue::BINDING;

const SETTING: &str = "WEBHOOK_SECRETS";

const USUAL_QUEUE: &str = "oncegate-webhooks";

/// The keys of every route that is a webhook, by its name.
pub(super) fn read(env: &Env, policy: &Policy) -> Result<BTreeMap<String, Keys>, ConfigError> {
    let mut given = given(env)?;
    let mut keys = BTreeMap::new();
    for route in policy.routes() {
        if let Some(webhook) = &route.webhook {
            check_queue(env, route, webhook)?;
            let configs = given.remove(&route.name);
            keys.insert(route.name.clone(), of_route(route, webhook, configs)?);
        }
    }
    match given.keys().next() {
        Some(other) => Err(error(SETTING, format!("route '{other}' is no webhook"))),
        None => Ok(keys),
    }
}

/// The name of the queue of events that are stored first.
pub(super) fn queue(env: &Env) -> Result<String, ConfigError> {
    let name = text_if_set(env, "WEBHOOK_QUEUE")?;
    Ok(name.unwrap_or_else(|| USUAL_QUEUE.to_owned()))
}

/// Without a queue, nothing could be acknowledged before it is delivered.
fn check_queue(env: &Env, route: &Route, webhook: &Webhook) -> Result<(), ConfigError> {
    if webhook.acknowledge() == Acknowledge::Delivered || env.queue(BINDING).is_ok() {
        return Ok(());
    }
    let name = &route.name;
    let reason =
        format!("route '{name}': webhook: ack = \"stored\" needs a queue bound as {BINDING}");
    Err(error("ROUTES", reason))
}

/// What is written, by route. An error of the parser could show a secret: only its place is told.
fn given(env: &Env) -> Result<BTreeMap<String, Vec<KeyConfig>>, ConfigError> {
    let Some(text) = text_if_set(env, SETTING)? else {
        return Ok(BTreeMap::new());
    };
    serde_json::from_str(&text).map_err(|reason| {
        let (line, column) = (reason.line(), reason.column());
        let form = r#"{"route": [{"name": "…", "secret": "…"}]}"#;
        let reason = format!(
            "is not of the form {form}, or has a field that is not known (line {line}, column {column})"
        );
        error(SETTING, reason)
    })
}

fn of_route(
    route: &Route,
    webhook: &Webhook,
    configs: Option<Vec<KeyConfig>>,
) -> Result<Keys, ConfigError> {
    let wrong = |reason: &str| error(SETTING, format!("route '{}': {reason}", route.name));
    let configs = configs.ok_or_else(|| wrong("is a webhook, and has no keys"))?;
    Keys::new(webhook, &configs).map_err(|reason| wrong(&reason))
}
