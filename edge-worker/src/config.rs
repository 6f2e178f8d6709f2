//! The gate's settings, read once per instance. Each is documented in `wrangler.toml`, where it is set.

mod cron;
mod origins;
mod queues;
mod routes;
mod webhooks;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use oncegate_core::cron::Job;
use oncegate_core::operation::Terms;
use oncegate_core::policy::{Origins, Place, Policy, Route};
use oncegate_core::proof::Origin;
use oncegate_core::queue::Queue;
use oncegate_core::quota::Quota;
use oncegate_core::sealing::SealingSecrets;
use oncegate_core::signature::Secrets;
use oncegate_core::stamp::stamp;
use oncegate_core::webhook::keys::Keys;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;
use worker::{Env, Url};

use crate::jwt::Jwt;
use crate::{cors, shards};

const SHORTEST_IDENTITY_SECRET: usize = 32;

/// The length of a gate's id, in hexadecimal digits.
pub(crate) const GATE_ID_LENGTH: usize = 16;

/// Why an operation has no origin ([`Config::origin_of`]).
pub(crate) const NO_ORIGIN: &str =
    "its route is no more, or keeps no ledger any more: nothing is sent for it until it does again";

/// The gate's settings.
pub(crate) struct Config {
    pub(crate) origins: Origins,
    pub(crate) location_hint: Option<String>,
    /// Where the objects have to stay, by law.
    pub(crate) jurisdiction: Option<String>,
    pub(crate) identity_secret: String,
    pub(crate) signing_secrets: Secrets,
    /// By which the gate knows its own requests.
    pub(crate) gate_id: String,
    /// Who may inspect and settle operations; without any, nobody.
    pub(crate) admin_secrets: Option<Secrets>,
    /// Who may claim messages and jobs; without any, nobody.
    pub(crate) claims_secrets: Option<Secrets>,
    /// How old a message may be that is claimed, in milliseconds.
    pub(crate) claims_window_ms: u64,
    /// Who may take locks; without any, nobody.
    pub(crate) locks_secrets: Option<Secrets>,
    /// Who may read metrics and events; without any, nobody.
    pub(crate) metrics_secrets: Option<Secrets>,
    /// Where somebody is told of operations in trouble.
    pub(crate) alerts: Option<Alerts>,
    /// What seals that which is stored; without any, nothing is.
    pub(crate) sealing_secrets: Option<SealingSecrets>,
    /// What signs one-time tokens; there if a route takes them.
    pub(crate) token_secrets: Option<Secrets>,
    /// Origins of pages that may call the gate from elsewhere.
    pub(crate) cors_origins: Vec<String>,
    /// Header fields that those pages may read.
    pub(crate) exposed_headers: String,
    pub(crate) limits: Limits,
    /// Who verifies tokens; without it, routes use no claims.
    pub(crate) jwt: Option<Jwt>,
    /// What the clock starts.
    pub(crate) jobs: Vec<Job>,
    /// The queue of events that are stored first.
    pub(crate) webhook_queue: String,
    /// The queues whose messages go to routes.
    pub(crate) queues: Vec<Queue>,
    /// With which keys the senders of events are known, by route.
    pub(crate) webhook_keys: BTreeMap<String, Keys>,
    pub(crate) policy: Policy,
}

/// What one shard takes on.
pub(crate) struct Limits {
    /// New operations of one tenant.
    pub(crate) claims_per_scope: Quota,
    /// Requests that wait for the attempt of another one.
    pub(crate) waiters: usize,
    /// The size of its database from which on it begins nothing new.
    pub(crate) bytes: u64,
}

/// Whom to tell of operations in trouble.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Alerts {
    pub(crate) webhook: String,
    #[serde(default = "usual_alert_minutes")]
    after_minutes: u64,
}

fn usual_alert_minutes() -> u64 {
    5
}

impl Alerts {
    /// How long trouble lasts before somebody is told, in milliseconds.
    pub(crate) fn after_ms(&self) -> u64 {
        self.after_minutes * 60_000
    }
}

/// A setting that cannot be used.
#[derive(Debug)]
pub(crate) struct ConfigError {
    setting: &'static str,
    reason: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.reason)
    }
}

thread_local! {
    static LOADED: RefCell<Option<Rc<Config>>> = const { RefCell::new(None) };
}

impl Config {
    /// The settings of this instance. They cannot change while it lives: a deploy makes a new one.
    pub(crate) fn load(env: &Env) -> Result<Rc<Self>, ConfigError> {
        if let Some(config) = LOADED.with_borrow(Clone::clone) {
            return Ok(config);
        }
        let config = Rc::new(Self::read(env)?);
        LOADED.set(Some(Rc::clone(&config)));
        Ok(config)
    }

    /// The origin that an operation was or will be carried to. `None` if its terms hold for none any more: its
    /// route is gone, and nothing can be said of it to whoever serves its path now; or a ledger might have been
    /// sent it again and again, and the route's origin keeps none now: there every attempt would be an effect.
    pub(crate) fn origin_of(&self, terms: &Terms) -> Option<&Place> {
        // The first version's records have no route, and it had one origin.
        if terms.route.is_empty() {
            return Some(self.origins.default_place());
        }
        let route = self.policy.route(Some(&terms.route))?;
        let keeps_ledger = route.terms.origin == Origin::Ledger;
        let suits = terms.origin != Origin::Ledger || keeps_ledger;
        self.origins.of_route(route).ok().filter(|_| suits)
    }

    fn read(env: &Env) -> Result<Self, ConfigError> {
        let identity_secret = text(env, "IDENTITY_SECRET")?;
        if identity_secret.len() < SHORTEST_IDENTITY_SECRET {
            return Err(error(
                "IDENTITY_SECRET",
                format!(
                    "has {} characters and needs at least 32",
                    identity_secret.len()
                ),
            ));
        }
        let signing_secrets = Secrets::parse(&text(env, "SIGNING_SECRETS")?)
            .map_err(|reason| error("SIGNING_SECRETS", reason))?;
        let jwt = jwt(env)?;
        let policy = routes::read(env, jwt.is_some())?;
        let origins = origins::read(env, &policy)?;
        let webhook_queue = webhooks::queue(env)?;
        Ok(Self {
            origins,
            location_hint: location_hint(env)?,
            jurisdiction: jurisdiction(env)?,
            gate_id: stamp(identity_secret.as_bytes(), "gate")[..GATE_ID_LENGTH].to_owned(),
            identity_secret,
            signing_secrets,
            admin_secrets: secrets(env, "ADMIN_SECRETS", Secrets::parse)?,
            claims_secrets: secrets(env, "CLAIMS_SECRETS", Secrets::parse)?,
            claims_window_ms: claims_window_ms(env)?,
            locks_secrets: secrets(env, "LOCKS_SECRETS", Secrets::parse)?,
            metrics_secrets: secrets(env, "METRICS_SECRETS", Secrets::parse)?,
            sealing_secrets: sealing_secrets(env, &policy)?,
            token_secrets: token_secrets(env, &policy)?,
            alerts: alerts(env)?,
            cors_origins: cors_origins(env)?,
            exposed_headers: cors::exposed(policy.routes()),
            limits: limits(env)?,
            jobs: cron::read(env, &policy)?,
            queues: queues::read(env, &policy, &webhook_queue)?,
            webhook_queue,
            webhook_keys: webhooks::read(env, &policy)?,
            jwt,
            policy,
        })
    }
}

fn text(env: &Env, setting: &'static str) -> Result<String, ConfigError> {
    let found = text_if_set(env, setting)?;
    found.ok_or_else(|| error(setting, "is not set; wrangler.toml says how"))
}

/// A variable or secret that is text; `None` if it is not set, or empty. What is set and is no text is
/// an error: a jurisdiction in a list must not be taken for none.
fn text_if_set(env: &Env, setting: &'static str) -> Result<Option<String>, ConfigError> {
    let value = js_sys::Reflect::get(env, &JsValue::from_str(setting)).unwrap_or_default();
    match value.as_string() {
        Some(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        None if value.is_undefined() => Ok(None),
        None => Err(error(setting, "must be text, in quotes")),
    }
}

/// Without a secret, a route that says `seal` would store plain text.
fn sealing_secrets(env: &Env, policy: &Policy) -> Result<Option<SealingSecrets>, ConfigError> {
    const SETTING: &str = "SEALING_SECRETS";
    let found = secrets(env, SETTING, SealingSecrets::parse)?;
    let mut sealing = policy.routes().iter().filter(|route| route.answers.seal);
    wanted(SETTING, found, sealing.next(), "seal = true")
}

/// Without a secret, a route that takes nothing but tokens would take nothing.
fn token_secrets(env: &Env, policy: &Policy) -> Result<Option<Secrets>, ConfigError> {
    const SETTING: &str = "TOKEN_SECRETS";
    let found = secrets(env, SETTING, Secrets::parse)?;
    let mut routes = policy.routes().iter();
    let taking = routes.find(|route| route.token_ttl_ms.is_some());
    wanted(SETTING, found, taking, "token = \"required\"")
}

/// Secrets that must be there because `route` says so.
fn wanted<T>(
    setting: &'static str,
    found: Option<T>,
    route: Option<&Route>,
    because: &str,
) -> Result<Option<T>, ConfigError> {
    match (&found, route) {
        (None, Some(Route { name, .. })) => {
            let reason = format!("is not set, and route '{name}' has {because}");
            Err(error(setting, reason))
        }
        _ => Ok(found),
    }
}

/// Named secrets that need not be there.
fn secrets<T, E: fmt::Display>(
    env: &Env,
    setting: &'static str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, ConfigError> {
    let parsed = text_if_set(env, setting)?.map(|text| parse(&text));
    parsed.transpose().map_err(|reason| error(setting, reason))
}

/// The regions that the platform knows; another word would fail at the first use.
const LOCATION_HINTS: [&str; 9] = [
    "afr", "apac", "eeur", "enam", "me", "oc", "sam", "weur", "wnam",
];

fn location_hint(env: &Env) -> Result<Option<String>, ConfigError> {
    match text_if_set(env, "LOCATION_HINT")? {
        Some(hint) if !LOCATION_HINTS.contains(&hint.as_str()) => Err(error(
            "LOCATION_HINT",
            format!("'{hint}' is none of {}", LOCATION_HINTS.join(", ")),
        )),
        hint => Ok(hint),
    }
}

/// A time after which nobody needs an alert any more, and which keeps sums of times small.
const LONGEST_ALERT_MINUTES: u64 = 7 * 24 * 60;

fn alerts(env: &Env) -> Result<Option<Alerts>, ConfigError> {
    let Some(json) = json(env, "ALERTS") else {
        return Ok(None);
    };
    let alerts: Alerts = serde_json::from_str(&json).map_err(|reason| error("ALERTS", reason))?;
    let is_http = |url: Url| matches!(url.scheme(), "http" | "https");
    if !Url::parse(&alerts.webhook).is_ok_and(is_http) {
        return Err(error("ALERTS", "webhook: must be an http(s) address"));
    }
    if alerts.after_minutes > LONGEST_ALERT_MINUTES {
        let most = format!("after_minutes: must be at most {LONGEST_ALERT_MINUTES}");
        return Err(error("ALERTS", most));
    }
    Ok(Some(alerts))
}

/// The platform knows which jurisdictions there are, and is asked now rather than by the first request.
fn jurisdiction(env: &Env) -> Result<Option<String>, ConfigError> {
    let Some(name) = text_if_set(env, "JURISDICTION")? else {
        return Ok(None);
    };
    match shards::check_jurisdiction(env, &name) {
        Ok(_) => Ok(Some(name)),
        Err(reason) => Err(error("JURISDICTION", format!("'{name}': {reason}"))),
    }
}

/// Origins of pages. Read also where the rest of the configuration is wrong: a page shall hear of it.
pub(crate) fn cors_origins(env: &Env) -> Result<Vec<String>, ConfigError> {
    let Some(json) = json(env, "CORS_ORIGINS") else {
        return Ok(Vec::new());
    };
    let origins: Vec<String> =
        serde_json::from_str(&json).map_err(|reason| error("CORS_ORIGINS", reason))?;
    let is_origin = |text: &&String| {
        Url::parse(text).is_ok_and(|url| url.origin().ascii_serialization() == **text)
    };
    match origins.iter().find(|text| !is_origin(text)) {
        Some(wrong) => Err(error(
            "CORS_ORIGINS",
            format!("'{wrong}' is no origin; write it as browsers do: https://shop.example"),
        )),
        None => Ok(origins),
    }
}

fn jwt(env: &Env) -> Result<Option<Jwt>, ConfigError> {
    let Some(json) = json(env, "JWT") else {
        return Ok(None);
    };
    let config = serde_json::from_str(&json).map_err(|reason| error("JWT", reason))?;
    Jwt::new(config)
        .map(Some)
        .map_err(|reason| error("JWT", reason))
}

/// Longer than any broker keeps what it hands out again.
const LONGEST_WINDOW_HOURS: u64 = 30 * 24;

fn claims_window_ms(env: &Env) -> Result<u64, ConfigError> {
    const SETTING: &str = "CLAIMS_WINDOW_HOURS";
    match number(env, SETTING, 7 * 24)? {
        hours @ 1..=LONGEST_WINDOW_HOURS => Ok(hours * 60 * 60 * 1_000),
        hours => Err(error(
            SETTING,
            format!("is {hours}, and must be 1 to {LONGEST_WINDOW_HOURS}"),
        )),
    }
}

fn limits(env: &Env) -> Result<Limits, ConfigError> {
    let claims = number(env, "CLAIMS_PER_SCOPE_PER_MINUTE", 6_000)?;
    let claims_per_scope = Quota::per_minute(claims).ok_or_else(|| {
        error(
            "CLAIMS_PER_SCOPE_PER_MINUTE",
            "must be at least 1; to let nothing through, use the kill switch",
        )
    })?;
    Ok(Limits {
        claims_per_scope,
        waiters: number(env, "WAITERS_PER_SHARD", 2_000)?,
        bytes: number(env, "SHARD_BYTES", 9_000_000_000)?,
    })
}

fn number<T: DeserializeOwned>(
    env: &Env,
    setting: &'static str,
    usual: T,
) -> Result<T, ConfigError> {
    match json(env, setting) {
        Some(json) => serde_json::from_str(&json)
            .map_err(|_| error(setting, format!("is {json} and must be a whole number"))),
        None => Ok(usual),
    }
}

/// A setting that is more than a string, as JSON; `None` if it is not set.
fn json(env: &Env, setting: &str) -> Option<String> {
    let value = js_sys::Reflect::get(env, &JsValue::from_str(setting)).ok()?;
    js_sys::JSON::stringify(&value).ok()?.as_string()
}

fn error(setting: &'static str, reason: impl fmt::Display) -> ConfigError {
    ConfigError {
        setting,
        reason: reason.to_string(),
    }
}
