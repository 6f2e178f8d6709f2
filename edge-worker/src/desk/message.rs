//! What the gate's parts say to the Desk: one JSON message in the body of a request.
//!
//! It carries its version like every message. The Desk may run an earlier or a later one than who speaks
//! to it: a field that is added later has a default; a message of an unknown kind is an error, and who
//! sent it keeps what was not heard.

use oncegate_core::metrics::Metrics;
use oncegate_core::operation::TroubleState;
use oncegate_core::switch::Position;
use serde::{Deserialize, Serialize};

/// To the Desk.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub(crate) enum ToDesk {
    /// What has changed in a shard's list of operations in trouble.
    Trouble(Report),
    /// Which operations are in trouble?
    List,
    /// How is the switch set?
    Switch,
    /// Set it, and say how it is set then.
    SetSwitch(Set),
    /// What an isolate has counted and seen since it last said so.
    Tally(Tallied),
    /// Everything that was counted, as the text that Prometheus reads.
    Metrics,
    /// Which decisions followed the one with this number?
    Events { after: u64 },
}

/// See [`ToDesk::SetSwitch`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Set {
    /// One route, or all.
    pub(crate) route: Option<String>,
    pub(crate) position: Position,
}

/// See [`ToDesk::Tally`].
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Tallied {
    pub(crate) metrics: Metrics,
    /// The newest decisions, the oldest of them first.
    pub(crate) events: Vec<Event>,
}

/// A decision, as it may be told: with the operation's reference, never with its key.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Event {
    pub(crate) at_ms: u64,
    pub(crate) route: String,
    pub(crate) mode: String,
    pub(crate) decision: String,
    pub(crate) state: Option<String>,
    pub(crate) operation: Option<String>,
    /// The status that the client got.
    pub(crate) status: u16,
    pub(crate) took_ms: u64,
}

/// The answer to [`ToDesk::Events`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Events {
    pub(crate) events: Vec<Numbered>,
    /// To ask with for what follows.
    pub(crate) last: u64,
}

/// An event with its number; where one is missing, there were more than the Desk keeps.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    #[serde(flatten)]
    pub(crate) event: Event,
}

/// See [`ToDesk::Trouble`].
///
/// A shard sends one report at a time and repeats, in the same one or in the next, whatever was not
/// heard. So one that is older than the last one heard is a late copy, and changes nothing; or the clock
/// of the shard's new instance is behind, and it learns so from the answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Report {
    pub(crate) shard: u16,
    /// When it was written.
    pub(crate) at_ms: u64,
    /// Operations that are in trouble now, or in other trouble than before.
    pub(crate) added: Vec<Troubled>,
    /// References of those that are not any more.
    pub(crate) removed: Vec<String>,
}

/// The answer to [`ToDesk::Trouble`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Heard {
    /// When the shard's latest report was written: this one, if it was heard.
    pub(crate) latest_ms: u64,
}

/// An operation that does not settle by itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Troubled {
    /// Its reference; never its key.
    pub(crate) operation: String,
    pub(crate) route: String,
    pub(crate) state: TroubleState,
    pub(crate) since_ms: u64,
}

/// The answer to [`ToDesk::List`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Listed {
    /// The disputed first, then the oldest.
    pub(crate) operations: Vec<Troubled>,
    /// How many there are beyond these.
    pub(crate) more: u64,
}
