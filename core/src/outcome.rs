//! The words with which origin and gate say what became of an operation.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::problem::Code;

/// What an origin says of the operation (`Idempotency-Outcome`, rule A1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract's list; a new word is a new version"
)]
pub enum Outcome {
    /// The operation was cancelled before it had an effect, and can have none.
    Cancelled,
    /// The effect is committed.
    Executed,
    /// Another attempt holds the key right now. Proves nothing.
    InProgress,
    /// This attempt had no effect and can have none.
    NotExecuted,
    /// The origin said no; there is no effect, and the refusal itself is committed.
    Refused,
    /// The origin cannot tell.
    Unknown,
}

impl Outcome {
    /// Reads a header value. `None` for a word that the contract does not know: it proves nothing.
    pub fn parse(value: &str) -> Option<Self> {
        Some(match value.trim_ascii() {
            "cancelled" => Self::Cancelled,
            "executed" => Self::Executed,
            "in_progress" => Self::InProgress,
            "not_executed" => Self::NotExecuted,
            "refused" => Self::Refused,
            "unknown" => Self::Unknown,
            _ => return None,
        })
    }

    /// What the answer of another gate says, by the state that it names and how it was decided: that of the
    /// request that was sent, unless the key is another request's there. `None` if the state is none.
    pub fn of_gate(status: &str, decision: Option<&str>) -> Option<Self> {
        Some(match Status::parse(status)? {
            _ if decision == Some(Code::KeyReused.as_str()) => Self::Unknown,
            Status::Cancelled => Self::Cancelled,
            Status::Executed | Status::Replayed => Self::Executed,
            Status::InProgress => Self::InProgress,
            Status::NotExecuted => Self::NotExecuted,
            Status::Refused => Self::Refused,
            Status::Unknown => Self::Unknown,
        })
    }

    /// The header value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Executed => "executed",
            Self::InProgress => "in_progress",
            Self::NotExecuted => "not_executed",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the gate says of the operation, over all its attempts (`Idempotency-Status`, rule P3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract's list; a new word is a new version"
)]
pub enum Status {
    /// Cancelled for good. Carried by `operation_cancelled` only.
    Cancelled,
    /// Executed by the attempt that this answer comes from.
    Executed,
    /// An attempt is open.
    InProgress,
    /// Every attempt is settled as not executed.
    NotExecuted,
    /// The origin said no.
    Refused,
    /// Executed earlier; this is what was answered then.
    Replayed,
    /// No proof yet.
    Unknown,
}

impl Status {
    /// Reads a header value. `None` for anything the contract does not know.
    pub fn parse(value: &str) -> Option<Self> {
        Some(match value {
            "cancelled" => Self::Cancelled,
            "executed" => Self::Executed,
            "in_progress" => Self::InProgress,
            "not_executed" => Self::NotExecuted,
            "refused" => Self::Refused,
            "replayed" => Self::Replayed,
            "unknown" => Self::Unknown,
            _ => return None,
        })
    }

    /// The header value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Executed => "executed",
            Self::InProgress => "in_progress",
            Self::NotExecuted => "not_executed",
            Self::Refused => "refused",
            Self::Replayed => "replayed",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a3_another_gate_is_believed_by_the_state_that_it_names() {
        for (status, said) in [
            ("executed", Outcome::Executed),
            ("replayed", Outcome::Executed),
            ("refused", Outcome::Refused),
            ("cancelled", Outcome::Cancelled),
            ("not_executed", Outcome::NotExecuted),
            ("in_progress", Outcome::InProgress),
            ("unknown", Outcome::Unknown),
        ] {
            assert_eq!(Outcome::of_gate(status, None), Some(said));
            assert_eq!(Outcome::of_gate(status, Some("replayed")), Some(said));
            let other = Outcome::of_gate(status, Some("key_reused"));
            assert_eq!(
                other,
                Some(Outcome::Unknown),
                "it speaks of another request"
            );
        }
        assert_eq!(Outcome::of_gate("ignored", None), None);
    }
}
