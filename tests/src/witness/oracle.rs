//! What must hold, by name.

use std::fmt;

/// A sentence that every run is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "tests name each of them")]
pub enum Oracle {
    /// Every answer belongs to the key and the payload that it is given to.
    AnswerIsOurs,
    /// After the faults, every customer who keeps asking learns what happened.
    EveryoneLearns,
    /// After the faults, every operation settles.
    EverythingSettles,
    /// *Executed* is said of effects that exist.
    ExecutedIsTrue,
    /// A key whose answer is no longer replayed is not run again (I6).
    ExpiredIsNotAbsent,
    /// Nobody hears *failed* of a key that has an effect or gets one later.
    FailedIsFinal,
    /// No shell reports an event that its machine does not expect.
    MachinesAreObeyed,
    /// *Not executed* is said when no attempt can have an effect.
    NotExecutedIsTrue,
    /// What was said to be executed is never said to be anything else.
    NothingIsTakenBack,
    /// At most one effect under one key.
    OneEffectPerKey,
    /// At most one effect for one intended purchase, over all its keys.
    OneEffectPerPurchase,
    /// No attempt is begun while another is open, except at a ledger after the lease (I1).
    OneOwner,
    /// Proof counts, however late it comes (I3).
    ProofCounts,
    /// *A new key is safe* is said of keys that have no effect and never get one.
    SafeNewKeyIsSafe,
    /// A record without proof is kept for ever.
    UnknownNeverExpires,
    /// A request that starts no attempt changes no record (I4).
    WaitersOwnNothing,
}

/// A sentence that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Which.
    pub oracle: Oracle,
    /// What happened.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.oracle, self.text)
    }
}
