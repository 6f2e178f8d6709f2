//! What one answer means for the operation (rule T4).
//!
//! Invariant: only the gate's word ends an operation as failed. An answer without
//! `Idempotency-Status` may come from a proxy and says nothing about an earlier send.

use super::{End, Reason, Why};
use crate::outcome::{Outcome, Status};

/// What the client read in an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a shell that leaves a part unread must not compile"
)]
pub struct Answer {
    /// The HTTP status.
    pub http_status: u16,
    /// Whether a redirect was followed: then another resource answered, a login page perhaps.
    pub redirected: bool,
    /// `Idempotency-Status`. A word that is not known counts as [`Status::Unknown`], not as absent.
    pub status: Option<Status>,
    /// The wait that was asked for.
    pub retry_after_ms: Option<u64>,
    /// The gate's problem, if the body is one.
    pub problem: Problem,
}

/// The members of a problem (rule P1) that decide something here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a shell that leaves a part unread must not compile"
)]
pub struct Problem {
    /// `code` is `key_reused`: an earlier payload of this intent has the key.
    pub key_reused: bool,
    /// `state`: what became of the operation that has the key.
    pub state: Option<Outcome>,
    /// `safe_new_key`: nothing of that operation can happen any more.
    pub safe_new_key: bool,
    /// `retryable`: whether sending the same again is of use.
    pub retryable: Option<bool>,
}

/// What to do after an answer.
pub(super) enum Verdict {
    /// Nothing more.
    End(End),
    /// The key is dead, with nothing executed: send this payload under the next epoch's key.
    NextKey,
    /// Ask again, under the same key.
    Again,
}

impl Answer {
    pub(super) fn verdict(&self) -> Verdict {
        if self.problem.key_reused {
            return self.other_payload();
        }
        match self.status {
            Some(Status::Executed) => done(false),
            Some(Status::Replayed) => done(true),
            Some(Status::Refused) => Verdict::End(End::Failed(Reason::Refused)),
            Some(Status::Cancelled) => Verdict::End(End::Failed(Reason::Cancelled)),
            Some(Status::InProgress | Status::NotExecuted | Status::Unknown) => self.open(),
            None => self.without_status(),
        }
    }

    /// An earlier payload of the intent has the key: what became of *it* decides. The problem may be
    /// a ledger's own (rule L5), which has no `state`: then the status is the gate's word.
    fn other_payload(&self) -> Verdict {
        let is_executed = matches!(self.status, Some(Status::Executed | Status::Replayed));
        match self.problem.state {
            None if is_executed => Verdict::End(End::Done {
                replayed: true,
                changed: true,
            }),
            Some(Outcome::Executed) => Verdict::End(End::Done {
                replayed: true,
                changed: true,
            }),
            Some(Outcome::Refused | Outcome::Cancelled) if self.problem.safe_new_key => {
                Verdict::NextKey
            }
            _ => self.open(),
        }
    }

    fn open(&self) -> Verdict {
        match self.problem.retryable {
            // A reused key is called not retryable because *this payload* cannot succeed under it;
            // what became of the earlier one can still be learned.
            Some(false) if !self.problem.key_reused => {
                Verdict::End(End::Unknown(Why::NotRetryable))
            }
            _ => Verdict::Again,
        }
    }

    fn without_status(&self) -> Verdict {
        match self.http_status {
            _ if self.redirected => Verdict::End(End::Unknown(Why::NotUnderstood)),
            200..=299 => done(false),
            408 | 425 | 429 | 500..=599 => Verdict::Again,
            _ => Verdict::End(End::Unknown(Why::NotUnderstood)),
        }
    }
}

fn done(replayed: bool) -> Verdict {
    Verdict::End(End::Done {
        replayed,
        changed: false,
    })
}
