//! What a client stores of an intent, and who may change it.
//!
//! Invariant: an intent's epoch never falls, and an executed epoch stays executed until the
//! application ends it. Other tabs write the same record without a lock, so nothing that was read is
//! kept over a call or a wait: every change reads first.

use alloc::string::{String, ToString};

use crate::intent::{ASSUMED_LIFETIME_MS, InstallSecret, drawn_key, is_fresh};

/// Where an intent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "every shell stores all of them")]
pub enum Phase {
    /// The epoch's operation is executed, and the application has not ended it.
    Executed,
    /// Nothing has been sent in this epoch.
    None,
    /// Something may have been sent, and nobody has said what became of it.
    Open,
}

impl Phase {
    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::None => "none",
            Self::Open => "open",
        }
    }

    /// Reads what [`as_str`](Self::as_str) gave.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Executed, Self::None, Self::Open]
            .into_iter()
            .find(|phase| phase.as_str() == word)
    }
}

/// What is known of an intent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a shell that stores only a part must not compile"
)]
pub struct Record {
    /// Counts the intent's operations from 0.
    pub epoch: u64,
    /// The key of this epoch. Stored although it can be derived: if the secret is lost, an open
    /// operation must not change its name.
    pub key: String,
    /// Where the operation stands.
    pub phase: Phase,
    /// Tells payloads apart. Empty if it is not known which payload was executed.
    pub digest: String,
    /// Several payloads were sent under the key.
    pub mixed: bool,
    /// How often the key has been sent.
    pub sends: u32,
    /// When it was sent first, in milliseconds since the Unix epoch.
    pub first_sent_ms: u64,
    /// How long the gate remembers the key, once it has said so.
    pub lifetime_ms: Option<u64>,
}

impl Record {
    /// A record of which nothing has been sent.
    pub fn fresh(epoch: u64, key: String) -> Self {
        Self {
            epoch,
            key,
            phase: Phase::None,
            digest: String::new(),
            mixed: false,
            sends: 0,
            first_sent_ms: 0,
            lifetime_ms: None,
        }
    }

    /// The record that an intent goes on with: the stored one, or the first one of its epoch.
    pub fn current(stored: Option<Self>, naming: &Naming) -> Self {
        match stored {
            Some(record) if record.phase != Phase::None => record,
            ended => naming.begin(ended.map_or(0, |record| record.epoch)),
        }
    }

    /// Whether the payload that was sent or executed is known to be another one than this.
    pub fn differs(&self, digest: &str) -> bool {
        !self.digest.is_empty() && self.digest != digest
    }

    /// Whether the key may still be sent (rule T3).
    pub fn is_fresh(&self, wall_ms: u64) -> bool {
        let lifetime_ms = self.lifetime_ms.unwrap_or(ASSUMED_LIFETIME_MS);
        self.sends == 0 || is_fresh(self.first_sent_ms, lifetime_ms, wall_ms)
    }

    /// What is to be stored after an operation that can never be executed: the next one has another
    /// key. `None` if another tab is further.
    pub fn closed(stored: Option<&Self>, epoch: u64) -> Option<Self> {
        let raised = stored.is_some_and(|theirs| theirs.epoch > epoch);
        (!raised).then(|| Self::fresh(epoch + 1, String::new()))
    }

    /// This record, if it is to be stored: `None` if another tab is further.
    pub fn unless_behind(&self, stored: Option<&Self>) -> Option<Self> {
        let is_behind = stored.is_some_and(|theirs| {
            let executed = theirs.phase == Phase::Executed && self.phase != Phase::Executed;
            theirs.epoch > self.epoch || theirs.epoch == self.epoch && executed
        });
        (!is_behind).then(|| self.clone())
    }

    /// Another tab may have sent the same key meanwhile. Where the two disagree on the key (both
    /// made the install secret in the same instant), the one that has been sent counts.
    pub(super) fn adopt(&mut self, stored: Option<Self>) {
        let Some(theirs) = stored else {
            return;
        };
        let same_epoch = theirs.epoch == self.epoch && theirs.phase != Phase::None;
        if same_epoch && (theirs.key == self.key || self.sends == 0) {
            *self = theirs;
        }
    }

    /// Counts a send that is about to be made.
    pub(super) fn count_send(&mut self, digest: &str, wall_ms: u64) {
        if self.sends == 0 {
            self.first_sent_ms = wall_ms;
        }
        self.mixed |= self.sends > 0 && self.digest != digest;
        self.sends = self.sends.saturating_add(1);
        if self.phase != Phase::Executed {
            self.phase = Phase::Open;
            self.digest = digest.to_string();
        }
    }
}

/// Where an operation's keys come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "an operation has an intent or not")]
pub enum Naming {
    /// From its intent.
    Derived {
        /// The browser's.
        secret: InstallSecret,
        /// What the customer wants.
        intent: String,
    },
    /// It has none: the keys are drawn, and gone with the page.
    Drawn {
        /// From a cryptographic source.
        random: [u8; 10],
        /// When the operation began, in milliseconds since the Unix epoch.
        wall_ms: u64,
    },
}

impl Naming {
    /// The record with which an epoch begins.
    pub fn begin(&self, epoch: u64) -> Record {
        let key = match self {
            Self::Derived { secret, intent } => secret.key(intent, epoch),
            Self::Drawn { random, wall_ms } => {
                let mut random = *random;
                random[9] = random[9].wrapping_add(epoch as u8);
                drawn_key(*wall_ms, &random)
            }
        };
        Record::fresh(epoch, key.as_str().to_string())
    }
}
