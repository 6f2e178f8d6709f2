//! Named locks.
//!
//! Invariant: a guard counts its time from before the request that gave it, so that it never believes in a
//! lock longer than the gate does.

mod asking;
mod guard;

use std::time::Duration;

use oncegate_core::lock::{LockName, Ttl, USUAL_TTL_MS};
use serde::Deserialize;

pub use guard::LockGuard;

use crate::client::Client;
use crate::error::Error;

/// What the gate says of a lock.
#[derive(Clone, Debug, Deserialize)]
struct Grant {
    owner: String,
    fence: u64,
    ttl_ms: u64,
    expires_in_ms: u64,
}

/// A lock that is to be taken: see [`Client::lock`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked for before `acquire`"]
pub struct Locking {
    client: Client,
    name: String,
    ttl: Duration,
    wait: Duration,
}

impl Client {
    /// A named lock, for 30 s at a time, without waiting for it; the guard renews it.
    ///
    /// A lock is never the only protection: what must happen once needs a unique index, and what is
    /// protected should know the [fence](LockGuard::fence).
    pub fn lock(&self, name: &str) -> Locking {
        Locking {
            client: self.clone(),
            name: name.to_owned(),
            ttl: Duration::from_millis(USUAL_TTL_MS),
            wait: Duration::ZERO,
        }
    }
}

impl Locking {
    /// How long it lasts if this program dies: 1 s to 1 h.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// How long to wait if somebody else has it, however long.
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Takes the lock. Dropped while it waits, it is called off.
    ///
    /// # Errors
    /// [`Error::Refused`] with the code `lock_busy`: somebody else has had it for as long as was waited.
    /// [`Error::Setup`]: no lock has this name, or lasts so long. [`Error::NoAnswer`]: the gate is out of reach.
    pub async fn acquire(self) -> Result<LockGuard, Error> {
        let wrong = |reason: String| Error::Setup(format!("the lock '{}': {reason}", self.name));
        LockName::parse(&self.name).map_err(|error| wrong(error.to_string()))?;
        let ttl_ms = u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX);
        Ttl::parse(Some(ttl_ms)).map_err(|error| wrong(error.to_string()))?;
        asking::acquire(self.client, self.name, ttl_ms, self.wait).await
    }
}
