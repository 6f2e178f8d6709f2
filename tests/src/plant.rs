//! Bugs planted on purpose, to show that the witness sees them.
//!
//! Each is a small change in the glue around the machines, of the kind that a shell could have.

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests name each of them")]
pub enum Plant {
    /// The alarm fails before it has set the next one (against A6).
    AlarmThrows,
    /// The courier gives the answer to the client before the shard has written it (against I2).
    AnswerBeforeWrite,
    /// The claim is written after the attempt has started (against I2).
    ClaimAfterDispatch,
    /// A completion settles the newest attempt instead of its own (against I3).
    CompletionOfNewest,
    /// A disputed record expires with the key ttl of its claim (against I3).
    DisputeExpires,
    /// The courier gives the end of a streamed answer to the client before the shard has written it
    /// (against I2).
    EndBeforeWrite,
    /// The epoch rises when the operation is executed (against T4).
    EpochRaisedOnExecuted,
    /// *Refused* under an order number says that a new key is safe (against I8).
    GeneratedRefusalSaysSafe,
    /// The shard does not compare fingerprints (against K3).
    FingerprintIgnored,
    /// A status without the header is believed of a ledger origin (against A1).
    HeaderlessBelieved,
    /// *In progress* is taken for *not executed* (against A1).
    InProgressIsReleased,
    /// A client draws a new key for every send.
    KeyChangedOnRetry,
    /// *Not executed* of a later attempt settles the earlier ones too (against I7).
    LaterNotExecutedFrees,
    /// Proof that comes after the lease is dropped (against I3).
    LateProofDropped,
    /// After the lease an origin without a ledger is sent the same again (against I5).
    LeaseOverFrees,
    /// An order number is read as a double (against K2).
    NumbersAsDoubles,
    /// Records that are open are dropped with their table (against I5).
    OpenRowsDropped,
    /// A person looks at the origin first and waits then, until his word counts.
    OperatorLooksTooEarly,
    /// A person's word counts while an attempt is under way.
    OperatorTooEarly,
    /// The shard does not compare principals (against K4).
    PrincipalIgnored,
    /// Records that are not settled are kept in memory only (against I2).
    RecordLostOnEviction,
    /// The origin says *refused* without committing it (against L4).
    RefusalNotCommitted,
    /// A refusal is replayed to another payload (against P4).
    RefusalReplayedToOthers,
    /// *Released* says that a new key is safe (against I8).
    ReleasedSaysSafe,
    /// The origin commits the row after the effect (against L3).
    RowAfterEffect,
    /// The tenant is taken from who is logged in (against the contract's *scope*).
    ScopeFromUser,
    /// A settled record expires with its claim, however long it was open (against T2).
    ExpiresWithItsClaim,
    /// A negative answer counts whatever began since the question (against I3).
    StaleProbeBelieved,
    /// A call to a courier that fails is taken for an origin that was not reached (against A3).
    StubErrorIsOriginError,
    /// A record lives as long as its lease (against T2).
    TtlIsLease,
    /// A row of a version that is not known counts as absent (against I5).
    UnknownVersionIsAbsent,
    /// A waiter whose wait is over starts an attempt of its own (against I4).
    WaiterDispatches,
    /// A waiter whose wait is over drops the record (against I4).
    WaiterReleases,
}
