//! What gate, shard and courier say to each other: one JSON message in a header of the request that
//! carries the body, so that a body never has to be parsed or copied to be passed on. The header fields
//! for the origin, or those of its answer, are beside it in one text: a shard passes it on unread, and
//! each hop would make, copy and read them one by one.
//!
//! The headers' names begin with `oncegate-`, which is removed from whatever a client sends.

use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{Resolved, Terms, View};
use oncegate_core::principal::Principal;
use oncegate_core::stamp::{is_stamped, stamp};
use oncegate_core::token::Lifetime;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use worker::{Error, Result};

use crate::config::Config;
use crate::fields::Fields;

/// The header of every message.
const MESSAGE: &str = "oncegate-message";

/// The header with the header fields that travel with a message, as one text.
const ENCLOSED: &str = "oncegate-fields";

/// The header with the stamp of a message that comes through the clients' door.
/// Its name is older than the word.
const STAMP: &str = "oncegate-seal";

/// The version of every message, in front of its JSON. A message of an unknown version is an error, so
/// that a client hears 503: during a deployment, gate, shard and courier may be of different ones.
const VERSION: &str = "2";

/// In messages of this version the header fields travelled by themselves.
const EARLIER: &str = "1";

/// To a shard.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub(crate) enum ToShard {
    /// A request has arrived. The HTTP request is the one for the origin.
    Claim(Claim),
    /// Items are to be claimed, completed, kept or released: the body says which, and how.
    Claims,
    /// An attempt is being answered, and its answer is passed on as it comes. Its end will be told too.
    Begin(Completion),
    /// An attempt was replied to. The body, and the headers to replay, are the answer's.
    Complete(Completion),
    /// A client wants the key to be dead.
    Cancel(Cancel),
    /// What a ledger said to a cancellation.
    Hear(Heard),
    /// What an origin said that was asked what became of a key.
    Probed(Probed),
    /// What became of this operation?
    Look(Look),
    /// Somebody who may asks what is known of this operation.
    Inspect(Inspect),
    /// A person settles it.
    Resolve(Resolve),
    /// Its content is to be forgotten.
    Erase(Erase),
    /// A request has passed unprotected: what would have been decided?
    Observe(Claim),
    /// What came of a request that would have been an attempt.
    Observed(Completion),
}

/// See [`ToShard::Claim`].
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Claim {
    pub(crate) operation: String,
    /// The key as the origin sees it.
    pub(crate) key: String,
    pub(crate) kind: KeyKind,
    pub(crate) principal: Option<Principal>,
    /// The tenant, for its quota.
    pub(crate) scope: String,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) terms: Terms,
    /// The origin cannot be reached: nothing new may be claimed (rule A5).
    pub(crate) unreachable: bool,
    /// How large the request's body is.
    pub(crate) body_bytes: u32,
    pub(crate) wait_ms: u64,
    /// How many requests may wait for one operation.
    pub(crate) max_waiters: usize,
    pub(crate) client_timeout_ms: u64,
    /// Of the token, if the key is one.
    #[serde(default)]
    pub(crate) token: Option<Lifetime>,
    /// Whether the gate would remember a replay, to give it again by itself.
    #[serde(default)]
    pub(crate) remembers: bool,
}

/// See [`ToShard::Cancel`].
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Cancel {
    pub(crate) operation: String,
    pub(crate) key: String,
    pub(crate) kind: KeyKind,
    pub(crate) principal: Option<Principal>,
    /// The tenant, for its quota.
    pub(crate) scope: String,
    /// For a key that has no record: the terms of its route.
    pub(crate) terms: Terms,
    pub(crate) client_timeout_ms: u64,
    /// Of the token, if the key is one.
    #[serde(default)]
    pub(crate) token: Option<Lifetime>,
}

/// See [`ToShard::Hear`].
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Heard {
    pub(crate) operation: String,
    pub(crate) kind: KeyKind,
    pub(crate) principal: Option<Principal>,
    pub(crate) terms: Terms,
    pub(crate) asked_attempt: u32,
    pub(crate) asked_ms: u64,
    pub(crate) reply: Reply,
}

/// See [`ToShard::Probed`].
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Probed {
    pub(crate) operation: String,
    pub(crate) asked_attempt: u32,
    pub(crate) asked_ms: u64,
    pub(crate) reply: Reply,
}

/// What a courier is sent for.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Errand {
    /// To carry an attempt.
    Attempt,
    /// To have the ledger cancel the key, for this principal.
    Cancel {
        principal: Option<Principal>,
        asked_ms: u64,
    },
    /// To ask what became of the key.
    Probe { asked_ms: u64 },
}

/// To a courier: carry this to the origin.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Dispatch {
    pub(crate) errand: Errand,
    pub(crate) operation: String,
    pub(crate) key: String,
    pub(crate) kind: KeyKind,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) attempt: u32,
    pub(crate) terms: Terms,
    pub(crate) path_and_query: String,
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
        /// The value at the place of the route's outcome rule.
        value: Option<String>,
        /// What the answer is about, if a ledger says that it is about another request.
        recorded: Option<Fingerprint>,
        /// Whether the message carries the answer for the record.
        storable: bool,
        /// The header fields of the message that are the answer's.
        #[serde(default)]
        fields: Vec<String>,
    },
    Lost,
}

/// From a shard to a courier: the attempt is settled.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Completed {
    pub(crate) view: View,
    /// The record's answer counts, not the attempt's.
    pub(crate) superseded: bool,
    /// For how long the gate may remember the attempt's answer, to replay it by itself, in milliseconds.
    #[serde(default)]
    pub(crate) remember_ms: u64,
    /// How many rows the shard has written since it last said so.
    #[serde(default)]
    pub(crate) rows_written: u64,
}

/// The answer to [`ToShard::Observe`] and [`ToShard::Observed`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Observed {
    /// As in `Oncegate-Decision`.
    pub(crate) decision: String,
    /// As in `Idempotency-Status`.
    pub(crate) state: Option<String>,
    /// The attempt that would have been started.
    pub(crate) attempt: Option<u32>,
    /// How many rows the shard has written since it last said so.
    #[serde(default)]
    pub(crate) rows_written: u64,
}

/// From a shard to a courier: the answer may be passed on.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Begun {
    /// What the answer says of the operation (`Idempotency-Status`).
    pub(crate) status: String,
    /// The record's answer counts, not the attempt's.
    pub(crate) superseded: bool,
}

/// See [`ToShard::Look`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Look {
    pub(crate) operation: String,
    pub(crate) principal: Option<Principal>,
}

/// See [`ToShard::Inspect`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Inspect {
    pub(crate) operation: String,
    /// With its stored answer.
    pub(crate) answer: bool,
}

/// See [`ToShard::Resolve`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Resolve {
    pub(crate) operation: String,
    /// The version of the record that the person has seen.
    pub(crate) revision: u32,
    pub(crate) outcome: Resolved,
}

/// See [`ToShard::Erase`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Erase {
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
    /// Proof contradicts the record.
    pub(crate) disputed: bool,
    /// It waits for a person.
    pub(crate) held: bool,
    /// Its answer was forgotten on request.
    pub(crate) erased: bool,
}

impl Seen {
    /// What may be told; `None` for a key without a record.
    pub(crate) fn new(operation: String, view: Option<View>) -> Self {
        match view {
            Some(view) => Self {
                operation,
                state: view.state.as_str().to_owned(),
                executed: view.executed,
                safe_new_key: view.safe_new_key,
                attempts: view.attempts,
                unsettled: view.unsettled,
                disputed: view.disputed,
                held: view.held,
                erased: view.erased,
            },
            // Never seen is not "did not happen": a delayed copy may still arrive (rule I8).
            None => Self {
                operation,
                state: "absent".to_owned(),
                executed: None,
                safe_new_key: false,
                attempts: 0,
                unsettled: 0,
                disputed: false,
                held: false,
                erased: false,
            },
        }
    }
}

/// The header of a message to a shard, with the fields that travel with it. Only the gate has the way to
/// shards: no stamp.
pub(crate) fn to_shard(message: &ToShard, enclosed: &Fields) -> Result<Fields> {
    let mut header = Fields::default();
    header.set(MESSAGE, written(message)?);
    header.set(ENCLOSED, enclosure(enclosed)?);
    Ok(header)
}

/// The header of a message to a courier, with fields as an [`enclosure`] has them.
pub(crate) fn to_courier(dispatch: &Dispatch, enclosed: &str, config: &Config) -> Result<Fields> {
    let text = written(dispatch)?;
    let mut header = Fields::default();
    header.set(STAMP, stamp(config.identity_secret.as_bytes(), &text));
    header.set(MESSAGE, text);
    header.set(ENCLOSED, enclosed);
    Ok(header)
}

/// Header fields as they travel with a message.
pub(crate) fn enclosure(fields: &Fields) -> Result<String> {
    Ok(in_ascii(serde_json::to_string(fields)?))
}

/// Reads the message to a courier, and the fields that travelled with it; `None` for a request that is not
/// a shard's.
pub(crate) fn open(header: &Fields, config: &Config) -> Result<Option<(Dispatch, Fields)>> {
    // A client's request has no stamp: nothing more is looked for.
    let (Some(stamp), Some(text)) = (header.get(STAMP), header.get(MESSAGE)) else {
        return Ok(None);
    };
    if !is_stamped(config.identity_secret.as_bytes(), text, stamp) {
        return Ok(None);
    }
    let fields = match header.get(ENCLOSED) {
        Some(enclosed) => Fields::read(enclosed)?,
        None => without_message(header),
    };
    Ok(Some((understood(text)?, fields)))
}

/// The fields that travelled by themselves.
fn without_message(header: &Fields) -> Fields {
    let fields = header.iter();
    let fields = fields.filter(|(name, _)| !matches!(*name, STAMP | MESSAGE));
    fields
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Writes a message, with its version, in ASCII: of a header field that is not, the platform writes the
/// whole value into the log, the key of the operation included.
pub(crate) fn written(message: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(message)?;
    Ok(in_ascii(format!("{VERSION} {json}")))
}

fn in_ascii(json: String) -> String {
    if json.is_ascii() {
        return json;
    }
    let mut text = String::new();
    for character in json.chars() {
        match character.is_ascii() {
            true => text.push(character),
            false => escape(character, &mut text),
        }
    }
    text
}

/// Writes a character of a JSON string in ASCII.
fn escape(character: char, text: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        text.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Reads a message.
pub(crate) fn understood<T: DeserializeOwned>(text: &str) -> Result<T> {
    // Gates before version 1 wrote no version: a courier of theirs may still have an answer to tell.
    let json = match text.split_once(' ') {
        Some((VERSION | EARLIER, json)) => json,
        _ if text.starts_with('{') => text,
        _ => {
            return Err(Error::from(
                "a message of an unknown version: parts of two deployments speak to each other",
            ));
        }
    };
    Ok(serde_json::from_str(json)?)
}
