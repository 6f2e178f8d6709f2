//! The protected routes.
//!
//! They are read through JSON text, so that a number that is no integer and a field that is not known
//! are errors with their place.

use oncegate_core::policy::{Policy, RouteConfig};
use worker::Env;

use super::{ConfigError, error, json};

/// `has_tokens` says that tokens are verified, so that routes can use claims.
pub(super) fn read(env: &Env, has_tokens: bool) -> Result<Policy, ConfigError> {
    let wrong = |reason: &dyn std::fmt::Display| error("ROUTES", reason);
    let json = json(env, "ROUTES").ok_or_else(|| wrong(&"is not set; wrangler.toml says how"))?;
    let values: Vec<serde_json::Value> =
        serde_json::from_str(&json).map_err(|reason| wrong(&reason))?;
    let routes: Result<Vec<_>, _> = values.into_iter().enumerate().map(route).collect();
    Policy::new(&routes?, has_tokens).map_err(|reason| wrong(&reason))
}

fn route((index, value): (usize, serde_json::Value)) -> Result<RouteConfig, ConfigError> {
    let name = value["name"]
        .as_str()
        .map_or_else(|| format!("no. {}", index + 1), str::to_owned);
    serde_json::from_value(value)
        .map_err(|reason| error("ROUTES", format!("route '{name}': {reason}")))
}
