//! Who has a lock, and who asks for one.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hex;

/// What proves that a lock is one's own: 128 bits that the gate has drawn, for this grant alone.
#[derive(Clone, Copy)]
pub struct Owner([u8; 16]);

impl Owner {
    /// Of bits that nobody can foretell.
    pub fn new(bits: [u8; 16]) -> Self {
        Self(bits)
    }

    /// Reads 32 lower-case hexadecimal digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        hex::decode(text).map(Self)
    }

    /// As it is written.
    pub fn to_text(self) -> String {
        hex::encode(&self.0)
    }
}

/// Takes the same time wherever two differ: who guesses learns nothing from it.
impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |differs, (one, two)| differs | (one ^ two)) == 0
    }
}

impl Eq for Owner {}

/// Not shown: it is a secret.
impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner(…)")
    }
}

/// Who asks for a lock: a digest of the key under which it asks, the same each time it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asker([u8; 32]);

impl Asker {
    /// By the digest of its key.
    pub fn new(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// As it is written.
    pub fn to_text(self) -> String {
        hex::encode(&self.0)
    }
}

impl Serialize for Asker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Asker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digest = hex::decode(&text).map(Self);
        digest.ok_or_else(|| serde::de::Error::custom("the digest of a key has 64 digits"))
    }
}

impl Serialize for Owner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Owner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("an owner has 32 digits"))
    }
}
