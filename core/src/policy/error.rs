//! Why a configuration cannot be used: every error names the place and the field.

use alloc::string::{String, ToString};
use core::fmt;

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    place: String,
    fault: Fault,
}

/// What is wrong, before it is known with which route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    field: &'static str,
    reason: String,
}

impl Fault {
    pub(super) fn new(field: &'static str, reason: impl ToString) -> Self {
        Self {
            field,
            reason: reason.to_string(),
        }
    }

    /// Says where: `route 'orders'`, or nothing for the configuration itself.
    pub(super) fn at(self, place: String) -> PolicyError {
        PolicyError { place, fault: self }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{} {}", self.fault.field, self.fault.reason)
    }
}

impl core::error::Error for PolicyError {}
