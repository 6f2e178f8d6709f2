//! One protected route: its settings, checked.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::answers::Answers;
use super::ask::Ask;
use super::config::{InFlight, KeyUse, Mode, RouteConfig, TokenUse};
use super::error::{Fault, PolicyError};
use super::fingerprint::{BodyMode, FingerprintMode};
use super::outcome::rules;
use super::path::{Case, Pattern};
use super::source::{KeySource, key_headers};
use super::tenant::{Attribute, Scope};
use super::times::Times;
use crate::operation::Terms;
use crate::proof::Origin;
use crate::webhook::Webhook;

/// What the gate keeps for itself: such a path never reaches an origin.
pub const OWN_PREFIX: &str = "/.oncegate/";

/// The methods that have effects and that platforms forward as they are.
const METHODS: [&str; 4] = ["DELETE", "PATCH", "POST", "PUT"];

/// The largest body that a route may allow: requests are held whole before anything is claimed.
const LARGEST_BODY_BYTES: u64 = 32 * 1024 * 1024;

/// The longest name of a route: it is written into every record.
const LONGEST_NAME: usize = 64;

/// How long a token may be used for the first time, if the route does not say: as long as it takes to
/// fill in a form.
const USUAL_TOKEN_TTL_S: u64 = 5 * 60;

/// The most duplicates of one key that a shard can hold.
const MOST_WAITERS: u32 = 10_000;

/// A protected route.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Route {
    /// Its name, in logs and errors.
    pub name: String,
    /// What is written into an operation's record.
    pub terms: Terms,
    /// How long a token may be used for the first time, in milliseconds, if the route takes tokens and
    /// nothing else.
    pub token_ttl_ms: Option<u64>,
    /// How long a duplicate waits for the open attempt, in milliseconds.
    pub wait_ms: u64,
    /// How long the request that started the attempt waits for it, in milliseconds.
    pub client_timeout_ms: u64,
    /// How many duplicates of one key may wait.
    pub max_waiters: u32,
    /// The largest request body, in bytes.
    pub max_body_bytes: u64,
    /// What it does to requests, unless a switch says otherwise.
    pub mode: Mode,
    /// Whose its keys are.
    pub scope: Scope,
    /// Who has to be the same on every request of an operation.
    pub bind: Option<Attribute>,
    /// How its origin is asked what became of a key.
    pub ask: Option<Ask>,
    /// What is kept of answers.
    pub answers: Answers,
    /// Who sends the events that come here, if it is a webhook.
    pub webhook: Option<Webhook>,
    pub(super) methods: Vec<String>,
    pub(super) pattern: Pattern,
    pub(super) key: KeySource,
    pub(super) key_headers: Vec<String>,
    pub(super) body: BodyMode,
}

impl Route {
    /// Checks a route. `has_tokens` says that tokens are verified, so that claims can be used.
    pub(super) fn new(config: &RouteConfig, has_tokens: bool) -> Result<Self, PolicyError> {
        Self::read(config, has_tokens).map_err(|fault| fault.at(place(&config.name)))
    }

    fn read(config: &RouteConfig, has_tokens: bool) -> Result<Self, Fault> {
        check_name(&config.name)?;
        let pattern = pattern(config)?;
        check_methods(&config.methods)?;
        let bind = config.bind.clone();
        let webhook = webhook(config)?;
        let times = Times::new(config, webhook.as_ref().map(Webhook::deadline_ms))?;
        Ok(Self {
            key: KeySource::of(config, webhook.as_ref(), &pattern)?,
            key_headers: key_headers(config)?,
            body: BodyMode::new(config.fingerprint, &config.fingerprint_ignore)?,
            scope: Scope::new(config.scope.clone(), has_tokens)?,
            bind: bind
                .map(|bind| Attribute::new("bind", bind, has_tokens))
                .transpose()?,
            ask: Ask::new(config)?,
            token_ttl_ms: token_ttl_ms(config, &times)?,
            terms: terms(config, &times)?,
            answers: Answers::new(config)?,
            max_waiters: max_waiters(config)?,
            max_body_bytes: max_body_bytes(config)?,
            name: config.name.clone(),
            wait_ms: times.wait,
            client_timeout_ms: times.client_timeout,
            mode: config.mode,
            methods: config.methods.clone(),
            webhook,
            pattern,
        })
    }

    /// How errors call it.
    pub(super) fn place(&self) -> String {
        place(&self.name)
    }

    pub(super) fn takes(&self, method: &str) -> bool {
        self.methods.iter().any(|known| known == method)
    }

    /// Whether every origin reads this path as one of the route's.
    pub(super) fn is_exactly(&self, path: &str) -> bool {
        self.pattern.is_exactly(path)
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.pattern.overlaps(&other.pattern)
            && self.methods.iter().any(|method| other.takes(method))
    }
}

fn place(name: &str) -> String {
    format!("route '{name}'")
}

fn check_name(name: &str) -> Result<(), Fault> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_name) {
        true => Ok(()),
        false => Err(Fault::new(
            "name",
            "has 1 to 64 letters, digits, '-', '_' and '.'",
        )),
    }
}

fn pattern(config: &RouteConfig) -> Result<Pattern, Fault> {
    let error = |reason| Fault::new("path", reason);
    let case = match config.case_sensitive_path {
        true => Case::Counts,
        false => Case::Ignored,
    };
    match Pattern::parse(&config.path, case) {
        Ok(_) if config.path.starts_with(OWN_PREFIX) => Err(error("is the gate's own")),
        parsed => parsed.map_err(error),
    }
}

fn check_methods(methods: &[String]) -> Result<(), Fault> {
    let error = |reason| Err(Fault::new("methods", reason));
    let is_method = |method: &String| METHODS.contains(&method.as_str());
    if methods.is_empty() {
        error("is empty; list at least one, such as POST")
    } else if !methods.iter().all(is_method) {
        error("are of POST, PUT, PATCH and DELETE, in capitals")
    } else {
        Ok(())
    }
}

/// An event has neither a principal nor a fingerprint, and its sender reads words, not answers.
fn webhook(config: &RouteConfig) -> Result<Option<Webhook>, Fault> {
    let Some(given) = &config.webhook else {
        return Ok(None);
    };
    let compares = config.fingerprint != FingerprintMode::Raw;
    let faults = [
        (
            config.methods != ["POST"],
            "methods",
            "must be [\"POST\"]: events are posted",
        ),
        (
            config.bind.is_some(),
            "bind",
            "has no effect with webhook: its key binds",
        ),
        (
            compares,
            "fingerprint",
            "has no effect with webhook: an event is known by its identity",
        ),
        (
            config.token != TokenUse::Off,
            "token",
            "has no effect with webhook: no sender can fetch one",
        ),
        (
            config.stream,
            "stream",
            "has no effect with webhook: the sender is answered by the gate",
        ),
    ];
    match faults.into_iter().find(|(broken, ..)| *broken) {
        Some((_, field, reason)) => Err(Fault::new(field, reason)),
        None => Webhook::new(given)
            .map(Some)
            .map_err(|reason| Fault::new("webhook:", reason)),
    }
}

fn terms(config: &RouteConfig, times: &Times) -> Result<Terms, Fault> {
    if config.finish && config.origin == Origin::None {
        let reason = "needs an origin that can settle an operation: \"ledger\" or \"read\"";
        return Err(Fault::new("finish", reason));
    }
    Ok(Terms {
        route: config.name.clone(),
        origin: config.origin,
        lease_ms: times.lease,
        result_ttl_ms: times.result_ttl,
        key_ttl_ms: times.key_ttl,
        ledger_retention_ms: times.ledger_retention,
        settle_after_ms: times.settle_after,
        finish: config.finish,
        rules: rules(config)?,
    })
}

fn token_ttl_ms(config: &RouteConfig, times: &Times) -> Result<Option<u64>, Fault> {
    let error = |field, reason| Err(Fault::new(field, reason));
    let ttl_s = config.token_ttl_s.unwrap_or(USUAL_TOKEN_TTL_S);
    match (config.token, config.key) {
        (TokenUse::Off, _) if config.token_ttl_s.is_some() => {
            error("token_ttl_s", "goes with token = \"required\"")
        }
        (TokenUse::Off, _) => Ok(None),
        (TokenUse::Required, KeyUse::Generated | KeyUse::Optional) => error(
            "token",
            "goes with key = \"required\": the token is the key",
        ),
        (TokenUse::Required, KeyUse::Required) if ttl_s == 0 => {
            error("token_ttl_s", "must be at least 1")
        }
        (TokenUse::Required, KeyUse::Required) => match ttl_s.saturating_mul(1_000) {
            ttl_ms if ttl_ms > times.key_ttl => error("token_ttl_s", "is longer than key_ttl_s"),
            ttl_ms => Ok(Some(ttl_ms)),
        },
    }
}

fn max_waiters(config: &RouteConfig) -> Result<u32, Fault> {
    let error = |reason| Err(Fault::new("max_waiters", reason));
    match (config.in_flight, config.max_waiters) {
        (InFlight::Reject, None) => Ok(0),
        (InFlight::Reject, Some(_)) => error("goes with in_flight = \"wait\""),
        (InFlight::Wait, Some(0)) => error("is 0: say in_flight = \"reject\""),
        (InFlight::Wait, Some(most)) if most > MOST_WAITERS => error("is over 10000"),
        (InFlight::Wait, most) => Ok(most.unwrap_or(500)),
    }
}

fn max_body_bytes(config: &RouteConfig) -> Result<u64, Fault> {
    match config.max_body_bytes.unwrap_or(1024 * 1024) {
        most if most > LARGEST_BODY_BYTES => {
            Err(Fault::new("max_body_bytes", "is over 33554432 (32 MiB)"))
        }
        most => Ok(most),
    }
}
