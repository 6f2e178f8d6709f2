//! The issuer's keys (JSON Web Keys, RFC 7517), and which of them belong to which algorithm.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// The least length of an RSA modulus in base64url: 2048 bits.
const SHORTEST_MODULUS: usize = 342;

/// How tokens may be signed: never symmetrically, or everybody who verifies could issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must verify each")]
pub enum Algorithm {
    /// Ed25519.
    EdDsa,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
}

/// A set of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct JwkSet {
    /// The keys. Some may be of kinds that are not known here.
    pub keys: Vec<Jwk>,
}

/// A public key. Written out again it has no private part, whatever it had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Jwk {
    /// Its type.
    pub kty: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// The one algorithm that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
    /// What it is for: `sig` or `enc`.
    #[serde(rename = "use", skip_serializing)]
    pub usage: Option<String>,
    /// What may be done with it.
    #[serde(skip_serializing)]
    pub key_ops: Option<Vec<String>>,
    /// The curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crv: Option<String>,
    /// The modulus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<String>,
    /// The exponent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub e: Option<String>,
    /// The point's x.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The point's y.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
}

impl Algorithm {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "EdDSA" | "Ed25519" => Self::EdDsa,
            "ES256" => Self::Es256,
            "RS256" => Self::Rs256,
            _ => return None,
        })
    }

    pub(super) fn signature_length(self) -> Option<usize> {
        match self {
            Self::EdDsa | Self::Es256 => Some(64),
            Self::Rs256 => None,
        }
    }

    /// Whether a key is one for this algorithm: a token must not choose how its key is used.
    pub(super) fn takes(self, key: &Jwk) -> bool {
        let (kty, crv) = (key.kty.as_deref(), key.crv.as_deref());
        let is_of_type = match self {
            Self::EdDsa => (kty, crv) == (Some("OKP"), Some("Ed25519")),
            Self::Es256 => (kty, crv) == (Some("EC"), Some("P-256")),
            Self::Rs256 => {
                let modulus = key.n.as_deref().unwrap_or_default();
                kty == Some("RSA") && modulus.len() >= SHORTEST_MODULUS
            }
        };
        let may_verify = |ops: &Vec<String>| ops.iter().any(|op| op == "verify");
        is_of_type
            && (key.alg.as_deref()).is_none_or(|alg| Self::parse(alg) == Some(self))
            && (key.usage.as_deref()).is_none_or(|usage| usage == "sig")
            && key.key_ops.as_ref().is_none_or(may_verify)
    }
}

impl JwkSet {
    /// Whether a token could be verified with any of the keys.
    pub fn is_usable(&self) -> bool {
        let algorithms = [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256];
        let is_usable = |key| algorithms.iter().any(|algorithm| algorithm.takes(key));
        self.keys.iter().any(is_usable)
    }
}
