//! What becomes of a message, by what the gate has answered.

use crate::outcome::Status;
use crate::problem::Code;

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Fate {
    /// Its operation is executed: it leaves the queue.
    Done,
    /// Nothing will come of it, however often it is delivered: it leaves the queue, and somebody is told.
    Refused,
    /// It has to be delivered again, later.
    Again,
    /// It can never be a request of its route: its place is the dead-letter queue.
    Poison,
}

/// With these the gate turns away what will never be another request. Some of them speak of an operation
/// that is settled, which is not the message's: what they say of a state must not be read.
const POISON: [Code; 9] = [
    Code::HeadersTooLarge,
    Code::KeyInvalid,
    Code::KeyMissing,
    Code::KeyReused,
    Code::MethodUnsupported,
    Code::PathNotCanonical,
    Code::PrincipalMismatch,
    Code::RequestTooLarge,
    Code::ScopeMissing,
];

impl Fate {
    /// What becomes of a message whose operation has this state by the gate's answer, which was decided in
    /// this way (`Oncegate-Decision`). Where nothing is proved, it comes again.
    pub fn of(state: Option<Status>, decision: Option<&str>) -> Self {
        let is_code = |code: &Code| decision == Some(code.as_str());
        if POISON.iter().any(is_code) {
            return Self::Poison;
        }
        match state {
            Some(Status::Executed | Status::Replayed) => Self::Done,
            Some(Status::Refused | Status::Cancelled) => Self::Refused,
            Some(Status::InProgress | Status::NotExecuted | Status::Unknown) | None => Self::Again,
        }
    }
}
