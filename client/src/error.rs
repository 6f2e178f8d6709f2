//! What can go wrong, as sentences.

use std::fmt;

use serde::Deserialize;

/// Why a call did not come to what was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The client cannot work with what it was given; nothing was sent.
    Setup(String),
    /// No answer came, or none of the gate's: it is not known what became of the call.
    NoAnswer {
        /// What was being done.
        doing: String,
        /// Why no answer came.
        reason: String,
    },
    /// The gate said no.
    Refused {
        /// What was being done.
        doing: String,
        /// The gate's word.
        problem: Problem,
    },
}

/// The gate's word: a problem of RFC 9457.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// For programs: `lock_busy`, `unauthorized` and the others of docs/protocol.md.
    pub code: String,
    /// For people: what it is and what to do.
    pub detail: String,
    /// Whether the same call may be made again.
    pub retryable: bool,
    /// When, in milliseconds from the answer.
    pub retry_after_ms: Option<u64>,
}

impl Error {
    /// The gate's code, if it was the gate that said no.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { problem, .. } => Some(&problem.code),
            Self::Setup(_) | Self::NoAnswer { .. } => None,
        }
    }

    pub(crate) fn no_answer(doing: &str, error: &reqwest::Error) -> Self {
        // The innermost error has the reason; those around it say that there is one.
        let mut reason: &dyn std::error::Error = error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        Self::NoAnswer {
            doing: doing.to_owned(),
            reason: match error.is_timeout() {
                true => "it took too long".to_owned(),
                false => reason.to_string(),
            },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(reason) => f.write_str(reason),
            Self::NoAnswer { doing, reason } => write!(
                f,
                "{doing}: the gate did not answer ({reason}), and it is not known what became of it"
            ),
            Self::Refused { doing, problem } => write!(
                f,
                "{doing}: the gate said no ({}, {}). {}",
                problem.status, problem.code, problem.detail
            ),
        }
    }
}

impl std::error::Error for Error {}
