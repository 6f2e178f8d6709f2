//! What an origin's answer proves about its attempt (rules A1 to A3).
//!
//! Invariant: *not executed* and *refused* are said only where nothing that is still under way can
//! contradict them. Whatever is not proof is [`Outcome::Unknown`].

mod rules;

use serde::{Deserialize, Serialize};

pub use self::rules::{LONGEST_VALUE, OutcomeRule, Place, Rules};
use crate::outcome::Outcome;

/// What a route's origin can do to settle an unknown operation (rule A6). There is no default: the
/// operator has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract's list; a new kind is a new version"
)]
pub enum Origin {
    /// It keeps a ledger (section 6): the same key may be sent again at any time, and only its
    /// `Idempotency-Outcome` counts.
    Ledger,
    /// It can neither be asked nor be sent the same again: unknown operations wait for a person.
    None,
    /// It can be asked afterwards what became of a key.
    Read,
}

/// What came back from an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an attempt is answered or it is not"
)]
pub enum Reply<'a> {
    /// A whole answer.
    Answered {
        /// The HTTP status.
        status: u16,
        /// The value of `Idempotency-Outcome`, if the answer has one.
        outcome: Option<&'a str>,
        /// The value at the [`Place`] of the route's outcome rule, if there is a rule and a value.
        value: Option<&'a str>,
    },
    /// Anything else: a refused or dropped connection, a cut body, a timeout. The platform cannot
    /// tell a connection that was never made from one that broke after the request was sent, so
    /// none of it proves anything.
    Lost,
}

/// Judges a reply. `others_settled` says that every other attempt of the operation is settled as
/// not executed, or refused under another fingerprint: without a ledger, a "no" to this attempt may be
/// an earlier one's doing.
pub fn judge(origin: Origin, rules: &Rules, reply: Reply<'_>, others_settled: bool) -> Outcome {
    let Reply::Answered {
        status,
        outcome,
        value,
    } = reply
    else {
        return Outcome::Unknown;
    };
    match (origin, outcome.map(Outcome::parse)) {
        (Origin::Ledger, outcome) => outcome.flatten().unwrap_or(Outcome::Unknown),
        // Only a ledger's row can promise that nothing will happen later.
        (_, Some(Some(Outcome::Cancelled) | None)) => Outcome::Unknown,
        (_, Some(Some(outcome))) => outcome,
        (_, None) => rules.judge(status, value, others_settled),
    }
}

fn judge_status(status: u16, others_settled: bool) -> Outcome {
    match status {
        200..=399 => Outcome::Executed,
        // Misdirected, and refused as early data: said before anything is looked at.
        421 | 425 => Outcome::NotExecuted,
        408 | 409 | 412 | 423 => Outcome::Unknown,
        400..=499 if !others_settled => Outcome::Unknown,
        401 | 403 | 404 | 405 | 411 | 413..=415 | 426 | 429 | 431 => Outcome::NotExecuted,
        400..=499 => Outcome::Refused,
        // Cloudflare's own: it could not reach a proxied origin.
        521 | 523 | 525 | 526 | 530 => Outcome::NotExecuted,
        // 5xx, 503 included: many proxies and frameworks say it after the work has begun.
        _ => Outcome::Unknown,
    }
}

#[cfg(test)]
mod tests;
