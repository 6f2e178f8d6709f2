//! Where a route's key comes from (rule K2), and how its bodies are compared (rule K3).

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;

use super::path::Pattern;
use super::route::{KeyUse, Route};
use crate::body::multipart::{self, Boundary};
use crate::body::pointer::{Pointer, key_value};
use crate::body::{KeySourceError, KeyText, canonical, form};
use crate::key::{Key, KeyError, KeyKind};

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

/// How bodies are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum FingerprintMode {
    /// JSON by what it says: order of members, white space and spelling of numbers do not count.
    Json,
    /// Byte by byte.
    #[default]
    Raw,
}

/// What a request offers to take a key from.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a place left out must be a compile error"
)]
pub struct Asked<'a> {
    /// The value of `Idempotency-Key`.
    pub header: Option<&'a str>,
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
    /// There is something, and it is no key.
    Invalid(KeyError),
    /// There is none where the route looks for it.
    Missing(MissingKey),
}

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum MissingKey {
    /// The header is missing.
    Header,
    /// The key is a field of a form, and the body is no form.
    NoForm,
    /// The place is there and has no key.
    Place(KeySourceError),
}

#[derive(Clone, Debug)]
pub(super) enum KeySource {
    Form(String),
    Header { required: bool },
    Json(Pointer),
    Path(String),
    Query(String),
}

#[derive(Clone, Debug)]
pub(super) enum BodyMode {
    Json { ignore: Vec<Pointer> },
    Raw,
}

impl KeySource {
    pub(super) fn new(
        key: KeyUse,
        from: Option<KeyFrom>,
        pattern: &Pattern,
    ) -> Result<Self, String> {
        match (key, from) {
            (KeyUse::Generated, None) => {
                Err("is missing; a generated key comes from json, form, path or query".into())
            }
            (KeyUse::Generated, Some(KeyFrom::Form(name))) => Ok(Self::Form(name)),
            (KeyUse::Generated, Some(KeyFrom::Json(pointer))) => Pointer::parse(&pointer)
                .map(Self::Json)
                .map_err(|error| error.to_string()),
            (KeyUse::Generated, Some(KeyFrom::Path(name))) if pattern.has(&name) => {
                Ok(Self::Path(name))
            }
            (KeyUse::Generated, Some(KeyFrom::Path(_))) => {
                Err("names a segment that the path does not have".into())
            }
            (KeyUse::Generated, Some(KeyFrom::Query(name))) => Ok(Self::Query(name)),
            (_, Some(_)) => Err("goes with key = \"generated\"".into()),
            (_, None) => Ok(Self::Header {
                required: key == KeyUse::Required,
            }),
        }
    }
}

impl BodyMode {
    pub(super) fn new(mode: FingerprintMode, ignore: &[String]) -> Result<Self, String> {
        let pointers = ignore.iter().map(|pointer| Pointer::parse(pointer));
        let ignore = pointers
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| error.to_string())?;
        match mode {
            FingerprintMode::Json => Ok(Self::Json { ignore }),
            FingerprintMode::Raw if ignore.is_empty() => Ok(Self::Raw),
            FingerprintMode::Raw => Err("goes with fingerprint = \"json\"".into()),
        }
    }
}

impl Route {
    /// Whether a decision needs to see the bytes of a body of this type. If not, a digest that the
    /// platform makes of them is enough.
    pub fn reads_body(&self, content_type: &str) -> bool {
        matches!(self.key, KeySource::Form(_) | KeySource::Json(_))
            || is_multipart(content_type)
            || (matches!(self.body, BodyMode::Json { .. }) && is_json(content_type))
    }

    /// Whether a request without a key passes unprotected.
    pub fn is_optional(&self) -> bool {
        matches!(self.key, KeySource::Header { required: false })
    }

    /// Whether the gate takes the key from the request itself.
    pub fn generates_key(&self) -> bool {
        !matches!(self.key, KeySource::Header { .. })
    }

    /// The key of a request; `None` if there is none and the route does not insist.
    ///
    /// # Errors
    ///
    /// [`KeyFault`] says what is missing or wrong, and where.
    pub fn key(&self, asked: &Asked<'_>) -> Result<Option<(Key, KeyKind)>, KeyFault> {
        if let KeySource::Header { required } = self.key {
            return match asked.header {
                Some(value) => Ok(Some((Key::parse(value)?, KeyKind::Client))),
                None if required => Err(KeyFault::Missing(MissingKey::Header)),
                None => Ok(None),
            };
        }
        let text = self.generated(asked)?;
        Ok(Some((Key::from_value(text.as_str())?, KeyKind::Generated)))
    }

    fn generated(&self, asked: &Asked<'_>) -> Result<KeyText, MissingKey> {
        Ok(match &self.key {
            KeySource::Form(name) => match Boundary::parse(asked.content_type) {
                Ok(boundary) => multipart::field(asked.body, &boundary, name)?,
                Err(_) if is_form(asked.content_type) => form::field(asked.body, name)?,
                Err(_) => return Err(MissingKey::NoForm),
            },
            KeySource::Header { .. } => return Err(MissingKey::Header),
            KeySource::Json(pointer) => key_value(asked.body, pointer)?,
            KeySource::Path(name) => {
                let segment = self.pattern.capture(asked.path, name);
                form::segment(segment.unwrap_or_default(), name)?
            }
            KeySource::Query(name) => form::field(asked.query.as_bytes(), name)?,
        })
    }

    /// The digest of what a body says; `None` where only its bytes count.
    pub fn body_digest(&self, content_type: &str, body: &[u8]) -> Option<[u8; 32]> {
        if let Ok(boundary) = Boundary::parse(content_type) {
            return multipart::digest(body, &boundary).ok();
        }
        match &self.body {
            BodyMode::Json { ignore } if is_json(content_type) => {
                canonical::digest(body, ignore).ok()
            }
            _ => None,
        }
    }
}

fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

fn is_form(content_type: &str) -> bool {
    media_type(content_type).eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

fn is_json(content_type: &str) -> bool {
    let media_type = media_type(content_type).to_ascii_lowercase();
    media_type == "application/json" || media_type.ends_with("+json")
}

fn is_multipart(content_type: &str) -> bool {
    media_type(content_type).eq_ignore_ascii_case("multipart/form-data")
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
            Self::Invalid(error) => error.fmt(f),
            Self::Missing(MissingKey::Header) => f.write_str("there is no Idempotency-Key header"),
            Self::Missing(MissingKey::NoForm) => {
                f.write_str("the key is a form field, and the body is no form")
            }
            Self::Missing(MissingKey::Place(error)) => error.fmt(f),
        }
    }
}

impl core::error::Error for KeyFault {}
