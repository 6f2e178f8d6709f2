//! The words in which the record of an operation is spoken of.

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::outcome::{Outcome, Status};
use crate::proof::{Origin, Reply};

/// Where an operation is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract's list; a new state is a new version"
)]
pub enum State {
    /// Nothing happened and nothing will.
    Cancelled,
    /// An attempt is open and its lease runs.
    Dispatched,
    /// The effect happened.
    Executed,
    /// The origin said no.
    Refused,
    /// Every attempt is settled as not executed; the next request starts a new one.
    Released,
    /// The lease is over or the attempt is lost, and there is no proof.
    Unknown,
}

impl State {
    /// The word used in problems and look-ups.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Dispatched => "dispatched",
            Self::Executed => "executed",
            Self::Refused => "refused",
            Self::Released => "released",
            Self::Unknown => "unknown",
        }
    }

    /// The same as `Idempotency-Status` (rule P3).
    pub fn status(self) -> Status {
        match self {
            Self::Cancelled => Status::Cancelled,
            Self::Dispatched => Status::InProgress,
            Self::Executed => Status::Executed,
            Self::Refused => Status::Refused,
            Self::Released => Status::NotExecuted,
            Self::Unknown => Status::Unknown,
        }
    }

    pub(super) fn is_closed(self) -> bool {
        matches!(self, Self::Cancelled | Self::Executed | Self::Refused)
    }
}

/// What the route's policy says of an operation. Written into the record at the claim, so that a
/// later configuration changes later operations only (rule T2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a rule left out must be a compile error"
)]
pub struct Terms {
    /// What the origin can do to settle an unknown operation.
    pub origin: Origin,
    /// How long an attempt is waited for before the operation counts as unknown, in milliseconds.
    pub lease_ms: u64,
    /// How long an answer is replayed, in milliseconds from its completion.
    pub result_ttl_ms: u64,
    /// How long a settled record is kept, in milliseconds from its settling.
    pub key_ttl_ms: u64,
    /// How long the origin's ledger keeps its rows, in milliseconds from the claim (rule A7).
    pub ledger_retention_ms: u64,
}

/// What to do with a request that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a shell must handle every admission"
)]
pub enum Admission {
    /// Start the attempt with this number, once the record is durable (I2).
    Dispatch(u32),
    /// Answer with the stored answer.
    Replay,
    /// Answer with a problem.
    Turn(Turn),
    /// Wait for the open attempt until `lease_ends_ms`; own nothing meanwhile (I4).
    Wait {
        /// When the lease of the open attempt ends.
        lease_ends_ms: u64,
    },
}

/// Why a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Turn {
    /// The operation is cancelled.
    Cancelled,
    /// The key belongs to another request.
    KeyReused,
    /// This request was refused before, and the refusal is no longer stored.
    Refused,
    /// Executed; the answer is no longer replayed.
    ResultExpired,
    /// Executed; the answer was never stored.
    ResultUnavailable,
    /// No proof of what happened, and nothing more that the gate may do.
    Unknown,
}

/// A reply, with what the shell knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a fact left out must be a compile error"
)]
pub struct Settling<'a> {
    /// The attempt that was replied to.
    pub attempt: u32,
    /// What came back.
    pub reply: Reply<'a>,
    /// Whether the answer can be stored: it is whole and within the size limit.
    pub storable: bool,
    /// What the reply is about, if a ledger says that it is not what was asked for (rule L5): it gives
    /// the state, not the answer.
    pub recorded: Option<Fingerprint>,
}

/// What a reply did to its operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a shell must handle all of it")]
pub struct Settled {
    /// Store the answer with the record.
    pub store: bool,
    /// The operation was closed by another attempt, or is another request's: the record's answer
    /// counts, not this one.
    pub superseded: bool,
    /// This answer may also be given to those who wait for the operation.
    pub share: bool,
}

/// What may be told about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one answer")]
pub struct View {
    /// The state, with a lease that is over counted as over, and *executed* if that is disputed.
    pub state: State,
    /// Proof contradicts the record: somebody should look at it.
    pub disputed: bool,
    /// Whether the effect happened; `None` while that is open.
    pub executed: Option<bool>,
    /// Whether a new key is safe (rule I8).
    pub safe_new_key: bool,
    /// Attempts so far.
    pub attempts: u32,
    /// Attempts without proof.
    pub unsettled: u32,
    /// When the lease of the open attempt ends, if one is open.
    pub lease_ends_ms: Option<u64>,
}

impl View {
    /// What may be told of a request that the record would let through now: what it says of others
    /// says nothing of this one, which may still be executed.
    pub fn of_unsent(self) -> Self {
        let state = match self.state {
            State::Released => State::Released,
            _ => State::Unknown,
        };
        Self {
            state,
            executed: None,
            safe_new_key: false,
            ..self
        }
    }
}

/// What to do with a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle both")]
pub enum Cancellation {
    /// Ask the ledger, and hand what it says to [`Operation::hear`](super::Operation::hear).
    Ask(Inquiry),
    /// The record says what became of the operation.
    Decided,
}

/// What a ledger said to a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a fact left out must be a compile error"
)]
pub struct Hearing {
    /// The newest attempt when it was asked.
    pub asked_attempt: u32,
    /// Its word; [`Outcome::Unknown`] if it had none.
    pub said: Outcome,
    /// Whether the answer can be stored, as in [`Settling`].
    pub storable: bool,
    /// What the answer is about, if it is not what was asked about.
    pub recorded: Option<Fingerprint>,
}

/// What a ledger is asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one message")]
pub struct Inquiry {
    /// The newest attempt when the question was asked: a refusal counts only if it still is (I3).
    pub attempt: u32,
    /// What was asked for, if anything was seen under the key.
    pub fingerprint: Option<Fingerprint>,
}
