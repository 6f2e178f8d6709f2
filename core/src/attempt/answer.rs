//! What one answer means for the operation (rule T4).
//!
//! Invariant: only the gate's word ends an operation as failed. An answer without
//! `Idempotency-Status` may come from a proxy and says nothing about an earlier send.

use super::call::{Call, Purpose};
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
    /// Whether a gate made it or passed it on: then no key is executed twice here.
    pub gate: bool,
    /// Whether the route makes its keys itself, and this client does not know the one of its
    /// operation: then nobody uses the key that it would look up or cancel.
    pub unnamed: bool,
    /// The gate's problem, if the body is one; for a look-up or a cancellation, what it says of the
    /// operation.
    pub problem: Problem,
}

/// The members of a problem (rule P1), or of what a look-up or a cancellation says, that decide
/// something here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a shell that leaves a part unread must not compile"
)]
pub struct Problem {
    /// `code` is `key_reused`: an earlier payload of this intent has the key. Or it is `token_expired`, and
    /// nothing was begun under the token: then, too, the next key is for this payload.
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
    /// Make that call, after a wait.
    Again(Call),
    /// Nothing more.
    End(End),
    /// Asking again is of no use.
    GiveUp(Why),
    /// The key is dead, with nothing executed: send this payload under the next epoch's key.
    NextKey(Reason),
    /// Make that call at once.
    Now(Call),
}

impl Answer {
    /// `proven`: the server is known not to execute a key twice.
    pub(super) fn verdict(&self, call: Call, proven: bool) -> Verdict {
        match call {
            Call::Cancel(purpose) => self.on_cancel(purpose),
            Call::Look(purpose) => self.on_look(purpose),
            Call::Send => self.on_send(proven),
        }
    }

    /// The gate says that nothing is executed so far, and the operation will not go on by itself: it
    /// can be cancelled.
    pub(super) fn says_nothing_happened(&self) -> bool {
        match self.status {
            _ if self.unnamed => false,
            Some(status) => status == Status::NotExecuted && !self.problem.key_reused,
            None => self.gate && self.problem.retryable == Some(false),
        }
    }

    fn on_send(&self, proven: bool) -> Verdict {
        if self.problem.key_reused {
            return self.other_payload();
        }
        match self.status {
            Some(Status::Executed) => done(false),
            Some(Status::Replayed) => done(true),
            Some(Status::Refused) => Verdict::End(End::Failed(Reason::Refused)),
            Some(Status::Cancelled) => Verdict::End(End::Failed(Reason::Cancelled)),
            Some(Status::InProgress | Status::NotExecuted | Status::Unknown) => self.open(),
            None => self.without_status(proven),
        }
    }

    fn on_look(&self, purpose: Purpose) -> Verdict {
        if self.is_report() {
            return self.looked(purpose);
        }
        match (self.http_status, purpose) {
            (408 | 425 | 429 | 500..=599, Purpose::Probe) if self.gate => {
                Verdict::Again(Call::Send)
            }
            (408 | 425 | 429 | 500..=599, _) => Verdict::Again(Call::Look(purpose)),
            (_, Purpose::Probe) if self.gate => Verdict::Now(Call::Send),
            (_, Purpose::Probe) => Verdict::GiveUp(Why::NotProven),
            (_, Purpose::Settle) => Verdict::Now(Call::Send),
            (_, Purpose::Last(why)) => Verdict::GiveUp(why),
            (_, Purpose::Aim) => Verdict::GiveUp(self.unanswered()),
        }
    }

    /// A look-up has succeeded.
    fn looked(&self, purpose: Purpose) -> Verdict {
        match (purpose, self.closed()) {
            // Whatever became of it: a send gets the answer.
            (Purpose::Probe, _) => Verdict::Now(Call::Send),
            (_, Some(closed)) => closed.verdict(purpose),
            (Purpose::Settle, None) => Verdict::Now(Call::Cancel(Purpose::Settle)),
            (Purpose::Last(why), None) => Verdict::GiveUp(why),
            (Purpose::Aim, None) => Verdict::GiveUp(Why::Open),
        }
    }

    /// What an answer to a cancellation means. The gate says *executed* only where it was too late.
    fn on_cancel(&self, purpose: Purpose) -> Verdict {
        let closed = self.closed().filter(|_| self.is_report());
        let again = !self.unnamed && matches!(self.http_status, 408 | 409 | 425 | 429 | 500..=599);
        match (closed, purpose) {
            (Some(closed), _) => closed.verdict(purpose),
            (None, Purpose::Last(why)) => Verdict::GiveUp(why),
            (None, _) if again => Verdict::Again(Call::Cancel(purpose)),
            // This gate does not cancel this key, and would not the next time.
            (None, Purpose::Aim) => Verdict::GiveUp(self.unanswered()),
            // Only waiting is left.
            (None, Purpose::Settle | Purpose::Probe) => Verdict::Again(Call::Send),
        }
    }

    /// An earlier payload of the intent has the key: what became of *it* decides. The problem may be
    /// a ledger's own (rule L5), which has no `state`: then the status is the gate's word.
    fn other_payload(&self) -> Verdict {
        if let Some(closed) = self.closed() {
            return closed.verdict(Purpose::Settle);
        }
        match (self.problem.state, self.status) {
            (None, Some(Status::Executed | Status::Replayed)) => {
                Closed::Executed.verdict(Purpose::Settle)
            }
            // Another of its attempts is open, or the key can leave this state: not for us to end.
            (Some(Outcome::Refused | Outcome::Cancelled), _) => Verdict::Again(Call::Send),
            _ if self.unnamed => Verdict::Again(Call::Send),
            (_, Some(Status::InProgress | Status::NotExecuted | Status::Unknown)) => {
                Verdict::Now(Call::Cancel(Purpose::Settle))
            }
            _ => Verdict::Again(Call::Send),
        }
    }

    /// Why an answer to a question is none.
    fn unanswered(&self) -> Why {
        match self.unnamed {
            true => Why::KeyUnnamed,
            false => Why::NotUnderstood,
        }
    }

    /// The gate's own report on this operation.
    fn is_report(&self) -> bool {
        self.http_status == 200 && !self.redirected && self.gate && !self.unnamed
    }

    /// The operation that has the key, if it can change no more.
    fn closed(&self) -> Option<Closed> {
        let safe = self.problem.safe_new_key;
        match self.problem.state? {
            Outcome::Executed => Some(Closed::Executed),
            Outcome::Cancelled if safe => Some(Closed::Without(Reason::Cancelled)),
            Outcome::Refused if safe => Some(Closed::Without(Reason::Refused)),
            _ => None,
        }
    }

    fn open(&self) -> Verdict {
        match self.problem.retryable {
            Some(false) => Verdict::GiveUp(Why::NotRetryable),
            _ => Verdict::Again(Call::Send),
        }
    }

    fn without_status(&self, proven: bool) -> Verdict {
        match self.http_status {
            _ if self.redirected => Verdict::GiveUp(Why::NotUnderstood),
            200..=299 => done(false),
            _ if self.gate => self.open(),
            // Turned away before it began.
            425 | 429 => Verdict::Again(Call::Send),
            408 | 500..=599 => Verdict::Again(after_silence(Call::Send, proven)),
            _ => Verdict::GiveUp(Why::NotUnderstood),
        }
    }
}

/// How an operation can have ended.
#[derive(Clone, Copy)]
enum Closed {
    Executed,
    Without(Reason),
}

impl Closed {
    /// What follows if somebody asked for this reason.
    fn verdict(self, purpose: Purpose) -> Verdict {
        let changed = purpose == Purpose::Settle;
        match self {
            Self::Executed => Verdict::End(End::Done {
                replayed: true,
                changed,
            }),
            Self::Without(reason) if changed => Verdict::NextKey(reason),
            Self::Without(reason) => Verdict::End(End::Failed(reason)),
        }
    }
}

/// The call that follows a call without an answer. What may have been executed is sent again only to
/// a server that is known not to execute a key twice.
pub(super) fn after_silence(call: Call, proven: bool) -> Call {
    match call {
        Call::Send if !proven => Call::Look(Purpose::Probe),
        call => call,
    }
}

fn done(replayed: bool) -> Verdict {
    Verdict::End(End::Done {
        replayed,
        changed: false,
    })
}
