//! Messages of a Cloudflare Queue, as requests: which route they go to, under which key, and what becomes
//! of them.
//!
//! Invariant: a message and its redeliveries have one key, and no key of another queue or of a client is
//! ever taken for it. It leaves its queue only when its operation is settled, or as a dead letter.

mod fate;
#[cfg(test)]
mod tests;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;

pub use self::fate::Fate;
use crate::body::KeySourceError;
use crate::body::pointer::{Pointer, key_value};
use crate::key::{Key, KeyError, KeyKind};
use crate::policy::{Match, Policy, Route, Scope};

/// The longest name that a queue can have.
const LONGEST_NAME: usize = 63;

/// A queue whose messages go to a route, as written in the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a setting left out must be a compile error"
)]
pub struct QueueConfig {
    /// The queue's name.
    pub queue: String,
    /// The path of a protected route.
    pub path: String,
    /// The method.
    #[serde(default = "usual_method")]
    pub method: String,
    /// `"message_id"`, or a JSON pointer into the message.
    #[serde(default = "usual_key")]
    pub key: String,
}

fn usual_method() -> String {
    "POST".to_owned()
}

fn usual_key() -> String {
    MESSAGE_ID.to_owned()
}

const MESSAGE_ID: &str = "message_id";

/// A queue whose messages go to a route.
#[derive(Clone, Debug)]
pub struct Queue {
    name: String,
    path: String,
    method: String,
    route: String,
    header: String,
    key: Source,
}

/// What tells the messages of a queue apart.
#[derive(Clone, Debug)]
enum Source {
    Body(Pointer),
    Id,
}

/// Why a message has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKeyError {
    /// There is nothing where the queue's `key` points to.
    Missing(KeySourceError),
    /// What is there cannot be in a key.
    Invalid(KeyError),
}

/// Why a configured queue cannot be used: it names queue and field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueError {
    queue: String,
    field: &'static str,
    reason: String,
}

impl QueueError {
    fn new(config: &QueueConfig, field: &'static str, reason: impl ToString) -> Self {
        Self {
            queue: config.queue.clone(),
            field,
            reason: reason.to_string(),
        }
    }
}

/// Reads the queues of a gate.
///
/// # Errors
///
/// [`QueueError`] names the queue and the field.
pub fn read(configs: &[QueueConfig], policy: &Policy) -> Result<Vec<Queue>, QueueError> {
    for (index, config) in configs.iter().enumerate() {
        if configs[..index]
            .iter()
            .any(|other| other.queue == config.queue)
        {
            return Err(QueueError::new(config, "queue", "is there twice"));
        }
    }
    let queues = configs.iter().map(|config| Queue::new(config, policy));
    queues.collect()
}

impl Queue {
    fn new(config: &QueueConfig, policy: &Policy) -> Result<Self, QueueError> {
        let fault = |field, reason: String| QueueError::new(config, field, reason);
        if !is_name(&config.queue) {
            let reason = "is no name of a queue: 1 to 63 of a-z, 0-9, '-' and '_'";
            return Err(fault("queue", reason.to_owned()));
        }
        let route = route(config, policy)?;
        let header = route.key_headers().first().cloned();
        let key = match config.key.as_str() {
            MESSAGE_ID => Source::Id,
            pointer => Source::Body(
                Pointer::parse(pointer)
                    .map_err(|error| fault("key", format!("is not \"message_id\", and {error}")))?,
            ),
        };
        Ok(Self {
            name: config.queue.clone(),
            path: config.path.clone(),
            method: config.method.clone(),
            route: route.name.clone(),
            header: header.unwrap_or_default(),
            key,
        })
    }

    /// The queue's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its route.
    pub fn route(&self) -> &str {
        &self.route
    }

    /// The method of its requests.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The header field that carries the key.
    pub fn key_header(&self) -> &str {
        &self.header
    }

    /// Where its requests are sent to. No client can reach a host of this name, which keeps the keys of
    /// messages apart from those of clients.
    pub fn url(&self) -> String {
        format!("https://{}.queue.invalid{}", self.name, self.path)
    }

    /// The key of the message with this id and body.
    ///
    /// # Errors
    ///
    /// [`MessageKeyError`] says why it has none.
    pub fn key(&self, id: &str, body: &[u8]) -> Result<Key, MessageKeyError> {
        let text = match &self.key {
            Source::Id => format!("queue:{}:{id}", self.name),
            Source::Body(pointer) => {
                let named = key_value(body, pointer).map_err(MessageKeyError::Missing)?;
                format!("queue:{}:{}", self.name, named.as_str())
            }
        };
        Key::from_value(&text).map_err(MessageKeyError::Invalid)
    }
}

/// It becomes a label of a host.
fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut bytes = name.bytes();
    let ends = bytes.clone().next().is_some_and(is_inner);
    ends && name.len() <= LONGEST_NAME && bytes.all(|byte| is_inner(byte) || b"-_".contains(&byte))
}

/// The route that protects the path, if messages can be its requests.
fn route<'a>(config: &QueueConfig, policy: &'a Policy) -> Result<&'a Route, QueueError> {
    let is_bare = !config.path.contains(['?', '#']);
    let found = match policy.find(&config.method, &config.path, false) {
        Match::Protected(route) if is_bare => route,
        Match::OtherMethod(_) => {
            let reason = format!(
                "{} is none that a route protects at this path",
                config.method
            );
            return Err(QueueError::new(config, "method", reason));
        }
        _ => {
            let reason = format!("'{}' is no path that a route protects", config.path);
            return Err(QueueError::new(config, "path", reason));
        }
    };
    let cannot = match found {
        route if route.key_kind() != KeyKind::Client => "takes no client's keys",
        route if route.scope != Scope::Host => "has a scope, and a message has no tenant",
        route if route.bind.is_some() => "has a bind, and a message has no principal",
        _ => return Ok(found),
    };
    let reason = format!("leads to route '{}', which {cannot}", found.name);
    Err(QueueError::new(config, "path", reason))
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue '{}': {} {}", self.queue, self.field, self.reason)
    }
}

impl core::error::Error for QueueError {}

impl fmt::Display for MessageKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for MessageKeyError {}
