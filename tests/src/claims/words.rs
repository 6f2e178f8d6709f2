//! What must hold of claims, what can happen to them, and the bugs that are planted.

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// One completion is taken, and *done* is said of nothing else.
    DoneOnce,
    /// Who has been taken over from is not heard.
    FencedOff,
    /// Every claim that is granted has a higher fence than those before.
    FenceRises,
    /// Nothing is granted while somebody else's lease runs.
    OneHolder,
    /// Who asks again under the same nonce is not locked out by itself.
    NotLockedOut,
    /// A call is granted one claim, however often and however late it is heard.
    OnceACall,
    /// From every state, whoever comes when the leases are over can do it, unless it is done.
    NeverLost,
}

/// A bug that is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Whoever says so has done it.
    AnybodyCompletes,
    /// Whoever says so gives it up.
    AnybodyReleases,
    /// Whose claim has ended may begin another one by the same call.
    CallsForgotten,
    /// A completion is taken for a release.
    DoneIsForgotten,
    /// A lease ends before its end.
    EarlyTakeover,
    /// Every claim has the same fence.
    FenceStands,
    /// A call that is made again is another one.
    MakerIgnored,
    /// A lease that is over keeps the claim for ever.
    NoTakeover,
    /// Who has owned it once owns it.
    OldOwnersAreHeard,
}

/// A call under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) worker: usize,
    pub(super) says: Says,
    /// The network has delivered it once already.
    pub(super) is_copy: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Claim { nonce: String },
    Complete { owner: String },
    Heartbeat { owner: String },
    Release { owner: String },
}

/// What a worker knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Worker {
    pub(super) nonces: u8,
    pub(super) asking: Option<String>,
    pub(super) owner: Option<String>,
}

/// What can happen.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Ask(usize),
    AskAgain(usize),
    Say(usize, Verb),
    Crash(usize),
    Lose(usize),
    /// The gate hears it; the answer arrives or is lost, and the network may keep a copy.
    Deliver {
        index: usize,
        answered: bool,
        keeps_copy: bool,
    },
    Tick,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verb {
    Complete,
    Heartbeat,
    Release,
}
