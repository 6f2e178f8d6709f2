//! The words in which the record of an operation is spoken of.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::outcome::{Outcome, Status};
use crate::proof::{Origin, Reply, Rules};

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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a rule left out must be a compile error"
)]
pub struct Terms {
    /// The route's name, for people and for what is configured by route.
    pub route: String,
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
    /// How long after the last dispatch a *no* to a question, or a person's, counts, in milliseconds
    /// (rule A6): at least as long as the origin's longest request.
    pub settle_after_ms: u64,
    /// Whether the gate settles what is unknown by itself, even if no client returns (rule A6).
    pub finish: bool,
    /// Where the route knows better than the general rules what an answer proves.
    pub rules: Rules,
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
    /// The operation is another principal's: nothing of it may be told.
    PrincipalMismatch,
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
    /// The record has changed and must be stored. A reply that is told twice changes nothing.
    pub changed: bool,
}

/// What is to be known before the first byte of an answer is passed through (rule P6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a shell must handle all of it")]
pub struct Streaming {
    /// What the answer says of the operation (rule P3): its head's proof, if it is one of executed.
    pub status: Status,
    /// The operation was closed by another attempt: the record's answer counts, not this one.
    pub superseded: bool,
    /// The record has changed, and must be stored before the first byte is passed on.
    pub changed: bool,
}

/// What may be told about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one answer")]
pub struct View {
    /// The state, with a lease that is over counted as over, and *executed* if that is disputed.
    pub state: State,
    /// Proof contradicts the record: somebody should look at it.
    pub disputed: bool,
    /// Unknown, nobody listens for an answer any more, and neither the gate nor another request can
    /// settle it: a person must.
    pub held: bool,
    /// The content was erased on request.
    pub erased: bool,
    /// Whether the effect happened; `None` while that is open.
    pub executed: Option<bool>,
    /// Whether a new key is safe (rule I8).
    pub safe_new_key: bool,
    /// The key is the request's own, such as an order number: no client can choose another one.
    #[serde(default)]
    pub generated: bool,
    /// Attempts so far.
    pub attempts: u32,
    /// Attempts without proof.
    pub unsettled: u32,
    /// When the lease of the open attempt ends, if one is open.
    pub lease_ends_ms: Option<u64>,
    /// The record's version: it rises with every stored change.
    pub revision: u32,
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
            held: false,
            ..self
        }
    }
}

/// What to do with a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Cancellation {
    /// Ask the ledger, and hand what it says to [`Operation::hear`](super::Operation::hear).
    Ask(Inquiry),
    /// The record has become *cancelled* and must be stored.
    Cancelled,
    /// The record says what became of the operation; there is nothing to store.
    Decided,
}

/// What an origin is asked with, to cancel or to say what became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one message")]
pub struct Inquiry {
    /// The newest attempt when the question was asked: a *no* counts only if it still is (I3).
    pub attempt: u32,
    /// When the question was asked.
    pub asked_ms: u64,
    /// What was asked for, if anything was seen under the key.
    pub fingerprint: Option<Fingerprint>,
}

/// What an origin said to an [`Inquiry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a fact left out must be a compile error"
)]
pub struct Hearing {
    /// The inquiry's attempt.
    pub asked_attempt: u32,
    /// The inquiry's time.
    pub asked_ms: u64,
    /// Its word; [`Outcome::Unknown`] if it had none.
    pub said: Outcome,
    /// Whether the answer can be stored, as in [`Settling`].
    pub storable: bool,
    /// What the answer is about, if it is not what was asked about.
    pub recorded: Option<Fingerprint>,
}

/// What the gate may do by itself to settle an operation (rules A6, A7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every step")]
pub enum Step {
    /// Ask the origin, and hand what it says to
    /// [`Operation::answered_probe`](super::Operation::answered_probe).
    Ask(Inquiry),
    /// Nothing before this time.
    At(u64),
    /// Nothing at all: a person must settle it.
    Hold,
    /// Start another attempt, by [`Operation::redispatch`](super::Operation::redispatch).
    Redispatch,
    /// Nothing: it is settled, or the next request under the key will go on with it.
    Rest,
}

/// What somebody should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one list")]
pub struct Trouble {
    /// Its kind.
    pub state: TroubleState,
    /// Since when.
    pub since_ms: u64,
}

/// The kinds of trouble, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum TroubleState {
    /// Proof contradicts what somebody was told.
    Disputed,
    /// Unknown, and only a person can settle it.
    Held,
    /// Unknown.
    Unknown,
}

/// How a person settles an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a fact left out must be a compile error"
)]
pub struct Resolution {
    /// The version of the record that the person has seen.
    pub revision: u32,
    /// What became of it.
    pub outcome: Resolved,
}

/// What a person can find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Resolved {
    /// Nothing happened, and the key is never to be used again.
    Cancelled,
    /// It happened.
    Executed,
    /// Nothing happened; the key may be used again.
    NotExecuted,
    /// The origin said no.
    Refused,
}

/// Why a person cannot settle an operation so, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum ResolveError {
    /// There is proof that it was executed.
    Executed,
    /// It is settled already.
    Settled(State),
    /// Before this time an attempt may still be under way.
    TooEarly {
        /// When it can be settled.
        until_ms: u64,
    },
    /// The record has changed since the person saw it.
    Revision {
        /// Its version now.
        current: u32,
    },
}

/// The content of an operation that is not settled cannot be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "it has nothing to say but itself"
)]
pub struct NotSettled;
