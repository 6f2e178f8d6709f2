//! Tokens that arrive, judged beside what is on record (rule K2, section 7).
//!
//! Invariant: a token with a record is never expired. One without, that is too old to begin anything,
//! is called unused only while a record of it could not have gone; then its key is closed, so that a
//! copy which is still on its way finds it so. Whoever sends such a token again, because the answer was
//! lost, hears the same; unless somebody has cancelled it since.

use alloc::boxed::Box;

use super::record::Operation;
use super::vocabulary::{State, Terms};
use crate::fingerprint::Fingerprint;
use crate::key::KeyKind;
use crate::principal::Principal;
use crate::token::Lifetime;

/// What a token is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must handle every case")]
pub enum Judged {
    /// For whatever the record allows, or, without one, for a first attempt.
    Good,
    /// It has expired and was never used. The record says *cancelled*, and must be stored.
    Unused(Box<Operation>),
    /// The same, and its record says so already.
    StillUnused,
    /// It is so old that what became of it may have been forgotten: nothing is said of it.
    Forgotten,
}

impl Operation {
    /// Judges a token whose key has this record, or none: before [`arrive`](Self::arrive) and
    /// [`cancel`](Self::cancel), and in the same turn. `terms` are those of its claim
    /// ([`Terms::of_token`]); `asked_for` is what it came with, and nothing for a cancellation.
    pub fn judge_token(
        record: Option<&Self>,
        now_ms: u64,
        lifetime: &Lifetime,
        terms: &Terms,
        principal: Option<Principal>,
        asked_for: Option<Fingerprint>,
    ) -> Judged {
        match record {
            Some(record) if !record.is_expired(now_ms) => {
                let is_told = asked_for.is_some() && !record.is_foreign(principal);
                return match is_told && record.is_unused_token() {
                    true => Judged::StillUnused,
                    false => Judged::Good,
                };
            }
            // It was used.
            Some(_) => return Judged::Forgotten,
            None => {}
        }
        if now_ms >= lifetime.forgotten_ms() {
            Judged::Forgotten
        } else if now_ms >= lifetime.expires_ms() {
            let mut record = Self::renew(None, now_ms, KeyKind::Token, terms, principal);
            record.fingerprint = asked_for;
            record.close(now_ms, State::Cancelled);
            record.touch(now_ms);
            Judged::Unused(Box::new(record))
        } else {
            Judged::Good
        }
    }

    /// Whether its key was closed because a request came with it too late, and for nothing else.
    pub(super) fn is_unused_token(&self) -> bool {
        let was_asked_for = self.fingerprint.is_some() && self.attempt < self.since;
        self.kind == KeyKind::Token && self.state == State::Cancelled && was_asked_for
    }
}

impl Terms {
    /// The terms of an operation that begins under a token: its record is kept at least until the token
    /// says that it is forgotten, whatever is configured by now, and whichever clock is ahead.
    #[must_use]
    pub fn of_token(mut self, now_ms: u64, lifetime: &Lifetime) -> Self {
        let left_ms = lifetime.forgotten_ms().saturating_sub(now_ms);
        self.key_ttl_ms = self.key_ttl_ms.max(left_ms);
        self
    }
}
