//! A lock that is held.

use std::time::Duration;

use oncegate_core::header::OWNER;
use reqwest::Method;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::Grant;
use crate::call::Call;
use crate::client::Client;
use crate::error::Error;

/// How long the answer to a release is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a release without an answer is sent.
const TRIES: u32 = 3;

/// A lock that is held, and renewed in the background every third of its ttl.
///
/// Dropped, it is released behind your back, if there is a runtime to do it; [`release`](Self::release) waits
/// for it.
#[derive(Debug)]
pub struct LockGuard {
    lock: Held,
    renewal: JoinHandle<()>,
    lost: watch::Receiver<bool>,
    is_over: bool,
}

/// What a call about it needs.
#[derive(Clone, Debug)]
struct Held {
    client: Client,
    name: String,
    owner: String,
    fence: u64,
}

/// Holds what was granted to a request sent at that moment.
pub(super) async fn hold(
    client: Client,
    name: String,
    grant: Grant,
    sent: Instant,
) -> Result<LockGuard, Error> {
    let lock = Held {
        client,
        name,
        owner: grant.owner.clone(),
        fence: grant.fence,
    };
    let (sender, lost) = watch::channel(false);
    let renewal = Renewal {
        lock: lock.clone(),
        ttl: Duration::from_millis(grant.ttl_ms),
        ends: sent + Duration::from_millis(grant.expires_in_ms),
    };
    let mut guard = LockGuard {
        lock,
        renewal: tokio::spawn(async {}),
        lost,
        is_over: false,
    };
    // Given after a wait it is a short one, and when it was given is not known: a renewal knows both.
    let is_sure = sent.elapsed() < renewal.ttl / 3 && grant.expires_in_ms >= grant.ttl_ms / 2;
    let renewal = match is_sure {
        true => renewal,
        false => {
            // Counted from its receipt; the gate's own time decides whether it still is.
            let given = Instant::now() + Duration::from_millis(grant.expires_in_ms);
            let renewal = Renewal {
                ends: given,
                ..renewal
            };
            match renewal.renewed().await {
                Ok(renewal) => renewal,
                Err(error) => {
                    guard.is_over = error.code() == Some("lock_lost");
                    return Err(error);
                }
            }
        }
    };
    guard.renewal = tokio::spawn(async move {
        renewal.go_on().await;
        // Nobody listens any more if the guard is gone.
        let _ = sender.send(true);
    });
    Ok(guard)
}

impl LockGuard {
    /// Its number: greater than that of everybody who had the lock before. What is protected refuses a
    /// smaller one than it has seen.
    pub fn fence(&self) -> u64 {
        self.lock.fence
    }

    /// The name of the lock.
    pub fn name(&self) -> &str {
        &self.lock.name
    }

    /// Comes when the lock is lost, or might be by this machine's clock.
    pub async fn lost(&self) {
        let mut lost = self.lost.clone();
        // The sender is gone only with the renewal, and then the lock ends as well.
        let _ = lost.wait_for(|is_lost| *is_lost).await;
    }

    /// Whether it is.
    pub fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    /// Releases it.
    ///
    /// # Errors
    /// [`Error::Refused`] with the code `lock_lost`: it had been lost before. [`Error::NoAnswer`]: it ends by itself
    /// at the latest after its ttl.
    pub async fn release(mut self) -> Result<(), Error> {
        self.renewal.abort();
        self.is_over = true;
        let mut tries = 1;
        loop {
            match self.lock.release().send(PATIENCE).await {
                Err(Error::NoAnswer { .. }) if tries < TRIES => tries += 1,
                answered => return answered.map(drop),
            }
        }
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.renewal.abort();
        if !self.is_over {
            self.lock.release().send_behind(PATIENCE);
        }
    }
}

impl Held {
    fn release(&self) -> Call {
        let doing = format!("releasing the lock '{}'", self.name);
        Call::new(&self.client, Method::DELETE, &["locks", &self.name], doing)
            .header(OWNER, &self.owner)
    }

    async fn renew(&self, patience: Duration) -> Result<Grant, Error> {
        let doing = format!("renewing the lock '{}'", self.name);
        let call = Call::new(&self.client, Method::PUT, &["locks", &self.name], doing);
        call.header(OWNER, &self.owner).send(patience).await?.read()
    }
}

struct Renewal {
    lock: Held,
    ttl: Duration,
    /// When it ends by this machine's clock.
    ends: Instant,
}

impl Renewal {
    /// Renews until it is lost.
    async fn go_on(mut self) {
        loop {
            let due = self.ends - self.ttl + self.ttl / 3;
            sleep_until(due.min(self.ends)).await;
            match self.renewed().await {
                Ok(renewed) => self = renewed,
                Err(_) => return,
            }
        }
    }

    /// Tries until it is renewed, or its time is over.
    async fn renewed(self) -> Result<Self, Error> {
        loop {
            let sent = Instant::now();
            let left = self.ends.saturating_duration_since(sent);
            match self.lock.renew(left).await {
                Ok(grant) => {
                    return Ok(Self {
                        ends: sent + Duration::from_millis(grant.expires_in_ms),
                        ..self
                    });
                }
                Err(error) if is_final(&error) || Instant::now() >= self.ends => {
                    return Err(error);
                }
                Err(_) => sleep((self.ttl / 20).min(left)).await,
            }
        }
    }
}

fn is_final(error: &Error) -> bool {
    matches!(error, Error::Refused { problem, .. } if !problem.retryable)
}
