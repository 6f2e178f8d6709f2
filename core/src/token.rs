//! One-time tokens: keys that the gate issues (rule K2, section 7).
//!
//! A token is signed and stored nowhere: what it was issued for is inside it. It is used as a key, so
//! it is one in the grammar of K1:
//!
//! ```text
//! t1.<name of the secret>.<base64url of the bytes below>.<base64url of an HMAC-SHA-256>
//!
//! 8 bytes   when it was issued, in milliseconds, the highest byte first
//! 4 bytes   for how many seconds it may be used for the first time
//! 4 bytes   for how many seconds its operation is remembered at least
//! 16 bytes  drawn: two tokens are never the same
//! 16 bytes  digest of the tenant (scope)
//! 16 bytes  digest of the route
//! 16 bytes  digest of the principal, if one was authenticated when it was issued; else none
//! ```
//!
//! The HMAC is over `oncegate-token-v1`, a line feed, and the text in front of the last dot.
//!
//! Invariant: one token has one spelling, and the parser is the only constructor of [`Token`]: whoever
//! holds one knows that this gate has issued it, and for whom.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::principal::Principal;
use crate::signature::{Secret, Secrets};

const VERSION: &str = "t1";
const PURPOSE: &[u8] = b"oncegate-token-v1\n";

/// The bytes of a token without a principal, and with one.
const LENGTHS: [usize; 2] = [64, 80];

/// A short digest: enough to tell what a token was issued for; what stops a forger is the HMAC.
type Short = [u8; 16];

/// What a token is issued for.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a binding left out must be a compile error"
)]
pub struct Holder<'a> {
    /// The tenant.
    pub scope: &'a str,
    /// The route, by its name.
    pub route: &'a str,
    /// Who asks; for issuing, nobody if nobody was authenticated.
    pub principal: Option<Principal>,
}

/// How long a token can be used, and is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one message")]
pub struct Lifetime {
    /// When it was issued.
    pub issued_ms: u64,
    /// How long after that it may be used for the first time, in milliseconds.
    pub ttl_ms: u64,
    /// How long after that its operation is remembered at least, in milliseconds.
    pub key_ttl_ms: u64,
}

/// A token that this gate has issued for whoever presents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(Lifetime);

/// Why a key is no token, or not the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It was issued for something else.
    Foreign(&'static str),
    /// It does not have the form of a token.
    Malformed,
    /// It was changed, or made by somebody else.
    Mismatch,
    /// It names a secret that the gate does not know (any more).
    UnknownSecret,
}

impl Lifetime {
    /// When the token expires, unless it has a record by then.
    pub fn expires_ms(&self) -> u64 {
        self.issued_ms.saturating_add(self.ttl_ms)
    }

    /// From when on its record, if there was one, may be gone.
    pub fn forgotten_ms(&self) -> u64 {
        self.issued_ms.saturating_add(self.key_ttl_ms)
    }
}

impl Token {
    /// Issues a token. `drawn` comes from a cryptographic source of randomness; times are cut to whole
    /// seconds.
    pub fn issue(
        secrets: &Secrets,
        lifetime: Lifetime,
        holder: &Holder<'_>,
        drawn: [u8; 16],
    ) -> String {
        let secret = secrets.first();
        let bytes = bytes(lifetime, holder, drawn);
        let mut text = format!("{VERSION}.{}.", secret.name());
        URL_SAFE_NO_PAD.encode_string(bytes, &mut text);
        let tag = mac(secret, &text).finalize().into_bytes();
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(tag, &mut text);
        text
    }

    /// Reads a key that has to be a token of `holder`'s.
    ///
    /// # Errors
    ///
    /// [`TokenError`] says why it is none. Nothing may be done under such a key.
    pub fn parse(key: &str, secrets: &Secrets, holder: &Holder<'_>) -> Result<Self, TokenError> {
        let (text, tag) = key.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (name, payload) = parts(text).ok_or(TokenError::Malformed)?;
        let tag = decode(tag).ok_or(TokenError::Malformed)?;
        let bytes = decode(payload).ok_or(TokenError::Malformed)?;
        let secret = secrets.named(name).ok_or(TokenError::UnknownSecret)?;
        let verified = mac(secret, text).verify_slice(&tag);
        verified.map_err(|_| TokenError::Mismatch)?;
        let content = Content::read(&bytes).ok_or(TokenError::Malformed)?;
        content.check(holder)?;
        Ok(Self(content.lifetime))
    }

    /// How long it can be used, and is remembered.
    pub fn lifetime(&self) -> Lifetime {
        self.0
    }
}

fn parts(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(VERSION)?
        .strip_prefix('.')?
        .split_once('.')
}

/// Strict: no padding, no white space, no stray bits at the end.
fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

fn mac(secret: &Secret, text: &str) -> Hmac<Sha256> {
    let mut mac = secret.hmac();
    mac.update(PURPOSE);
    mac.update(text.as_bytes());
    mac
}

fn bytes(lifetime: Lifetime, holder: &Holder<'_>, drawn: [u8; 16]) -> Vec<u8> {
    let seconds = |ms: u64| u32::try_from(ms / 1_000).unwrap_or(u32::MAX).to_be_bytes();
    let mut bytes = Vec::with_capacity(LENGTHS[1]);
    bytes.extend(lifetime.issued_ms.to_be_bytes());
    bytes.extend(seconds(lifetime.ttl_ms));
    bytes.extend(seconds(lifetime.key_ttl_ms));
    bytes.extend(drawn);
    bytes.extend(short(b"scope", holder.scope.as_bytes()));
    bytes.extend(short(b"route", holder.route.as_bytes()));
    bytes.extend(holder.principal.into_iter().flat_map(of_principal));
    bytes
}

fn of_principal(principal: Principal) -> Short {
    short(b"principal", principal.as_bytes())
}

fn short(kind: &[u8], value: &[u8]) -> Short {
    let digest = Sha256::new().chain_update(kind).chain_update(b"\n");
    let digest = digest.chain_update(value).finalize();
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}

/// What is inside a token.
struct Content {
    lifetime: Lifetime,
    scope: Short,
    route: Short,
    principal: Option<Short>,
}

impl Content {
    fn read(bytes: &[u8]) -> Option<Self> {
        if !LENGTHS.contains(&bytes.len()) {
            return None;
        }
        let (issued_ms, rest) = bytes.split_first_chunk()?;
        let (ttl_s, rest) = rest.split_first_chunk()?;
        let (key_ttl_s, rest) = rest.split_first_chunk()?;
        let (_drawn, rest) = rest.split_first_chunk::<16>()?;
        let (scope, rest) = rest.split_first_chunk()?;
        let (route, rest) = rest.split_first_chunk()?;
        let ms = |seconds: &[u8; 4]| u64::from(u32::from_be_bytes(*seconds)) * 1_000;
        Some(Self {
            lifetime: Lifetime {
                issued_ms: u64::from_be_bytes(*issued_ms),
                ttl_ms: ms(ttl_s),
                key_ttl_ms: ms(key_ttl_s),
            },
            scope: *scope,
            route: *route,
            principal: rest.try_into().ok(),
        })
    }

    fn check(&self, holder: &Holder<'_>) -> Result<(), TokenError> {
        let principal = holder.principal.map(of_principal);
        if self.scope != short(b"scope", holder.scope.as_bytes()) {
            Err(TokenError::Foreign("tenant"))
        } else if self.route != short(b"route", holder.route.as_bytes()) {
            Err(TokenError::Foreign("route"))
        } else if self.principal.is_some() && self.principal != principal {
            Err(TokenError::Foreign("principal"))
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(whose) => write!(f, "it was issued for another {whose}"),
            Self::Malformed => f.write_str("the key is no token"),
            Self::Mismatch => f.write_str("this gate has not issued it"),
            Self::UnknownSecret => f.write_str("it names a secret that is not known here"),
        }
    }
}

impl core::error::Error for TokenError {}

#[cfg(test)]
mod tests;
