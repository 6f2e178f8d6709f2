//! What goes into a ledger and what comes out of it.

use std::error::Error;
use std::fmt;

use oncegate_core::fingerprint::{Fingerprint, Parts, body_sha256};
use oncegate_core::key::{Key, KeyError, KeyKind};
use oncegate_core::ledger::{Recorded, Row, State};
use serde::Serialize;

/// The longest answer that is stored, header fields included: what the gate stores at most.
pub const MAX_ANSWER: usize = 1_900_000;

/// Who asks for what.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the three values an attempt consists of"
)]
pub struct Call {
    /// The operation.
    pub key: Key,
    /// What is asked for.
    pub fingerprint: Fingerprint,
    /// Who made the key.
    pub kind: KeyKind,
}

impl Call {
    /// An operation that no gate has named: a key of the caller's own, and the bytes of what is asked for, such as an
    /// order's number and its amount. The same key with other bytes is refused.
    ///
    /// # Errors
    ///
    /// The key has more than 255 characters, or others than a key may have.
    pub fn of(key: &str, asked_for: &[u8]) -> Result<Self, KeyError> {
        Ok(Self {
            key: Key::parse(key)?,
            fingerprint: Fingerprint::of(&Parts {
                method: "",
                path_and_query: "",
                content_type: "",
                content_encoding: "",
                body_sha256: body_sha256(asked_for),
            }),
            kind: KeyKind::Client,
        })
    }
}

/// An answer as it is stored: a replay gives these bytes again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "an answer consists of these parts"
)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers that belong to the answer itself.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer in JSON.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON.
    pub fn json(status: u16, value: &impl Serialize) -> Result<Self, Failure> {
        let body = serde_json::to_vec(value).map_err(|error| Failure::NotExecuted(error.into()))?;
        Ok(Self {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            body,
        })
    }

    /// What cannot be stored must not be answered either: then the effect is undone.
    pub(super) fn check_size(&self) -> Result<(), Failure> {
        let headers = self.headers.iter();
        let size = headers.map(|(name, value)| name.len() + value.len() + 3);
        let size = self.body.len() + size.sum::<usize>();
        match size > MAX_ANSWER {
            true => Err(Failure::NotExecuted(
                format!("the answer has {size} bytes, and a ledger stores at most {MAX_ANSWER}")
                    .into(),
            )),
            false => Ok(()),
        }
    }
}

/// What an effect came to.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "an effect happens or it does not")]
pub enum Effect {
    /// It happened: commit it with this answer.
    Executed(Answer),
    /// The business says no: undo whatever was done, and remember this answer.
    Refused(Answer),
}

/// What an attempt hears. Everything here is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a verdict that a caller forgets must be a compile error"
)]
pub enum Verdict {
    /// Cancelled before it had an effect.
    Cancelled,
    /// Executed, now or earlier.
    Executed(Answer),
    /// The key was used for something else.
    OtherFingerprint(Recorded),
    /// Refused, now or earlier.
    Refused(Answer),
}

/// Why there is no verdict.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an outcome that a caller forgets must be a compile error"
)]
pub enum Failure {
    /// Another attempt holds this very key, and the wait is over.
    InProgress,
    /// This attempt did nothing, and will do nothing: it was rolled back, or never began.
    NotExecuted(Box<dyn Error + Send + Sync>),
    /// Nobody here can tell.
    Unknown(Box<dyn Error + Send + Sync>),
}

impl From<&Row<Answer>> for Verdict {
    fn from(row: &Row<Answer>) -> Self {
        match row.state {
            State::Cancelled => Self::Cancelled,
            State::Executed => Self::Executed(row.answer.clone()),
            State::Refused => Self::Refused(row.answer.clone()),
        }
    }
}

/// For errors before the commit: the transaction rolls back when it is dropped, so nothing was done.
///
/// The exception is a unique index of the business that the effect ran into: somebody has done this
/// before, outside the ledger, and *not executed* would be a lie about the operation.
impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        let violates = error.as_database_error();
        if violates.is_some_and(|error| error.is_unique_violation()) {
            Self::Unknown(error.into())
        } else {
            Self::NotExecuted(error.into())
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InProgress => f.write_str("another attempt holds the key"),
            Self::NotExecuted(cause) => write!(f, "nothing was done: {cause}"),
            Self::Unknown(cause) => write!(f, "it is not known what was done: {cause}"),
        }
    }
}

impl Error for Failure {}
