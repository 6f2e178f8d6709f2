//! Claims: a message or a job is worked on by one at a time, and is done once (section 7).
//!
//! ```text
//!  absent ──claim──▶ claimed ──complete──▶ done ──(kept for longer than messages come again)──▶ absent
//!     too_old ▲        │  ▲ heartbeat
//!                      │  └── claim, by another call: lease over (takeover), or released
//!                      └── release
//! ```
//!
//! A claim is the record of an [`Operation`] whose attempts are made by somebody else: *claimed* is an
//! open attempt, *done* is executed, *released* is an attempt without effect. There is no second state
//! machine; what is added is who may speak for an attempt.
//!
//! Invariants: at any time one owner at most is heard, and it is the newest one; whose lease is over is
//! heard as long as nobody has taken over, and never after; what is done stays done, with the result
//! that was given first; fences of one key only rise. A call is granted one claim at most: a copy of it
//! that comes late takes nothing for nobody.
//! Atomicity comes from the caller: between reading a record and writing it back it does not await.

mod call;
mod owner;

pub use self::call::{
    Asked, Call, CallError, Item, LONGEST_LEASE_MS, LONGEST_RESULT, MOST_ITEMS, SHORTEST_LEASE_MS,
    Verb, checked_scope,
};
pub use self::owner::Owners;

use alloc::string::String;

use crate::fingerprint::{Fingerprint, Parts, body_sha256};
use crate::key::KeyKind;
use crate::operation::{Admission, Operation, State, Terms};
use crate::outcome::Outcome;
use crate::proof::{Origin, Rules};

/// The route that the records of claims name. No route can have this name.
pub const ROUTE: &str = "@claims";

/// How much longer than the window a claim is kept. By so much clocks may disagree.
pub const MARGIN_MS: u64 = 24 * 60 * 60 * 1_000;

/// Who asks for a claim: a digest of what the client has drawn for this one call, so that the same call
/// made again is known.
pub type Maker = Fingerprint;

/// The maker of a call with this nonce.
pub fn maker(nonce: &str) -> Maker {
    Fingerprint::of(&Parts {
        method: "CLAIM",
        path_and_query: "",
        content_type: "",
        content_encoding: "",
        body_sha256: body_sha256(nonce.as_bytes()),
    })
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the contract's list")]
pub enum Answer {
    /// The caller holds it now.
    Acquired,
    /// Somebody else holds it.
    Busy,
    /// It is done.
    Done,
    /// The caller holds it still, with a lease that begins anew.
    Held,
    /// The caller does not hold it (any more): somebody has taken over, or it was released.
    Lost,
    /// Nobody holds it.
    Released,
    /// The message is older than claims are kept: it cannot be told whether it was done.
    TooOld,
}

impl Answer {
    /// The word of the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Busy => "busy",
            Self::Done => "done",
            Self::Held => "held",
            Self::Lost => "lost",
            Self::Released => "released",
            Self::TooOld => "too_old",
        }
    }
}

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a shell must handle all of it")]
pub struct Decided {
    /// What the caller hears.
    pub answer: Answer,
    /// The record as it is now; `None` if there is none.
    pub record: Option<Operation>,
    /// The record has changed and must be stored before anything is said.
    pub changed: bool,
    /// The result that was given must be stored with it.
    pub stores_result: bool,
}

impl Decided {
    fn unchanged(answer: Answer, record: Option<Operation>) -> Self {
        Self {
            answer,
            record,
            changed: false,
            stores_result: false,
        }
    }

    fn changed(answer: Answer, record: Operation) -> Self {
        Self {
            answer,
            record: Some(record),
            changed: true,
            stores_result: false,
        }
    }
}

/// The terms of a claim: it is kept for `window_ms` and a margin after it was done.
pub fn terms(lease_ms: u64, window_ms: u64) -> Terms {
    let kept_ms = window_ms.saturating_add(MARGIN_MS);
    Terms {
        route: String::from(ROUTE),
        // Only the word of who holds it counts.
        origin: Origin::Ledger,
        lease_ms,
        result_ttl_ms: kept_ms,
        key_ttl_ms: kept_ms,
        ledger_retention_ms: kept_ms,
        settle_after_ms: 0,
        finish: false,
        rules: Rules::default(),
    }
}

/// When a message was sent that somebody wants to claim, and for how long it may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "plain data for one call")]
pub struct Age {
    /// By the sender's clock; `None` if nobody knows.
    pub sent_ms: Option<u64>,
    /// Messages that are older are not claimed any more.
    pub window_ms: u64,
}

impl Age {
    fn is_too_old(self, now_ms: u64) -> bool {
        self.sent_ms
            .is_some_and(|sent_ms| sent_ms.saturating_add(self.window_ms) < now_ms)
    }
}

/// The fence of the newest claim: it rises with every one of its key, also after the key was forgotten.
pub fn fence(record: &Operation) -> u64 {
    record.claimed_ms()
}

/// Claims what has this record, or none.
pub fn claim(
    record: Option<Operation>,
    now_ms: u64,
    maker: Maker,
    terms: &Terms,
    age: Age,
) -> Decided {
    let known = record
        .as_ref()
        .filter(|record| !record.is_expired(now_ms))
        .map(|record| record.view(now_ms).state);
    let is_own = is_of(record.as_ref(), maker);
    let is_retired = record
        .as_ref()
        .is_some_and(|record| record.is_retired(maker));
    match known {
        None if age.is_too_old(now_ms) => Decided::unchanged(Answer::TooOld, record),
        // A copy of a call whose claim has ended: whoever made it does not wait for it any more.
        Some(State::Released | State::Unknown) if is_retired => {
            Decided::unchanged(Answer::Busy, record)
        }
        None | Some(State::Released) => acquire(record, now_ms, maker, terms),
        // Nobody has taken over: it goes on with the claim that it has.
        Some(State::Unknown) if is_own => by_holder(record, now_ms, true, |record| {
            let extended = record.extend_lease(now_ms, terms.lease_ms);
            extended.map(|record| Decided::changed(Answer::Acquired, record))
        }),
        // Its lease is over: from now on nothing counts that the holder says.
        Some(State::Unknown) => {
            let ended =
                record.map(|record| record.end_lease(now_ms, Outcome::NotExecuted, false).0);
            acquire(ended, now_ms, maker, terms)
        }
        Some(State::Dispatched) if is_own => Decided::unchanged(Answer::Acquired, record),
        Some(State::Dispatched) => Decided::unchanged(Answer::Busy, record),
        Some(State::Cancelled | State::Executed | State::Refused) => {
            Decided::unchanged(Answer::Done, record)
        }
    }
}

/// Begins the lease of a claim anew, with this length.
pub fn heartbeat(record: Option<Operation>, now_ms: u64, is_owner: bool, lease_ms: u64) -> Decided {
    by_holder(record, now_ms, is_owner, |record| {
        let extended = record.extend_lease(now_ms, lease_ms);
        extended.map(|record| Decided::changed(Answer::Held, record))
    })
}

/// The holder has done it, and says with what result.
pub fn complete(record: Option<Operation>, now_ms: u64, is_owner: bool) -> Decided {
    by_holder(record, now_ms, is_owner, |record| {
        let (record, stores_result) = record.end_lease(now_ms, Outcome::Executed, true);
        Some(Decided {
            stores_result,
            ..Decided::changed(Answer::Done, record)
        })
    })
}

/// The holder gives it up, so that the next one need not wait for the end of the lease.
pub fn release(record: Option<Operation>, now_ms: u64, is_owner: bool) -> Decided {
    let is_released = record
        .as_ref()
        .is_some_and(|record| record.view(now_ms).state == State::Released);
    if is_owner && is_released {
        // Said again.
        return Decided::unchanged(Answer::Released, record);
    }
    by_holder(record, now_ms, is_owner, |record| {
        let (record, _) = record.end_lease(now_ms, Outcome::NotExecuted, false);
        Some(Decided::changed(Answer::Released, record))
    })
}

/// Does what the holder says; everybody else hears what there is.
fn by_holder(
    record: Option<Operation>,
    now_ms: u64,
    is_owner: bool,
    verb: impl FnOnce(Operation) -> Option<Decided>,
) -> Decided {
    let state = record.as_ref().map(|record| record.view(now_ms).state);
    let done = match state {
        Some(State::Dispatched | State::Unknown) if is_owner => record.clone().and_then(verb),
        // Whose answer was lost says it again.
        Some(State::Cancelled | State::Executed | State::Refused) if is_owner => {
            return Decided::unchanged(Answer::Done, record);
        }
        _ => None,
    };
    done.unwrap_or_else(|| Decided::unchanged(Answer::Lost, record))
}

fn acquire(record: Option<Operation>, now_ms: u64, maker: Maker, terms: &Terms) -> Decided {
    // A fence is the time of its claim, and no two claims of a key have the same.
    let least_ms = record
        .as_ref()
        .map_or(0, |record| record.claimed_ms().saturating_add(1));
    let at_ms = now_ms.max(least_ms);
    let (record, admission) = Operation::arrive(record, at_ms, KeyKind::Client, terms, None, maker);
    match admission {
        Admission::Dispatch(_) => Decided::changed(Answer::Acquired, record),
        // A person has refused it under this very call.
        _ => Decided::unchanged(Answer::Done, Some(record)),
    }
}

fn is_of(record: Option<&Operation>, maker: Maker) -> bool {
    record.and_then(Operation::fingerprint) == Some(maker)
}

#[cfg(test)]
mod tests;
