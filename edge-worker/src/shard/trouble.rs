//! Which operations somebody has to see to: the shard's alarm, the Desk, a person.
//!
//! Invariant: an operation that is found to be unknown or disputed is on the store's list, and what
//! changes about one that is on it is looked at soon. An operation that goes well costs nothing here.

use std::cell::RefCell;
use std::collections::HashSet;

use oncegate_core::identity::Identity;
use oncegate_core::operation::{Operation, Trouble};
use oncegate_store::{Place, Written};
use worker::Result;

use super::Inner;
use crate::store::Bytes;

/// When an operation is looked at for the first time: its client may well be back before.
pub(super) const FIRST_LOOK_MS: u64 = 5_000;

/// When a change is looked at.
const SOON_MS: u64 = 1_000;

/// More than this are not remembered: the store knows as well.
const MOST_NOTED: usize = 10_000;

/// The operations that this instance has put on the list.
#[derive(Default)]
pub(super) struct Noted(RefCell<HashSet<Identity>>);

impl Inner {
    /// Writes a record that was in `before`'s trouble, and sees to it that the change is looked at.
    pub(super) fn keep(
        &self,
        now_ms: u64,
        operation: &Identity,
        (place, before): (Place, Option<Trouble>),
        record: Operation,
        written: Written<'_, Bytes>,
    ) -> Result<()> {
        let after = record.trouble(now_ms);
        self.store(now_ms)?
            .write(operation, place, record, written)?;
        self.note(now_ms, operation, after)?;
        let changed = before.map(|trouble| trouble.state) != after.map(|trouble| trouble.state);
        if before.is_some() && changed {
            let soon_ms = now_ms + SOON_MS;
            if self.store(now_ms)?.hurry(operation, soon_ms)? {
                self.wake_at(now_ms, soon_ms)?;
            }
        }
        Ok(())
    }

    /// Puts an operation that is in trouble on the list.
    pub(super) fn note(
        &self,
        now_ms: u64,
        operation: &Identity,
        trouble: Option<Trouble>,
    ) -> Result<()> {
        if trouble.is_none() || self.noted.has(operation) {
            return Ok(());
        }
        let due_ms = now_ms + FIRST_LOOK_MS;
        if self.store(now_ms)?.note(operation, due_ms)? {
            self.wake_at(now_ms, due_ms)?;
        }
        self.noted.add(*operation);
        Ok(())
    }
}

impl Noted {
    fn has(&self, operation: &Identity) -> bool {
        self.0.borrow().contains(operation)
    }

    fn add(&self, operation: Identity) {
        let mut noted = self.0.borrow_mut();
        if noted.len() >= MOST_NOTED {
            noted.clear();
        }
        noted.insert(operation);
    }

    /// The operation is off the list.
    pub(super) fn forget(&self, operation: &Identity) {
        self.0.borrow_mut().remove(operation);
    }
}
