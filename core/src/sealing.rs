//! The secrets with which stored answers and requests are encrypted.
//!
//! Invariant: what is encrypted names its secret, and only a secret of that name opens it. A stored row
//! outlives a rotation as long as its secret is still listed.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The length of a secret, in bytes: a key of AES-256.
const LENGTH: usize = 32;

/// The secrets: the first one seals, all of them open. Never empty.
///
/// Rotation: put the new one in front, and drop the old one when nothing that it sealed is kept any
/// more: one key ttl later, and no unknown operation of its time is left.
#[derive(Clone)]
pub struct SealingSecrets(Vec<SealingSecret>);

/// One of them.
#[derive(Clone)]
pub struct SealingSecret {
    name: String,
    key: [u8; LENGTH],
}

/// What is sealed. It is bound to what is sealed, so that nothing sealed can stand in for something
/// else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what a shard stores of a client's")]
pub enum Purpose {
    /// An origin's answer.
    Answer,
    /// A client's request.
    Request,
}

impl Purpose {
    /// What the seal is bound to: the purpose and the operation.
    pub fn context(self, operation: &str) -> String {
        let purpose = match self {
            Self::Answer => "answer",
            Self::Request => "request",
        };
        format!("oncegate-sealing-v1\n{purpose}\n{operation}")
    }
}

impl SealingSecrets {
    /// Reads `name=base64[,name2=base64]`. White space around an entry is not part of it.
    ///
    /// # Errors
    ///
    /// [`SealingError`] says which entry is wrong and why; it never shows a secret.
    pub fn parse(text: &str) -> Result<Self, SealingError> {
        let mut secrets: Vec<SealingSecret> = Vec::new();
        for (index, entry) in text.split(',').enumerate() {
            let entry = SealingSecret::parse(entry.trim()).and_then(|secret| {
                match secrets.iter().any(|known| known.name == secret.name) {
                    true => Err("its name is taken by an earlier one"),
                    false => Ok(secret),
                }
            });
            secrets.push(entry.map_err(|reason| SealingError {
                entry: index + 1,
                reason,
            })?);
        }
        Ok(Self(secrets))
    }

    /// The one that seals.
    ///
    /// # Panics
    ///
    /// Never: the parser refuses an empty list.
    pub fn first(&self) -> &SealingSecret {
        &self.0[0]
    }

    /// The one that opens what a secret of this name has sealed.
    pub fn named(&self, name: &str) -> Option<&SealingSecret> {
        self.0.iter().find(|secret| secret.name == name)
    }
}

impl SealingSecret {
    fn parse(entry: &str) -> Result<Self, &'static str> {
        let (name, value) = entry.split_once('=').ok_or("write it as name=base64")?;
        let is_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err("a name consists of lower-case letters, digits, _ and -");
        }
        let bytes = STANDARD.decode(value).map_err(|_| "it is no base64")?;
        let key = bytes
            .try_into()
            .map_err(|_| "it is the base64 of 32 random bytes, no more and no less")?;
        Ok(Self {
            name: name.to_owned(),
            key,
        })
    }

    /// Its name, which is written beside what it seals.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key.
    pub fn key(&self) -> &[u8; LENGTH] {
        &self.key
    }
}

/// Shows the names only.
impl fmt::Debug for SealingSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

/// Shows the name only.
impl fmt::Debug for SealingSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Why a text holds no sealing secrets, and which entry is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealingError {
    entry: usize,
    reason: &'static str,
}

impl fmt::Display for SealingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sealing secret {}: {}", self.entry, self.reason)
    }
}

impl core::error::Error for SealingError {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const ZEROS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const ONES: &str = "//////////////////////////////////////////8=";

    fn error(text: &str) -> String {
        SealingSecrets::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn the_first_secret_seals_and_each_opens_its_own() {
        let secrets = SealingSecrets::parse(&format!("new={ONES}, old={ZEROS}")).unwrap();
        assert_eq!(secrets.first().name(), "new");
        assert_eq!(secrets.first().key(), &[0xff; 32]);
        assert_eq!(secrets.named("old").unwrap().key(), &[0; 32]);
        assert!(secrets.named("older").is_none());
    }

    #[test]
    fn what_is_no_secret_is_refused_with_its_place() {
        assert_eq!(error(""), "sealing secret 1: write it as name=base64");
        assert_eq!(
            error(&format!("a={ZEROS},a={ONES}")),
            "sealing secret 2: its name is taken by an earlier one"
        );
        assert_eq!(
            error(&format!("A={ZEROS}")),
            "sealing secret 1: a name consists of lower-case letters, digits, _ and -"
        );
        assert_eq!(error("a=not base64"), "sealing secret 1: it is no base64");
        assert_eq!(
            error("a=AAAA"),
            "sealing secret 1: it is the base64 of 32 random bytes, no more and no less"
        );
    }

    #[test]
    fn nothing_shows_a_secret() {
        let secrets = SealingSecrets::parse(&format!("a={ONES}")).unwrap();
        assert_eq!(format!("{secrets:?}"), "[a]");
        assert!(!error(&format!("a={ONES}, b={ONES}x")).contains("///"));
    }

    #[test]
    fn what_is_sealed_is_bound_to_its_purpose_and_operation() {
        let contexts = [
            Purpose::Answer.context("op_a"),
            Purpose::Request.context("op_a"),
            Purpose::Answer.context("op_b"),
        ];
        assert_ne!(contexts[0], contexts[1]);
        assert_ne!(contexts[0], contexts[2]);
    }
}
