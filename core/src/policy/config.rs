//! A route, as it is written in the configuration: every setting and its default. What is not written
//! here is refused.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::ask::AskConfig;
use super::fingerprint::FingerprintMode;
use super::outcome::OutcomeConfig;
use super::source::KeyFrom;
use super::tenant::{BindConfig, ScopeConfig};
use crate::proof::Origin;
use crate::webhook::WebhookConfig;

/// A route, as written in the configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct RouteConfig {
    /// A name for logs, errors, records and metrics.
    pub name: String,
    /// The methods, such as `["POST"]`.
    pub methods: Vec<String>,
    /// The path: literal segments, `:name` for any one segment, `*` at the end for the rest.
    pub path: String,
    /// Whether the origin tells `/Orders` from `/orders`; if not, the former is refused. No.
    #[serde(default)]
    pub case_sensitive_path: bool,
    /// `enforce` (default) or `observe`: decide, count and log, and let the request pass untouched.
    #[serde(default)]
    pub mode: Mode,

    /// `required` (default): a request without a key is refused. `optional`: it passes unprotected.
    /// `generated`: the gate takes the key from the request itself (rule K2).
    #[serde(default)]
    pub key: KeyUse,
    /// The header fields that may carry the key; `["Idempotency-Key"]`.
    pub key_headers: Option<Vec<String>>,
    /// Where a generated key is taken from.
    pub key_from: Option<KeyFrom>,
    /// `off` (default) or `required`: the only keys are tokens that the gate has issued.
    #[serde(default)]
    pub token: TokenUse,
    /// How long after it was issued a token may be used for the first time; 300 s.
    pub token_ttl_s: Option<u64>,
    /// Who sends the events that come here; then the key is the event's identity.
    pub webhook: Option<WebhookConfig>,
    /// Whose the keys are: the tenant; `"host"`.
    #[serde(default)]
    pub scope: ScopeConfig,
    /// Who has to be the same on every request of an operation; nobody.
    pub bind: Option<BindConfig>,
    /// How bodies are compared (rule K3): `raw` (default), byte by byte; `json`, by what they say.
    /// Multipart bodies are always compared by their parts.
    #[serde(default)]
    pub fingerprint: FingerprintMode,
    /// JSON pointers to what does not count, such as `/csrf`.
    #[serde(default)]
    pub fingerprint_ignore: Vec<String>,
    /// The largest request body; 1 MiB.
    pub max_body_bytes: Option<u64>,

    /// What the origin can do to settle an unknown operation. No default: see [`Origin`].
    pub origin: Origin,
    /// How a `read` origin is asked.
    pub ask: Option<AskConfig>,
    /// Whether the gate settles unknown operations by itself, even if no client returns. No.
    #[serde(default)]
    pub finish: bool,
    /// What values inside an answer say (rule A2).
    pub outcome: Option<OutcomeConfig>,
    /// Statuses that say that nothing happened and nothing will.
    #[serde(default)]
    pub not_executed: Vec<u16>,
    /// Statuses with which the origin says no for good.
    #[serde(default)]
    pub refused: Vec<u16>,
    /// Statuses that prove nothing.
    #[serde(default)]
    pub unknown: Vec<u16>,

    /// Whether duplicates of an attempt under way `wait` (default) for its answer or are `reject`ed.
    #[serde(default)]
    pub in_flight: InFlight,
    /// How many duplicates of one key may wait; 500.
    pub max_waiters: Option<u32>,
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
    /// How long after the last dispatch an origin's *no* counts: its longest request; 15 min.
    pub settle_after_s: Option<u64>,

    /// What is kept of an answer: `answer` (default) or `status`, without its body.
    #[serde(default)]
    pub store: Store,
    /// The largest answer that is kept, headers and body; 1,900,000.
    pub max_answer_bytes: Option<u64>,
    /// Whether answers are passed on as they come, and never kept. No.
    #[serde(default)]
    pub stream: bool,
    /// Header fields of an answer that replays repeat, beside those of the contract (rule P5).
    #[serde(default)]
    pub replay_headers: Vec<String>,
    /// Whether stored answers, and requests, are encrypted. No.
    #[serde(default)]
    pub seal: bool,
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

/// Whether a route's keys have to be the gate's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum TokenUse {
    /// They are the client's, or the request's.
    #[default]
    Off,
    /// Nothing else is a key.
    Required,
}

/// What a route does to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Mode {
    /// Everything.
    #[default]
    Enforce,
    /// Nothing: it decides, counts and logs.
    Observe,
}

/// What becomes of a duplicate while an attempt is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum InFlight {
    /// It hears at once that the operation is in progress.
    Reject,
    /// It waits for the answer.
    #[default]
    Wait,
}

/// What is kept of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Store {
    /// Status, header fields and body.
    #[default]
    Answer,
    /// What it proved, and nothing that it said.
    Status,
}
