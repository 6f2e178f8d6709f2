//! How the bodies of a route are compared (rule K3).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::content_type::{is_form, is_json, is_multipart};
use super::error::Fault;
use super::route::Route;
use super::source::KeySource;
use crate::body::canonical;
use crate::body::multipart::{self, Boundary};
use crate::body::pointer::Pointer;

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

#[derive(Clone, Debug)]
pub(super) enum BodyMode {
    Json { ignore: Vec<Pointer> },
    Raw,
}

impl BodyMode {
    pub(super) fn new(mode: FingerprintMode, ignore: &[String]) -> Result<Self, Fault> {
        let error = |reason: &str| Fault::new("fingerprint_ignore", reason);
        let pointers = ignore.iter().map(|pointer| Pointer::parse(pointer));
        let ignore = pointers
            .collect::<Result<Vec<_>, _>>()
            .map_err(|reason| error(&reason.to_string()))?;
        match mode {
            FingerprintMode::Json => Ok(Self::Json { ignore }),
            FingerprintMode::Raw if ignore.is_empty() => Ok(Self::Raw),
            FingerprintMode::Raw => Err(error("goes with fingerprint = \"json\"")),
        }
    }
}

impl Route {
    /// Whether a decision needs to see the bytes of a body of this type. If not, a digest that the
    /// platform makes of them is enough.
    pub fn reads_body(&self, content_type: &str) -> bool {
        matches!(self.key, KeySource::Form(_) | KeySource::Json(_))
            || (matches!(self.key, KeySource::Query(_)) && is_form(content_type))
            || self.webhook.is_some()
            || is_multipart(content_type)
            || (matches!(self.body, BodyMode::Json { .. }) && is_json(content_type))
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
