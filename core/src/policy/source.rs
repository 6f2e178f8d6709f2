//! Where a route's key comes from (rules K1, K2).

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;

use super::config::{KeyUse, RouteConfig};
use super::content_type::{is_form, is_multipart};
use super::error::Fault;
use super::names::header_name;
use super::path::Pattern;
use super::route::Route;
use crate::body::multipart::{self, Boundary};
use crate::body::pointer::{Pointer, only_key_value};
use crate::body::{KeySourceError, KeyText, agreed, charset, form};
use crate::header::IDEMPOTENCY_KEY;
use crate::key::{Key, KeyError, KeyKind};
use crate::webhook::Webhook;

/// Where a generated key is taken from, as written in the configuration: `{ json = "/order/no" }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the one documented list of sources"
)]
pub enum KeyFrom {
    /// A field of a form, URL-encoded or multipart.
    Form(String),
    /// A value of a JSON body, by its JSON pointer.
    Json(String),
    /// A named segment of the path.
    Path(String),
    /// A parameter of the query.
    Query(String),
}

/// What a request offers to take a key from.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a place left out must be a compile error"
)]
pub struct Asked<'a> {
    /// The fields of [`Route::key_headers`] that it has, by name and value.
    pub headers: &'a [(&'a str, &'a str)],
    /// The path, as received.
    pub path: &'a str,
    /// The query, as received, without `?`.
    pub query: &'a str,
    /// The value of `Content-Type`.
    pub content_type: &'a str,
    /// The body; may be empty if [`Route::reads_body`] says so.
    pub body: &'a [u8],
}

/// Why a request has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle both")]
pub enum KeyFault {
    /// Two header fields carry different keys.
    Ambiguous {
        /// The field with the first key.
        one: String,
        /// The field with the other key.
        other: String,
    },
    /// There is something in this header field, or in the request, and it is no key.
    Invalid(KeyError),
    /// There is none where the route looks for it.
    Missing(MissingKey),
}

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum MissingKey {
    /// The key is in what some servers read in the character encoding that the body names, and that is not UTF-8.
    Charset,
    /// The key is in JSON, and the body says that it is a form.
    Form,
    /// The header field is missing.
    Header,
    /// The key is a field of a form, and the body is no form.
    NoForm,
    /// The place is there and has no key.
    Place(KeySourceError),
}

#[derive(Clone, Debug)]
pub(super) enum KeySource {
    /// What identifies the event of a webhook.
    Event,
    Form(String),
    Header {
        required: bool,
    },
    Json(Pointer),
    Path(String),
    Query(String),
}

impl KeySource {
    /// The source of a route's keys. The events of a webhook have theirs from the sender, or where
    /// `key_from` says.
    pub(super) fn of(
        config: &RouteConfig,
        webhook: Option<&Webhook>,
        pattern: &Pattern,
    ) -> Result<Self, Fault> {
        let from = config.key_from.as_ref();
        match (webhook, from) {
            (None, _) => Self::new(config.key, from, pattern),
            (Some(_), _) if config.key != KeyUse::Required => {
                Err(Fault::new("key", "has no effect with webhook"))
            }
            (Some(webhook), None) if webhook.needs_key_from() => {
                let reason =
                    "is missing: say where the event's identity is, or webhook.hmac.id_header";
                Err(Fault::new("key_from", reason))
            }
            (Some(webhook), Some(_)) if webhook.needs_key_from() => {
                Self::new(KeyUse::Generated, from, pattern)
            }
            (Some(_), Some(_)) => {
                let reason = "has no effect here: the sender says what identifies its events";
                Err(Fault::new("key_from", reason))
            }
            (Some(_), None) => Ok(Self::Event),
        }
    }

    fn new(key: KeyUse, from: Option<&KeyFrom>, pattern: &Pattern) -> Result<Self, Fault> {
        let error = |reason: &str| Err(Fault::new("key_from", reason));
        match (key, from.cloned()) {
            (KeyUse::Generated, None) => {
                error("is missing; a generated key comes from json, form, path or query")
            }
            (KeyUse::Generated, Some(KeyFrom::Form(name))) => Ok(Self::Form(name)),
            (KeyUse::Generated, Some(KeyFrom::Json(pointer))) => match Pointer::parse(&pointer) {
                Ok(pointer) => Ok(Self::Json(pointer)),
                Err(reason) => error(&reason.to_string()),
            },
            (KeyUse::Generated, Some(KeyFrom::Path(name))) if pattern.has(&name) => {
                Ok(Self::Path(name))
            }
            (KeyUse::Generated, Some(KeyFrom::Path(_))) => {
                error("names a segment that the path does not have")
            }
            (KeyUse::Generated, Some(KeyFrom::Query(name))) => Ok(Self::Query(name)),
            (_, Some(_)) => error("goes with key = \"generated\""),
            (_, None) => Ok(Self::Header {
                required: key == KeyUse::Required,
            }),
        }
    }
}

/// The header fields that may carry the key.
pub(super) fn key_headers(config: &RouteConfig) -> Result<Vec<String>, Fault> {
    let error = |reason| Fault::new("key_headers", reason);
    let Some(names) = &config.key_headers else {
        return Ok(vec![IDEMPOTENCY_KEY.to_owned()]);
    };
    if config.key == KeyUse::Generated || config.webhook.is_some() {
        return Err(error(
            "have no effect with key = \"generated\" or a webhook",
        ));
    }
    let names: Result<Vec<String>, _> = names.iter().map(|name| header_name(name)).collect();
    let names = names.map_err(error)?;
    let is_twice = |(index, name): (usize, &String)| names[..index].contains(name);
    match names.is_empty() || names.iter().enumerate().any(is_twice) {
        true => Err(error("are empty, or name a header field twice")),
        false => Ok(names),
    }
}

impl Route {
    /// The header fields that may carry the key, in lower case. Of a generated key, the one in which
    /// look-ups name it.
    pub fn key_headers(&self) -> &[String] {
        &self.key_headers
    }

    /// Whether a request without a key passes unprotected.
    pub fn is_optional(&self) -> bool {
        matches!(self.key, KeySource::Header { required: false })
    }

    /// Whether the gate takes the key from the request itself.
    pub fn generates_key(&self) -> bool {
        self.key_kind() == KeyKind::Generated
    }

    /// Who makes the route's keys.
    pub fn key_kind(&self) -> KeyKind {
        match self.key {
            KeySource::Header { .. } if self.token_ttl_ms.is_some() => KeyKind::Token,
            KeySource::Header { .. } => KeyKind::Client,
            _ => KeyKind::Generated,
        }
    }

    /// The key of a request; `None` if there is none and the route does not insist.
    ///
    /// # Errors
    ///
    /// [`KeyFault`] says what is missing or wrong, and where.
    pub fn key(&self, asked: &Asked<'_>) -> Result<Option<(Key, KeyKind)>, KeyFault> {
        if let KeySource::Header { required } = self.key {
            return match named_key(asked.headers)? {
                Some(key) => Ok(Some((key, self.key_kind()))),
                None if required => Err(KeyFault::Missing(MissingKey::Header)),
                None => Ok(None),
            };
        }
        let text = self.generated(asked)?;
        Ok(Some((Key::from_value(text.as_str())?, self.key_kind())))
    }

    fn generated(&self, asked: &Asked<'_>) -> Result<KeyText, MissingKey> {
        let query = asked.query.as_bytes();
        // Some servers read the query, too, in the encoding that the body names.
        let is_in_path = matches!(self.key, KeySource::Path(_));
        if !is_in_path && charset::is_other(asked.content_type.as_bytes()) {
            return Err(MissingKey::Charset);
        }
        Ok(match &self.key {
            KeySource::Form(name) => {
                let field = asked.field(name, form::field).ok_or(MissingKey::NoForm)?;
                agreed(name, field?, Some(form::beside(query, name)))?
            }
            KeySource::Event | KeySource::Header { .. } => return Err(MissingKey::Header),
            KeySource::Json(_) if asked.has_form() => return Err(MissingKey::Form),
            KeySource::Json(pointer) => only_key_value(asked.body, pointer)?,
            KeySource::Path(name) => {
                let segment = self.pattern.capture(asked.path, name);
                form::segment(segment.unwrap_or_default(), name)?
            }
            KeySource::Query(name) => {
                let other = asked.field(name, form::beside);
                agreed(name, form::field(query, name)?, other)?
            }
        })
    }
}

type ReadField = fn(&[u8], &str) -> Result<KeyText, KeySourceError>;

impl Asked<'_> {
    /// The key in this field of the body, which `read` finds in an URL-encoded one; `None` if it is no form.
    fn field(&self, name: &str, read: ReadField) -> Option<Result<KeyText, KeySourceError>> {
        match Boundary::parse(self.content_type) {
            Ok(boundary) => Some(multipart::field(self.body, &boundary, name)),
            Err(fault) if is_multipart(self.content_type) => {
                Some(Err(KeySourceError::of_boundary(name, fault)))
            }
            Err(_) => is_form(self.content_type).then(|| read(self.body, name)),
        }
    }

    /// Whether some server reads the body as a form.
    fn has_form(&self) -> bool {
        is_form(self.content_type) || is_multipart(self.content_type)
    }
}

/// The one key that these header fields carry, each in either spelling (rule K1).
///
/// # Errors
///
/// [`KeyFault`] if one of them carries no key, or two carry different ones.
pub fn named_key(headers: &[(&str, &str)]) -> Result<Option<Key>, KeyFault> {
    let mut found: Option<(&str, Key)> = None;
    for (name, value) in headers {
        let key = Key::parse(value)?;
        match &found {
            Some((one, known)) if *known != key => {
                return Err(KeyFault::Ambiguous {
                    one: (*one).to_owned(),
                    other: (*name).to_owned(),
                });
            }
            Some(_) => {}
            None => found = Some((name, key)),
        }
    }
    Ok(found.map(|(_, key)| key))
}

impl From<KeyError> for KeyFault {
    fn from(error: KeyError) -> Self {
        Self::Invalid(error)
    }
}

impl From<MissingKey> for KeyFault {
    fn from(missing: MissingKey) -> Self {
        Self::Missing(missing)
    }
}

impl From<KeySourceError> for MissingKey {
    fn from(error: KeySourceError) -> Self {
        Self::Place(error)
    }
}

impl fmt::Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguous { one, other } => {
                write!(f, "{one} and {other} carry different keys")
            }
            Self::Invalid(error) => error.fmt(f),
            Self::Missing(MissingKey::Header) => f.write_str("there is no Idempotency-Key header"),
            Self::Missing(MissingKey::Charset) => f.write_str(
                "by its Content-Type the body is not UTF-8, and its charset may give the key another value; send it with charset=utf-8, or without any",
            ),
            Self::Missing(MissingKey::Form) => {
                f.write_str("the key is in a JSON body, and by its Content-Type the body is a form")
            }
            Self::Missing(MissingKey::NoForm) => {
                f.write_str("the key is a form field, and the body is no form")
            }
            Self::Missing(MissingKey::Place(error)) => error.fmt(f),
        }
    }
}

impl core::error::Error for KeyFault {}
