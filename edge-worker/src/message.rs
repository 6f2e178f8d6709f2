//! What gate, shard and courier say to each other: one JSON message in a header of the request that
//! carries the body, so that a body never has to be parsed or copied to be passed on.
//!
//! The header's name begins with `oncegate-`, which is removed from whatever a client sends.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{Terms, View};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use worker::{Error, Headers, Result};

/// The header of every message.
pub(crate) const MESSAGE: &str = "oncegate-message";

/// To a shard.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub(crate) enum ToShard {
    /// A request has arrived. The HTTP request is the one for the origin.
    Claim(Claim),
    /// An attempt was replied to. The body, and the headers to replay, are the answer's.
    Complete(Completion),
    /// What became of this operation?
    Look(Look),
}

/// See [`ToShard::Claim`].
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Claim {
    pub(crate) operation: String,
    /// The key as the origin sees it.
    pub(crate) key: String,
    pub(crate) kind: KeyKind,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) terms: Terms,
    pub(crate) wait_ms: u64,
    pub(crate) client_timeout_ms: u64,
}

/// To a courier: carry this to the origin.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Dispatch {
    pub(crate) operation: String,
    pub(crate) key: String,
    pub(crate) kind: KeyKind,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) attempt: u32,
    pub(crate) key_ttl_ms: u64,
}

/// See [`ToShard::Complete`].
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Completion {
    pub(crate) operation: String,
    pub(crate) attempt: u32,
    pub(crate) reply: Reply,
}

/// An owned [`oncegate_core::proof::Reply`].
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Answered {
        status: u16,
        outcome: Option<String>,
        /// Whether the message carries the answer for the record.
        storable: bool,
    },
    Lost,
}

/// From a shard to a courier: the attempt is settled.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Completed {
    pub(crate) view: View,
    /// Another attempt's answer counts.
    pub(crate) superseded: bool,
}

/// See [`ToShard::Look`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Look {
    pub(crate) operation: String,
}

/// What a look-up says.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Seen {
    pub(crate) operation: String,
    pub(crate) state: String,
    pub(crate) executed: Option<bool>,
    pub(crate) safe_new_key: bool,
    pub(crate) attempts: u32,
    pub(crate) unsettled: u32,
}

/// Writes a message into `headers`.
pub(crate) fn attach(headers: &Headers, message: &impl Serialize) -> Result<()> {
    headers.set(MESSAGE, &serde_json::to_string(message)?)
}

/// Reads the message of `headers`.
pub(crate) fn read<T: DeserializeOwned>(headers: &Headers) -> Result<T> {
    let text = headers
        .get(MESSAGE)?
        .ok_or_else(|| Error::from("a call without a message"))?;
    Ok(serde_json::from_str(&text)?)
}
