//! What may go wrong in a run, and how often.
//!
//! Invariant: nothing goes wrong of itself after [`Faults::calm_ms`]; what was delayed before may
//! still arrive. From then on every client that keeps asking must learn what happened.

/// The faults of one run.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a world that leaves a fault out must not compile"
)]
pub struct Faults {
    /// Between browser and gate.
    pub browser: Hop,
    /// Between courier and origin.
    pub origin: Hop,
    /// Everything that is no hop.
    pub rates: Rates,
    /// When faults end.
    pub calm_ms: u64,
}

/// One hop of the network. Rates are per mille of messages.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a world that leaves a fault out must not compile"
)]
pub struct Hop {
    /// The request never arrives.
    pub drop: u32,
    /// The answer never arrives, or breaks off: to the receiver that is the same.
    pub lose_answer: u32,
    /// The request arrives twice: the silent resend of a browser or a proxy.
    pub duplicate: u32,
    /// The message takes up to [`longest_delay_ms`](Self::longest_delay_ms), and so overtakes or is
    /// overtaken.
    pub delay: u32,
    /// See [`delay`](Self::delay).
    pub longest_delay_ms: u64,
    /// Something on the way answers with a bare status, in place of the real answer.
    pub bare_status: u32,
    /// The request breaks off before its end.
    pub truncate: u32,
}

/// Rates of other faults, per mille.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a world that leaves a fault out must not compile"
)]
pub struct Rates {
    /// An attempt at the origin ends with a refusal.
    pub refuse: u32,
    /// It is rolled back, and the origin says so.
    pub fail_honestly: u32,
    /// It is rolled back, and the answer is a bare 500.
    pub fail: u32,
    /// It holds its transaction open for up to a minute.
    pub slow: u32,
    /// The effect is committed and the connection closed without an answer.
    pub drop_after_commit: u32,
    /// A completion does not reach the shard.
    pub completion_lost: u32,
    /// A completion reaches the shard, and the courier never hears so: it tells again.
    pub completion_unheard: u32,
    /// A completion reaches the shard after the courier has given up and told again.
    pub completion_late: u32,
    /// A courier dies on its way.
    pub courier_dies: u32,
    /// The object that decides stops at a place where it awaits something.
    pub crash: u32,
    /// An answer is passed on as it comes.
    pub stream: u32,
    /// Such an answer breaks off.
    pub stream_breaks: u32,
    /// Somebody else asks under a key that he has seen.
    pub stranger: u32,
}

/// One blow at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "worlds construct it")]
pub enum Chaos {
    /// The operator cancels the newest operation at the ledger (L6).
    CancelAtOrigin,
    /// The shard's clock jumps by this many milliseconds.
    ClockJumps(i64),
    /// Every courier under way dies.
    CouriersDie,
    /// The shards' instances are replaced: rows stay, memory goes.
    Evict,
    /// A newer version of the gate is deployed, and writes; the old one runs on.
    NewerVersion,
    /// It is taken back.
    NoNewerVersion,
    /// The origin's process starts.
    OriginStarts,
    /// The origin's process dies, with every transaction open.
    OriginStops,
    /// The shards' instances are replaced, and do not know it: they stop when they next write.
    Replace,
    /// A span is over: what need not be kept is dropped with its table.
    TurnTables,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self {
            browser: Hop::default(),
            origin: Hop::default(),
            rates: Rates::default(),
            calm_ms: 0,
        }
    }
}
