//! What one answer means for the operation (rule T4).
//!
//! Invariant: only the gate's word ends an operation as failed. An answer without
//! `Idempotency-Status` may come from a proxy and says nothing about an earlier send.

use super::{Call, End, Reason, Why};
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
    /// The gate's problem, if the body is one; for a cancellation, what it says of the operation.
    pub problem: Problem,
}

/// The members of a problem (rule P1), or of what a cancellation says, that decide something here.
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
    /// Ask again, under the same key.
    Again(Call),
    /// Another payload has the key and is open: have the gate cancel it.
    Cancel,
    /// Nothing more.
    End(End),
    /// The key is dead, with nothing executed: send this payload under the next epoch's key.
    NextKey(Reason),
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

    /// What an answer to a cancellation means. The gate says *executed* only where it was too late.
    pub(super) fn verdict_on_cancel(&self) -> Verdict {
        match self.http_status {
            200 if !self.redirected => self.closed().unwrap_or(Verdict::Again(Call::Send)),
            408 | 409 | 425 | 429 | 500..=599 => Verdict::Again(Call::Cancel),
            // This gate does not cancel this key, and would not the next time: only waiting is left.
            _ => Verdict::Again(Call::Send),
        }
    }

    /// An earlier payload of the intent has the key: what became of *it* decides. The problem may be
    /// a ledger's own (rule L5), which has no `state`: then the status is the gate's word.
    fn other_payload(&self) -> Verdict {
        if let Some(verdict) = self.closed() {
            return verdict;
        }
        match (self.problem.state, self.status) {
            (None, Some(Status::Executed | Status::Replayed)) => other_executed(),
            // Another of its attempts is open, or the key can leave this state: not for us to end.
            (Some(Outcome::Refused | Outcome::Cancelled), _) => Verdict::Again(Call::Send),
            (_, Some(Status::InProgress | Status::NotExecuted | Status::Unknown)) => {
                Verdict::Cancel
            }
            _ => Verdict::Again(Call::Send),
        }
    }

    /// What follows if the operation that has the key can change no more.
    fn closed(&self) -> Option<Verdict> {
        let safe = self.problem.safe_new_key;
        match self.problem.state? {
            Outcome::Executed => Some(other_executed()),
            Outcome::Cancelled if safe => Some(Verdict::NextKey(Reason::Cancelled)),
            Outcome::Refused if safe => Some(Verdict::NextKey(Reason::Refused)),
            _ => None,
        }
    }

    fn open(&self) -> Verdict {
        match self.problem.retryable {
            Some(false) => Verdict::End(End::Unknown(Why::NotRetryable)),
            _ => Verdict::Again(Call::Send),
        }
    }

    fn without_status(&self) -> Verdict {
        match self.http_status {
            _ if self.redirected => Verdict::End(End::Unknown(Why::NotUnderstood)),
            200..=299 => done(false),
            408 | 425 | 429 | 500..=599 => Verdict::Again(Call::Send),
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

fn other_executed() -> Verdict {
    Verdict::End(End::Done {
        replayed: true,
        changed: true,
    })
}
