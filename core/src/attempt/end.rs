//! How an attempt ends: the three outcomes of the contract (rule T4).

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the three outcomes of the contract"
)]
pub enum End {
    /// The operation is executed.
    Done {
        /// By an earlier send; the answer is the stored one.
        replayed: bool,
        /// With an earlier payload than the one that was sent now.
        changed: bool,
    },
    /// The operation is not executed and never will be.
    Failed(Reason),
    /// Nobody can say yet. The key stays, and the next attempt asks again.
    Unknown(Why),
}

/// Who said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the two reasons of rule T4")]
pub enum Reason {
    /// The operation was cancelled.
    Cancelled,
    /// The origin refused it.
    Refused,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// The user gave up waiting.
    Aborted,
    /// No time is left for the next wait.
    Deadline,
    /// The key's lifetime is nearly over.
    KeyTooOld,
    /// The route makes its keys itself, and the page did not say which one: what was asked, nobody can
    /// answer.
    KeyUnnamed,
    /// A send had no answer, and the server has never shown that it executes a key once: sending
    /// again could be a second execution.
    NotProven,
    /// The gate said that sending the same again is of no use.
    NotRetryable,
    /// The answer is not the gate's, and says neither success nor "try again".
    NotUnderstood,
    /// The gate was asked, and the operation is open or was never seen.
    Open,
    /// Every call was used.
    SendsUsedUp,
}

impl Reason {
    /// A word for events and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
        }
    }
}

impl Why {
    /// A word for events and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::Deadline => "deadline",
            Self::KeyTooOld => "key_too_old",
            Self::KeyUnnamed => "key_unnamed",
            Self::NotProven => "not_proven",
            Self::NotRetryable => "not_retryable",
            Self::NotUnderstood => "not_understood",
            Self::Open => "open",
            Self::SendsUsedUp => "sends_used_up",
        }
    }
}
