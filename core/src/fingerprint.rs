//! Which two requests ask for the same thing (rule K3).
//!
//! A fingerprint is the SHA-256 of the request's parts, each preceded by its length, so that no two
//! different requests share the bytes that are hashed. The body enters as its own SHA-256: a shell
//! may let its platform hash it and need not hand it over.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

use crate::hex;

/// The digest of what is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// The parts of a request that make its fingerprint.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a part left out must be a compile error"
)]
pub struct Parts<'a> {
    /// The method, as received.
    pub method: &'a str,
    /// Path and query, as received, dot segments removed.
    pub path_and_query: &'a str,
    /// The value of `Content-Type`; only type and subtype count, in lower case.
    pub content_type: &'a str,
    /// The value of `Content-Encoding`, in lower case.
    pub content_encoding: &'a str,
    /// SHA-256 of the body's bytes.
    pub body_sha256: [u8; 32],
}

impl Fingerprint {
    /// Stands for no request at all: a key can be cancelled before anything is asked under it.
    pub const NONE: Self = Self([0; 32]);

    /// The fingerprint of a request.
    pub fn of(parts: &Parts<'_>) -> Self {
        let media_type = parts.content_type.split(';').next().unwrap_or_default();
        let mut hash = Sha256::new();
        hash.update(b"oncegate-fingerprint-v1");
        for part in [
            parts.method,
            parts.path_and_query,
            &media_type.trim().to_ascii_lowercase(),
            &parts.content_encoding.trim().to_ascii_lowercase(),
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.update(parts.body_sha256);
        Self(hash.finalize().into())
    }

    /// Reads 64 digits of lower-case hexadecimal; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        hex::decode(text).map(Self)
    }

    /// The digest's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// SHA-256 of a body, for shells without a platform digest.
pub fn body_sha256(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| de::Error::custom("a fingerprint is 64 hexadecimal digits"))
    }
}
