//! One protected route: its settings, checked.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::error::{Fault, PolicyError};
use super::path::{Case, Pattern};
use super::source::{BodyMode, FingerprintMode, KeyFrom, KeySource};
use crate::operation::Terms;
use crate::proof::{Origin, Rules};

/// How long the edge waits for an object before it gives up on it, in milliseconds. A fault of the
/// store must end here, so everything that a store legitimately waits for ends earlier (rule T1).
pub const STORE_DEADLINE_MS: u64 = 25_000;

/// How long a reply is listened for, in milliseconds (rule A4).
pub const HARD_TIMEOUT_MS: u64 = 15 * 60 * 1_000;

/// How long after the last dispatch a *no* counts (rule A6), in milliseconds.
const SETTLE_AFTER_MS: u64 = 15 * 60 * 1_000;

/// What the gate keeps for itself: such a path never reaches an origin.
pub const OWN_PREFIX: &str = "/.oncegate/";

/// The methods that have effects and that platforms forward as they are.
const METHODS: [&str; 4] = ["DELETE", "PATCH", "POST", "PUT"];

/// The largest body that a route may allow: requests are held whole before anything is claimed.
const LARGEST_BODY_BYTES: u64 = 32 * 1024 * 1024;

pub(super) const DAY_S: u64 = 24 * 60 * 60;

/// A protected route.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Route {
    /// Its name, in logs and errors.
    pub name: String,
    /// What is written into an operation's record.
    pub terms: Terms,
    /// How long a duplicate waits for the open attempt, in milliseconds.
    pub wait_ms: u64,
    /// How long the request that started the attempt waits for it, in milliseconds.
    pub client_timeout_ms: u64,
    /// The largest request body, in bytes.
    pub max_body_bytes: u64,
    pub(super) methods: Vec<String>,
    pub(super) pattern: Pattern,
    pub(super) key: KeySource,
    pub(super) body: BodyMode,
}

/// A route, as written in the configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct RouteConfig {
    /// A name for logs and errors.
    pub name: String,
    /// The methods, such as `["POST"]`.
    pub methods: Vec<String>,
    /// The path: literal segments, `:name` for any one segment, `*` at the end for the rest.
    pub path: String,
    /// `required` (default): a request without a key is refused. `optional`: it passes unprotected.
    /// `generated`: the gate takes the key from the request itself (rule K2).
    #[serde(default)]
    pub key: KeyUse,
    /// Where a generated key is taken from.
    pub key_from: Option<KeyFrom>,
    /// How bodies are compared (rule K3): `raw` (default), byte by byte; `json`, by what they say.
    /// Multipart bodies are always compared by their parts.
    #[serde(default)]
    pub fingerprint: FingerprintMode,
    /// JSON pointers to what does not count, such as `/csrf`.
    #[serde(default)]
    pub fingerprint_ignore: Vec<String>,
    /// What the origin can do to settle an unknown operation. No default: see [`Origin`].
    pub origin: Origin,
    /// How long a duplicate waits for the open attempt; 10,000 ms.
    pub wait_ms: Option<u64>,
    /// How long the first request waits for its answer; 20,000 ms.
    pub client_timeout_ms: Option<u64>,
    /// How long an attempt is open before the operation counts as unknown; 30,000 ms.
    pub lease_ms: Option<u64>,
    /// How long an answer is replayed after its completion; 24 h.
    pub result_ttl_s: Option<u64>,
    /// How long a key is remembered after it settled; 7 days.
    pub key_ttl_s: Option<u64>,
    /// How long the origin's ledger keeps its rows, at least twice the key ttl; 30 days.
    pub ledger_retention_s: Option<u64>,
    /// The largest request body; 1 MiB.
    pub max_body_bytes: Option<u64>,
}

/// Whose the key of a route is, and whether there has to be one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum KeyUse {
    /// The gate takes it from the request itself.
    Generated,
    /// A request without a key passes unprotected.
    Optional,
    /// A request without a key is refused.
    #[default]
    Required,
}

impl Route {
    pub(super) fn new(config: RouteConfig) -> Result<Self, PolicyError> {
        let place = place(&config.name);
        let error = |field, reason: &str| Fault::new(field, reason).at(place.clone());
        let pattern =
            Pattern::parse(&config.path, Case::Ignored).map_err(|reason| error("path", reason))?;
        if config.path.starts_with(OWN_PREFIX) {
            return Err(error("path", "is the gate's own"));
        }
        if config.methods.is_empty() {
            return Err(error(
                "methods",
                "is empty; list at least one, such as POST",
            ));
        }
        let is_method = |method: &String| METHODS.contains(&method.as_str());
        if !config.methods.iter().all(is_method) {
            return Err(error(
                "methods",
                "are of POST, PUT, PATCH and DELETE, in capitals",
            ));
        }
        let key = KeySource::new(config.key, config.key_from, &pattern)
            .map_err(|reason| error("key_from", &reason))?;
        let body = BodyMode::new(config.fingerprint, &config.fingerprint_ignore)
            .map_err(|reason| error("fingerprint_ignore", &reason))?;
        let route = Self {
            terms: Terms {
                route: config.name.clone(),
                origin: config.origin,
                lease_ms: config.lease_ms.unwrap_or(30_000),
                result_ttl_ms: config.result_ttl_s.unwrap_or(DAY_S).saturating_mul(1_000),
                key_ttl_ms: config.key_ttl_s.unwrap_or(7 * DAY_S).saturating_mul(1_000),
                ledger_retention_ms: config
                    .ledger_retention_s
                    .unwrap_or(30 * DAY_S)
                    .saturating_mul(1_000),
                settle_after_ms: SETTLE_AFTER_MS,
                finish: false,
                rules: Rules::default(),
            },
            name: config.name,
            wait_ms: config.wait_ms.unwrap_or(10_000),
            client_timeout_ms: config.client_timeout_ms.unwrap_or(20_000),
            max_body_bytes: config.max_body_bytes.unwrap_or(1024 * 1024),
            methods: config.methods,
            pattern,
            key,
            body,
        };
        route
            .check()
            .map_err(|(field, reason)| error(field, reason))?;
        Ok(route)
    }

    /// The order of the times (rules T1, T2, L9).
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let terms = &self.terms;
        let rules = [
            (self.name.is_empty(), "name", "is empty"),
            (
                self.wait_ms > self.client_timeout_ms,
                "wait_ms",
                "is longer than client_timeout_ms",
            ),
            (
                self.client_timeout_ms >= STORE_DEADLINE_MS,
                "client_timeout_ms",
                "must be under 25000, the deadline for the store",
            ),
            (terms.lease_ms == 0, "lease_ms", "must be at least 1"),
            (
                terms.lease_ms > HARD_TIMEOUT_MS,
                "lease_ms",
                "is longer than an answer is listened for (900000)",
            ),
            (terms.key_ttl_ms == 0, "key_ttl_s", "must be at least 1"),
            (
                terms.result_ttl_ms > terms.key_ttl_ms,
                "result_ttl_s",
                "is longer than key_ttl_s",
            ),
            (
                terms.ledger_retention_ms < terms.key_ttl_ms.saturating_mul(2),
                "ledger_retention_s",
                "must be at least twice key_ttl_s",
            ),
            (
                self.max_body_bytes > LARGEST_BODY_BYTES,
                "max_body_bytes",
                "is over 33554432 (32 MiB)",
            ),
        ];
        match rules.into_iter().find(|(broken, ..)| *broken) {
            Some((_, field, reason)) => Err((field, reason)),
            None => Ok(()),
        }
    }

    /// How errors call it.
    pub(super) fn place(&self) -> String {
        place(&self.name)
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.pattern.overlaps(&other.pattern)
            && self
                .methods
                .iter()
                .any(|method| other.methods.contains(method))
    }
}

fn place(name: &str) -> String {
    format!("route '{name}'")
}
