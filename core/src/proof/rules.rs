//! What a route says about the answers of its origin (rules A2, A3).
//!
//! Invariant: what a route says speaks for the attempt that was answered, and a *refused* counts only
//! while no other attempt can be its cause. What is said of an operation is joined over all attempts
//! elsewhere (rule I7).

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::judge_status;
use crate::body::pointer::{Pointer, can_be_read, scalar_at};
use crate::outcome::Outcome;

/// The longest value that a rule can list, in characters. Longer ones in an answer are cut off behind
/// one more, so that they equal none.
pub const LONGEST_VALUE: usize = 256;

/// Where a route knows better than the general rules. Ledger origins have none: only their header
/// counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a rule left out must be a compile error"
)]
pub struct Rules {
    /// Statuses that say that their attempt had no effect and can have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_executed: Vec<u16>,
    /// Statuses with which the origin says no for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<u16>,
    /// Statuses that prove nothing; they come before the other lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<u16>,
    /// For origins that say it inside the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeRule>,
}

/// How an origin says inside its answer what became of the request (rule A2).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a rule left out must be a compile error"
)]
pub struct OutcomeRule {
    /// Where the value is.
    pub place: Place,
    /// Values that say *executed*.
    pub executed: Vec<String>,
    /// Values that say *refused*.
    pub refused: Vec<String>,
    /// Values that say *not executed*.
    pub not_executed: Vec<String>,
    /// What any other value says, unless the status alone proves nothing.
    pub otherwise: Outcome,
}

/// The place of a value in an answer. Values are compared as texts: that of a string, the digits of a
/// number as they are written, or `true`, `false`, `null`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Place {
    /// A header field.
    Header(String),
    /// A value in a JSON body.
    Json(Pointer),
}

impl Place {
    /// The value in the body of an answer, for [`Reply::Answered`](super::Reply::Answered); `None` if
    /// it is not there, or is in a header field.
    pub fn value_in(&self, body: &[u8]) -> Option<String> {
        match self {
            Self::Header(_) => None,
            Self::Json(pointer) => scalar_at(without_mark(body), pointer, LONGEST_VALUE + 1),
        }
    }

    /// Whether there may be a value in an answer of this type in which none was found: in JSON that was not
    /// seen (`None`), or could be read in two ways or in none. Then the status says nothing: most values
    /// that are not listed come with one that sounds like a refusal.
    pub fn may_hide_value(&self, content_type: &str, body: Option<&[u8]>) -> bool {
        let Self::Json(pointer) = self else {
            return false;
        };
        let is_read = body.is_some_and(|body| {
            let body = without_mark(body);
            body.is_empty() || can_be_read(body, pointer)
        });
        content_type.to_ascii_lowercase().contains("json") && !is_read
    }
}

/// The body without a byte order mark, which some origins put in front of JSON.
fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

impl Rules {
    pub(super) fn judge(&self, status: u16, value: Option<&str>, others_settled: bool) -> Outcome {
        let by_status = self.judge_status(status, others_settled);
        let said = match (&self.outcome, value) {
            (None, _) => return by_status,
            (Some(rule), Some(value)) => rule.says(value, by_status),
            // Something else has answered. A good status is what this origin says anyway.
            (Some(_), None) if (200..=399).contains(&status) => Outcome::Unknown,
            (Some(_), None) => return by_status,
        };
        first_refusal(said, others_settled)
    }

    fn judge_status(&self, status: u16, others_settled: bool) -> Outcome {
        if self.unknown.contains(&status) {
            Outcome::Unknown
        } else if self.refused.contains(&status) {
            first_refusal(Outcome::Refused, others_settled)
        } else if self.not_executed.contains(&status) {
            Outcome::NotExecuted
        } else {
            judge_status(status, others_settled)
        }
    }
}

impl OutcomeRule {
    fn says(&self, value: &str, by_status: Outcome) -> Outcome {
        let listed = |list: &[String]| list.iter().any(|listed| listed == value);
        if listed(&self.executed) {
            return Outcome::Executed;
        } else if listed(&self.refused) {
            return Outcome::Refused;
        } else if listed(&self.not_executed) {
            return Outcome::NotExecuted;
        }
        match self.otherwise {
            // Failures have their own values, which nobody lists.
            _ if by_status == Outcome::Unknown => Outcome::Unknown,
            Outcome::Cancelled | Outcome::InProgress => Outcome::Unknown,
            otherwise => otherwise,
        }
    }
}

/// A refusal while another attempt is open may say that the other one has done it already.
fn first_refusal(said: Outcome, others_settled: bool) -> Outcome {
    match said {
        Outcome::Refused if !others_settled => Outcome::Unknown,
        said => said,
    }
}
