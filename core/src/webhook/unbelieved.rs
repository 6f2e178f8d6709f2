//! Why a delivery is not taken for its sender's, or for an event.

use alloc::string::String;
use core::fmt;

use crate::body::KeySourceError;
use crate::key::KeyError;
use crate::problem::{Code, Problem};

/// Why a delivery is not believed. It says nothing that helps a forger.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unbelieved {
    /// The time of its signature is too far from now.
    Clock,
    /// The body cannot be read as what its sender sends.
    Content(KeySourceError),
    /// The body is no form, or one that can be read in two ways: a name occurs twice, or a field hides
    /// another.
    Form,
    /// This header field is not as its sender writes it.
    Header(String, &'static str),
    /// What identifies the event is no key.
    Identity(KeyError),
    /// No key of its name verifies now.
    Key,
    /// What is sealed cannot be opened.
    Seal,
    /// No key of the sender's has signed it.
    Signature,
    /// It does not say when it was sent.
    Undated,
}

impl Unbelieved {
    /// Whether the sender is who it should be, and only the event has no name.
    fn is_content(&self) -> bool {
        matches!(self, Self::Content(_) | Self::Identity(_))
    }
}

impl fmt::Display for Unbelieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clock => "the time of the signature is too far from now",
            Self::Content(error) => return error.fmt(f),
            Self::Form => "the body is no form, or one that can be read in two ways",
            Self::Header(name, what) => return write!(f, "the header field '{name}' {what}"),
            Self::Identity(error) => {
                return write!(f, "the event's identity is no key: {error}");
            }
            Self::Key => "no key that the signature names is valid now",
            Self::Seal => "what is encrypted in the event cannot be opened",
            Self::Signature => "the signature is not the sender's",
            Self::Undated => "it does not say when it was sent",
        })
    }
}

impl core::error::Error for Unbelieved {}

impl From<KeySourceError> for Unbelieved {
    fn from(error: KeySourceError) -> Self {
        Self::Content(error)
    }
}

impl From<KeyError> for Unbelieved {
    fn from(error: KeyError) -> Self {
        Self::Identity(error)
    }
}

impl From<&Unbelieved> for Problem {
    fn from(unbelieved: &Unbelieved) -> Self {
        let code = match unbelieved.is_content() {
            true => Code::KeyMissing,
            false => Code::SenderUnverified,
        };
        Self::new(code).because(unbelieved)
    }
}
