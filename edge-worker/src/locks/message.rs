//! What the gate says to the objects that hold locks, and what they answer.

use oncegate_core::lock::{Asker, Fence, Held, LockName, Owner};
use serde::{Deserialize, Serialize};

/// To the object.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub(super) enum ToLocks {
    /// Somebody wants a lock, and waits for it so long.
    Acquire(Acquire),
    /// Its holder wants it for longer.
    Renew {
        name: String,
        owner: Owner,
        ttl_ms: Option<u64>,
    },
    /// Its holder is done with it.
    Release { name: String, owner: Owner },
    /// Who had asked does not want it any more.
    CallOff { name: String, asker: Asker },
    /// A person takes it away.
    TakeAway { name: String, fence: Fence },
    /// Which locks are held?
    List,
}

/// See [`ToLocks::Acquire`].
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Acquire {
    pub(super) name: String,
    pub(super) asker: Asker,
    pub(super) ttl_ms: u64,
    pub(super) wait_ms: u64,
    /// The place that it was given.
    pub(super) place: Option<String>,
    /// Since when it has been waiting at the gate, if the object was lost meanwhile.
    pub(super) since_ms: Option<u64>,
}

/// The object's answer.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Answer {
    pub(super) said: Said,
    /// How many rows the object has written for it.
    pub(super) rows_written: u64,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    Granted(Grant),
    /// Another one has it; a place, if one is kept.
    Busy(Option<String>),
    /// The request is done.
    Done,
    /// The lock is not the caller's.
    Lost,
    /// It was done.
    Did,
    Held(Vec<Listed>),
}

/// What the holder hears.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Grant {
    pub(super) name: String,
    pub(super) owner: Owner,
    pub(super) fence: Fence,
    pub(super) ttl_ms: u64,
    pub(super) expires_in_ms: u64,
}

impl Grant {
    pub(super) fn new(name: &LockName, held: &Held, now_ms: u64) -> Self {
        Self {
            name: name.as_str().to_owned(),
            owner: held.owner,
            fence: held.fence,
            ttl_ms: held.ttl_ms,
            expires_in_ms: held.until_ms.saturating_sub(now_ms),
        }
    }
}

/// A lock that is held, as a person may see it: without its owner.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) fence: Fence,
    pub(super) held_for_ms: u64,
    pub(super) expires_in_ms: u64,
    pub(super) waiting: usize,
}
