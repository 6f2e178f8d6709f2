//! Where the origins are. What cannot be reached as it is written is found out at the start, not by the
//! first purchase.

use oncegate_core::policy::{OriginConfig, Origins, Place, Policy};
use worker::{Env, Url};

use super::{ConfigError, error, json, text_if_set};

/// The table of origins, which has one for each route.
pub(super) fn read(env: &Env, policy: &Policy) -> Result<Origins, ConfigError> {
    let default = match text_if_set(env, "ORIGIN_URL")? {
        Some(url) => Some(Place::Url(bare_origin("ORIGIN_URL", &url)?)),
        None => None,
    };
    let entries: Vec<OriginConfig> = match json(env, "ORIGINS") {
        Some(json) => serde_json::from_str(&json).map_err(|reason| error("ORIGINS", reason))?,
        None => Vec::new(),
    };
    let entries: Result<Vec<_>, _> = entries.into_iter().map(|entry| reach(env, entry)).collect();
    let origins = Origins::new(entries?, default).map_err(|reason| error("ORIGINS", reason))?;
    for route in policy.routes() {
        let origin = origins.of_route(route);
        origin.map_err(|reason| error("ORIGINS", reason))?;
    }
    Ok(origins)
}

fn reach(env: &Env, entry: OriginConfig) -> Result<OriginConfig, ConfigError> {
    if let Some(binding) = &entry.service {
        env.service(binding).map_err(|_| {
            let reason = format!(
                "origin '{}': there is no service binding {binding}",
                entry.path
            );
            error("ORIGINS", reason)
        })?;
    }
    let url = entry
        .url
        .map(|url| bare_origin("ORIGINS", &url))
        .transpose()?;
    Ok(OriginConfig { url, ..entry })
}

fn bare_origin(setting: &'static str, text: &str) -> Result<String, ConfigError> {
    let wrong = || {
        error(
            setting,
            format!("'{text}' is not http(s)://host[:port] and nothing more"),
        )
    };
    let url = Url::parse(text).map_err(|_| wrong())?;
    let origin = url.origin().ascii_serialization();
    let is_bare = text.trim_end_matches('/').eq_ignore_ascii_case(&origin);
    match url.scheme() {
        "http" | "https" if is_bare => Ok(origin),
        _ => Err(wrong()),
    }
}
