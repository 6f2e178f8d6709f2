//! For how long a lock is wanted, and waited for.

use core::fmt;
use core::num::NonZeroU64;

use super::{LONGEST_TTL_MS, LONGEST_WAIT_MS, SHORTEST_TTL_MS, USUAL_TTL_MS};

/// How long a lock lasts, unless it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ttl(NonZeroU64);

/// How long a request waits for a lock that another one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wait(u64);

/// A time out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TermsError {
    /// Too short or too long for a lock.
    Ttl,
    /// Too long for a request.
    Wait,
}

impl Ttl {
    /// From 1 s to 1 h; 30 s if nothing is said.
    ///
    /// # Errors
    /// It is shorter or longer.
    pub fn parse(ttl_ms: Option<u64>) -> Result<Self, TermsError> {
        let ttl_ms = ttl_ms.unwrap_or(USUAL_TTL_MS);
        let is_in_bounds = (SHORTEST_TTL_MS..=LONGEST_TTL_MS).contains(&ttl_ms);
        let ttl = NonZeroU64::new(ttl_ms).filter(|_| is_in_bounds);
        ttl.map(Self).ok_or(TermsError::Ttl)
    }

    /// In milliseconds.
    pub fn as_ms(self) -> u64 {
        self.0.get()
    }
}

impl Wait {
    /// Up to 25 s; none if nothing is said.
    ///
    /// # Errors
    /// It is longer.
    pub fn parse(wait_ms: Option<u64>) -> Result<Self, TermsError> {
        let wait_ms =
            Some(wait_ms.unwrap_or_default()).filter(|wait_ms| *wait_ms <= LONGEST_WAIT_MS);
        wait_ms.map(Self).ok_or(TermsError::Wait)
    }

    /// In milliseconds.
    pub fn as_ms(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TermsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ttl => write!(f, "`ttl_ms` is from {SHORTEST_TTL_MS} to {LONGEST_TTL_MS}"),
            Self::Wait => write!(f, "`wait_ms` is at most {LONGEST_WAIT_MS}"),
        }
    }
}
