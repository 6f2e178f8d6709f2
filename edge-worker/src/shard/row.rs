//! The row of an operation, from its reading to its writing.
//!
//! Invariant: whoever changes a record reads it here, writes it with [`keep`](Inner::keep), and awaits
//! nothing in between. An operation that is found to be unknown or disputed is on the store's list, and
//! what changes about one that is on it is looked at soon. An operation that goes well costs nothing
//! there.

use std::cell::RefCell;
use std::collections::HashSet;

use oncegate_core::identity::Identity;
use oncegate_core::operation::{Operation, Trouble};
use oncegate_core::problem::Problem;
use oncegate_store::{Place, Written};
use worker::{Error, Result};

use super::Inner;
use crate::answer::Answer;
use crate::log;
use crate::store::Bytes;

/// When an operation is looked at for the first time: its client may well be back before.
const FIRST_LOOK_MS: u64 = 5_000;

/// When a change is looked at.
const SOON_MS: u64 = 1_000;

/// More than this are not remembered: the store knows as well.
const MOST_NOTED: usize = 10_000;

/// A row as it was found: what is written over it, and what was in trouble then.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) operation: Identity,
    place: Place,
    trouble: Option<Trouble>,
}

/// What was found in it.
pub(super) struct Found {
    pub(super) row: Row,
    pub(super) record: Option<Operation>,
    pub(super) answer: Option<Answer>,
}

impl Found {
    /// Whether the key counts as never seen.
    pub(super) fn is_absent(&self, now_ms: u64) -> bool {
        let record = self.record.as_ref();
        record.is_none_or(|record| record.is_expired(now_ms))
    }
}

/// The operations that this instance has put on the list.
#[derive(Default)]
pub(super) struct Noted(RefCell<HashSet<Identity>>);

impl Inner {
    /// Reads what there is of an operation.
    pub(super) fn find(&self, now_ms: u64, reference: &str) -> Result<Found> {
        let operation = Identity::parse(reference);
        let operation = operation.ok_or_else(|| Error::from("a message without an operation"))?;
        self.found(now_ms, operation)
    }

    /// The same, by its identity.
    pub(super) fn found(&self, now_ms: u64, operation: Identity) -> Result<Found> {
        let found = self.store(now_ms)?.find(now_ms, &operation)?;
        Ok(Found {
            row: Row {
                operation,
                place: found.place,
                trouble: found.trouble(now_ms),
            },
            record: found.record,
            answer: found.answer,
        })
    }

    /// Reads what there is of an operation that may begin here: a key without a record is turned away
    /// where nothing new is taken on.
    pub(super) fn find_or_turn_away(
        &self,
        now_ms: u64,
        reference: &str,
        scope: &str,
    ) -> Result<std::result::Result<Found, Problem>> {
        let found = self.find(now_ms, reference)?;
        let problem = match found.is_absent(now_ms) {
            true => self.turn_away(now_ms, scope)?,
            false => None,
        };
        Ok(problem.map_or(Ok(found), Err))
    }

    /// Writes a record over its row, and sees to it that a change in its trouble is looked at.
    pub(super) fn keep(
        &self,
        now_ms: u64,
        row: Row,
        record: Operation,
        written: Written<'_, Bytes>,
    ) -> Result<()> {
        let (before, after) = (row.trouble, record.trouble(now_ms));
        self.store(now_ms)?
            .write(&row.operation, row.place, record, written)?;
        self.note(now_ms, &row.operation, after)?;
        let changed = before.map(|trouble| trouble.state) != after.map(|trouble| trouble.state);
        if before.is_some() && changed {
            let soon_ms = now_ms + SOON_MS;
            if self.store(now_ms)?.hurry(&row.operation, soon_ms)? {
                self.wake_at(now_ms, soon_ms)?;
            }
        }
        Ok(())
    }

    /// Writes a record that nobody depends on over its row, for `ttl_ms`.
    pub(super) fn keep_for(
        &self,
        now_ms: u64,
        row: Row,
        record: Operation,
        written: Written<'_, Bytes>,
        ttl_ms: u64,
    ) -> Result<()> {
        let store = self.store(now_ms)?;
        let until_ms = now_ms + ttl_ms;
        Ok(store.write_until(&row.operation, row.place, record, written, until_ms)?)
    }

    /// Puts what is in trouble on the list, if it was found so and is not written now. Whoever found it
    /// is answered all the same: the next one who finds it puts it there.
    pub(super) fn note_found(&self, now_ms: u64, row: Row) {
        if let Err(error) = self.note(now_ms, &row.operation, row.trouble) {
            log::error("not_listed")
                .operation(&row.operation.reference())
                .detail(error)
                .write();
        }
    }

    fn note(&self, now_ms: u64, operation: &Identity, trouble: Option<Trouble>) -> Result<()> {
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
