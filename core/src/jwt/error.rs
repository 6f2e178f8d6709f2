//! Why a token is not believed.

use core::fmt;

use crate::body::json::JsonError;

/// Why a token is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It is signed in a way that is not accepted, or not at all.
    Algorithm,
    /// It is for somebody else.
    Audience,
    /// It has header fields that must be understood, and are not.
    Critical,
    /// It is over.
    Expired,
    /// It is not of the form of a signed token.
    Form,
    /// It was issued by somebody else.
    Issuer,
    /// A part of it is not JSON.
    Json(JsonError),
    /// A part of it is JSON, and no object.
    NoObject,
    /// A time in it is missing, or is no time.
    NoTime(&'static str),
    /// It does not begin yet.
    NotYet,
    /// The signature is not that key's.
    Signature,
    /// It is larger than 8 KiB.
    TooLarge,
    /// A member occurs twice.
    Twice,
    /// No key of its algorithm has its name.
    UnknownKey,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Algorithm => "the token is not signed with RS256, ES256 or EdDSA",
            Self::Audience => "the token is for another audience",
            Self::Critical => "the token has critical header fields",
            Self::Expired => "the token has expired",
            Self::Form => "the token is not three parts of base64url with dots between them",
            Self::Issuer => "the token has another issuer",
            Self::Json(error) => return write!(f, "a part of the token is no JSON: {error}"),
            Self::NoObject => "a part of the token is no JSON object",
            Self::NoTime(name) => {
                return write!(f, "{name} of the token is missing or no number of seconds");
            }
            Self::NotYet => "the token is not valid yet",
            Self::Signature => "the signature of the token is wrong",
            Self::TooLarge => "the token is larger than 8192 bytes",
            Self::Twice => "a member of the token occurs twice",
            Self::UnknownKey => "the token is signed with a key that its issuer does not have",
        })
    }
}

impl core::error::Error for TokenError {}

impl From<JsonError> for TokenError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}
