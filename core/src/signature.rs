//! Whether a call comes from the gate (rules K6, L1).
//!
//! `Oncegate-Signature: t=<ms>, kid=<name>, v1=<hex>`, where `v1` is the HMAC-SHA-256, under the
//! secret of that name, over these lines joined by `\n`; an absent value is an empty line:
//!
//! ```text
//! oncegate-signature-v1
//! <t>
//! <METHOD>
//! <path and query, as sent to the origin>
//! <Idempotency-Key>
//! <Oncegate-Attempt>
//! <Oncegate-Operation>
//! <Oncegate-Key-Kind>
//! <Oncegate-Fingerprint>
//! ```
//!
//! **Invariant: one text has one reading.** No value may contain a line break, so no two different
//! claims share the text that is signed.
//!
//! The signature covers the request line and the named headers, and not the body: no origin compares
//! a body with the fingerprint. The body is protected by the transport: https between gate and
//! origin, unless they share a machine. The fingerprint's line binds the signature to what the gate
//! saw, so a signature cannot be moved to another fingerprint.
//!
//! A signature may be used again while its time is close to now: it proves who calls, not how often.
//! How often is the ledger's business.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::hex;

/// How far the clocks of gate and origin may be apart.
pub const CLOCK_TOLERANCE_MS: u64 = 5 * 60 * 1000;

/// The fewest characters a secret may have.
pub const MIN_SECRET_LENGTH: usize = 16;

/// The longest name of a secret: it stands in header fields, and in tokens, which are keys.
const LONGEST_NAME: usize = 64;

const VERSION: &str = "oncegate-signature-v1";
const ALERT_VERSION: &str = "oncegate-alert-v1";

/// The secrets that gate and origin share: the first one signs, all of them verify. Never empty.
///
/// Rotation: add the new one behind the old one on both sides, then move it to the front at the
/// gate, then drop the old one.
#[derive(Clone)]
pub struct Secrets(Vec<Secret>);

/// One of them.
#[derive(Clone)]
pub(crate) struct Secret {
    name: String,
    value: String,
}

/// What a signature vouches for: header values and request line exactly as sent.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a claim left out must be a compile error"
)]
pub struct Claims<'a> {
    /// The method.
    pub method: &'a str,
    /// Path and query as sent to the origin.
    pub path_and_query: &'a str,
    /// `Idempotency-Key`, as spelled in the header.
    pub key: &'a str,
    /// `Oncegate-Attempt`.
    pub attempt: &'a str,
    /// `Oncegate-Operation`.
    pub operation: &'a str,
    /// `Oncegate-Key-Kind`.
    pub key_kind: &'a str,
    /// `Oncegate-Fingerprint`.
    pub fingerprint: &'a str,
}

impl Secrets {
    /// Reads `name=secret[,name2=secret2]`. White space around an entry is not part of it.
    ///
    /// # Errors
    ///
    /// [`SecretsError`] says which entry is wrong and why; it never shows a secret.
    pub fn parse(text: &str) -> Result<Self, SecretsError> {
        let mut secrets: Vec<Secret> = Vec::new();
        for (index, entry) in text.split(',').enumerate() {
            let error = |kind| SecretsError {
                kind,
                entry: index + 1,
            };
            let secret = Secret::parse(entry.trim()).map_err(error)?;
            if secrets.iter().any(|known| known.name == secret.name) {
                return Err(error(SecretsErrorKind::Duplicate));
            }
            secrets.push(secret);
        }
        Ok(Self(secrets))
    }

    /// The one that signs.
    pub(crate) fn first(&self) -> &Secret {
        &self.0[0]
    }

    /// The one of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Secret> {
        self.0.iter().find(|secret| secret.name == name)
    }

    /// The value of `Oncegate-Signature` for these claims.
    pub fn sign(&self, now_ms: u64, claims: &Claims<'_>) -> String {
        let secret = self.first();
        let time = now_ms.to_string();
        secret.value(&time, secret.mac(&time, claims))
    }

    /// The value of `Oncegate-Alert-Signature` for an alert with this body: in the form of
    /// `Oncegate-Signature`, over `oncegate-alert-v1`, the time and the body, joined by `\n`.
    pub fn sign_alert(&self, now_ms: u64, body: &str) -> String {
        let secret = self.first();
        let time = now_ms.to_string();
        let mut mac = secret.hmac();
        mac.update([ALERT_VERSION, "\n", &time, "\n", body].concat().as_bytes());
        secret.value(&time, mac)
    }

    /// Checks the value of `Oncegate-Signature` against these claims. Gives the name of the secret
    /// that made it.
    ///
    /// # Errors
    ///
    /// [`SignatureError`] says what is wrong. Nothing may be done for such a call.
    pub fn verify(
        &self,
        now_ms: u64,
        header: &str,
        claims: &Claims<'_>,
    ) -> Result<&str, SignatureError> {
        let signature = Signature::parse(header).ok_or(SignatureError::Malformed)?;
        let secret = self.named(signature.kid);
        let secret = secret.ok_or(SignatureError::UnknownSecret)?;
        if claims.lines().iter().any(|line| line.contains('\n')) {
            return Err(SignatureError::LineBreak);
        }
        secret
            .mac(signature.time, claims)
            .verify_slice(&signature.mac)
            .map_err(|_| SignatureError::Mismatch)?;
        if signature.time_ms.abs_diff(now_ms) > CLOCK_TOLERANCE_MS {
            return Err(SignatureError::Clock);
        }
        Ok(&secret.name)
    }

    /// The name of the secret that somebody presents as it is. Takes the same time for every wrong one.
    pub fn presented(&self, value: &str) -> Option<&str> {
        // Digests are compared, so that the time tells nothing of a secret, its length included.
        let presented = digest(value).finalize().into_bytes();
        let mut names = self.0.iter().filter_map(|secret| {
            let same = digest(&secret.value).verify(&presented).is_ok();
            same.then_some(secret.name.as_str())
        });
        let found = names.next();
        names.for_each(drop);
        found
    }
}

/// A keyed digest for comparing.
fn digest(value: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(b"oncegate-bearer-v1")
        .expect("HMAC takes a secret of any length");
    mac.update(value.as_bytes());
    mac
}

/// Shows the names only.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.iter().map(|secret| &secret.name))
            .finish()
    }
}

impl Secret {
    fn parse(entry: &str) -> Result<Self, SecretsErrorKind> {
        let (name, value) = entry.split_once('=').ok_or(SecretsErrorKind::NoName)?;
        let is_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_name) {
            return Err(SecretsErrorKind::Name);
        }
        if !value.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
            return Err(SecretsErrorKind::Characters);
        }
        if value.len() < MIN_SECRET_LENGTH {
            return Err(SecretsErrorKind::TooShort);
        }
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// For a message that says in its first bytes what it is.
    pub(crate) fn hmac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(self.value.as_bytes()).expect("HMAC takes a secret of any length")
    }

    /// The value of a header with this signature.
    fn value(&self, time: &str, mac: Hmac<Sha256>) -> String {
        let mac = hex::encode(&mac.finalize().into_bytes());
        ["t=", time, ", kid=", &self.name, ", v1=", &mac].concat()
    }

    fn mac(&self, time: &str, claims: &Claims<'_>) -> Hmac<Sha256> {
        let mut mac = self.hmac();
        mac.update(VERSION.as_bytes());
        mac.update(b"\n");
        mac.update(time.as_bytes());
        for line in claims.lines() {
            mac.update(b"\n");
            mac.update(line.as_bytes());
        }
        mac
    }
}

impl Claims<'_> {
    fn lines(&self) -> [&str; 7] {
        [
            self.method,
            self.path_and_query,
            self.key,
            self.attempt,
            self.operation,
            self.key_kind,
            self.fingerprint,
        ]
    }
}

struct Signature<'a> {
    time: &'a str,
    time_ms: u64,
    kid: &'a str,
    mac: [u8; 32],
}

impl<'a> Signature<'a> {
    /// Only the spelling that [`Secrets::sign`] writes: a header that was joined from two lines, or
    /// extended, is no signature.
    fn parse(header: &'a str) -> Option<Self> {
        let (time, rest) = header.strip_prefix("t=")?.split_once(", kid=")?;
        let (kid, mac) = rest.split_once(", v1=")?;
        if !time.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Self {
            time,
            time_ms: time.parse().ok()?,
            kid,
            mac: hex::decode(mac)?,
        })
    }
}

/// Why a text holds no secrets, and which entry is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretsError {
    kind: SecretsErrorKind,
    entry: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecretsErrorKind {
    Characters,
    Duplicate,
    Name,
    NoName,
    TooShort,
}

impl fmt::Display for SecretsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret {}: ", self.entry)?;
        match self.kind {
            SecretsErrorKind::Characters => {
                f.write_str("a secret consists of printable ASCII characters")
            }
            SecretsErrorKind::Duplicate => f.write_str("its name is taken by an earlier one"),
            SecretsErrorKind::Name => {
                f.write_str("a name consists of 1 to 64 lower-case letters, digits, _ and -")
            }
            SecretsErrorKind::NoName => f.write_str("write it as name=secret"),
            SecretsErrorKind::TooShort => write!(
                f,
                "a secret has at least {MIN_SECRET_LENGTH} characters; take random ones"
            ),
        }
    }
}

impl core::error::Error for SecretsError {}

/// Why a call is not the gate's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// Signed too long ago, or in the future.
    Clock,
    /// A signed value contains a line break.
    LineBreak,
    /// Not of the form that the gate writes.
    Malformed,
    /// Something that the signature covers was changed, or another secret made it.
    Mismatch,
    /// No secret of that name is known here.
    UnknownSecret,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clock => {
                "the signature is valid, but made more than 5 minutes away from this clock; set both clocks"
            }
            Self::LineBreak => "a signed value contains a line break",
            Self::Malformed => "the signature is not of the form `t=<ms>, kid=<name>, v1=<hex>`",
            Self::Mismatch => "the signature does not match the request",
            Self::UnknownSecret => "the signature names a secret that is not known here",
        })
    }
}

impl core::error::Error for SignatureError {}

#[cfg(test)]
mod tests;
