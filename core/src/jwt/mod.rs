//! Tokens that say who calls (JSON Web Tokens, RFC 7519), as far as that is decided without
//! cryptography: what they look like, with which key they have to be verified, and what they claim.
//!
//! Invariant: claims come out of [`Unverified`] only through [`Unverified::claims`], which a shell
//! calls after the signature was verified with the key that [`Unverified::key`] gave. What two readers
//! could understand differently is refused: members that occur twice, critical header fields, unsecured
//! and symmetric algorithms, and keys of another type than the algorithm's.

mod claims;
mod error;
mod keys;
mod object;
#[cfg(test)]
mod tests;

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

pub use self::claims::{ClaimName, Claims, Expected};
pub use self::error::TokenError;
pub use self::keys::{Algorithm, Jwk, JwkSet};
use self::object::Object;
use crate::body::json::Event;

/// The largest token that is read, in bytes.
const LARGEST_TOKEN: usize = 8 * 1024;

/// How tokens are verified, as written in the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the one documented list of settings"
)]
pub struct JwtConfig {
    /// Where the issuer publishes its keys.
    pub jwks_url: Option<String>,
    /// The issuer's keys.
    pub jwks: Option<JwkSet>,
    /// Who has to have issued a token (`iss`).
    pub issuer: String,
    /// Whom a token has to be for (`aud`).
    pub audience: String,
    /// The header field with the token; `Authorization`, behind `Bearer`.
    pub header: Option<String>,
}

/// A token whose signature nobody has looked at yet.
#[derive(Clone, Debug)]
pub struct Unverified {
    algorithm: Algorithm,
    key_id: Option<String>,
    signed: String,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl Unverified {
    /// Reads a token.
    ///
    /// # Errors
    ///
    /// [`TokenError`] says why it cannot be verified.
    pub fn parse(token: &str) -> Result<Self, TokenError> {
        if token.len() > LARGEST_TOKEN {
            return Err(TokenError::TooLarge);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Form)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::Form)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Form);
        let (algorithm, key_id) = read_header(&decode(header)?)?;
        let signature = decode(signature)?;
        match algorithm.signature_length() {
            Some(length) if length != signature.len() => return Err(TokenError::Signature),
            _ => {}
        }
        Ok(Self {
            algorithm,
            key_id,
            signed: signed.to_owned(),
            payload: decode(payload)?,
            signature,
        })
    }

    /// How it is signed.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// What is signed.
    pub fn signed(&self) -> &str {
        &self.signed
    }

    /// The signature.
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// The key with which it has to be verified: the one that it names, or the only one of its type.
    ///
    /// # Errors
    ///
    /// [`TokenError::UnknownKey`] if there is none.
    pub fn key<'k>(&self, keys: &'k JwkSet) -> Result<&'k Jwk, TokenError> {
        let mut fitting = keys.keys.iter().filter(|key| self.algorithm.takes(key));
        let found = match &self.key_id {
            Some(id) => fitting.find(|key| key.kid.as_ref() == Some(id)),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        };
        found.ok_or(TokenError::UnknownKey)
    }

    /// What it claims, if it is for us and now. Only for a token whose signature was verified.
    ///
    /// # Errors
    ///
    /// [`TokenError`] says what is wrong.
    pub fn claims(self, expected: &Expected, now_ms: u64) -> Result<Claims, TokenError> {
        Claims::read(self.payload, expected, now_ms)
    }
}

fn read_header(header: &[u8]) -> Result<(Algorithm, Option<String>), TokenError> {
    let mut object = Object::open(header)?;
    let (mut algorithm, mut key_id) = (None, None);
    while let Some(name) = object.name()? {
        let value = object.value()?;
        match (name.as_str(), value) {
            ("alg", Event::String(text)) => {
                let text: String = text.chars().collect();
                algorithm = Some(Algorithm::parse(&text).ok_or(TokenError::Algorithm)?);
            }
            ("kid", Event::String(text)) => key_id = Some(text.chars().collect()),
            ("crit" | "b64", _) => return Err(TokenError::Critical),
            ("alg", _) => return Err(TokenError::Algorithm),
            ("kid", _) => return Err(TokenError::UnknownKey),
            (_, value) => object.skip(value)?,
        }
    }
    Ok((algorithm.ok_or(TokenError::Algorithm)?, key_id))
}
