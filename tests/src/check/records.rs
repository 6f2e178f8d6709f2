//! Records, as numbers.
//!
//! Invariant: a record goes into storage and comes back before it is asked anything, as in the shard.
//! What is forgotten on the way is only *when* something was, as far as no clock can tell the
//! difference: instants are kept as the time that has passed since, rounded down to one of the
//! world's ages.

use std::cell::RefCell;
use std::collections::HashMap;

use oncegate_core::operation::{Operation, Stored};
use serde_json::Value;

use super::small::DAY_MS;

/// No clock of a gate shows less.
pub(super) const BASE_MS: u64 = 1_700_000_000_000;

pub(super) struct Records {
    ages: &'static [u64],
    records: RefCell<Vec<Operation>>,
    numbers: RefCell<HashMap<String, u32>>,
}

impl Records {
    pub(super) fn new(ages: &'static [u64]) -> Self {
        Self {
            ages,
            records: RefCell::default(),
            numbers: RefCell::default(),
        }
    }

    /// Every record was written at the same time; this is what the clock shows so much later.
    pub(super) fn now_ms(&self, age: u8) -> u64 {
        BASE_MS + self.ages[usize::from(age)]
    }

    /// Number 0 is no record.
    pub(super) fn get(&self, number: u32) -> Option<Operation> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        Some(self.records.borrow()[index].clone())
    }

    pub(super) fn existing(&self, number: u32) -> Operation {
        self.get(number).expect("its number is not 0")
    }

    pub(super) fn keep_if(&self, changed: bool, old: u32, record: &Operation) -> u32 {
        if changed { self.keep(record) } else { old }
    }

    /// A verb that writes nothing must not have changed anything; if it has, the number shows it.
    pub(super) fn keep_or_same(&self, old: u32, record: &Operation) -> u32 {
        match self.get(old).as_ref() == Some(record) {
            true => old,
            false => self.keep(record),
        }
    }

    pub(super) fn keep(&self, record: &Operation) -> u32 {
        let stored = Stored::from(record.clone());
        let mut text = serde_json::to_value(&stored).expect("a record is plain data");
        self.forget_when(&mut text);
        let mut numbers = self.numbers.borrow_mut();
        let next = small::<_, u32>(numbers.len()) + 1;
        *numbers.entry(text.to_string()).or_insert_with(|| {
            let read: Stored = serde_json::from_value(text).expect("a record can be read again");
            self.records.borrow_mut().push(read.into_record());
            next
        })
    }

    /// Only the last dispatch is compared with less than a day. How often a record was changed, the
    /// world tells beside it.
    fn forget_when(&self, record: &mut Value) {
        let members = record.as_object_mut().expect("a record is an object");
        let seen_ms = members["seen_ms"]
            .as_u64()
            .expect("a record knows the time");
        for (name, member) in members {
            if name == "revision" {
                *member = 0.into();
            }
            if let Some(at_ms) = member.as_u64().filter(|_| name.ends_with("_ms")) {
                let passed_ms = seen_ms - at_ms.min(seen_ms);
                let exact = name == "dispatched_ms" || passed_ms >= DAY_MS;
                let age_ms = self.ages.iter().rfind(|age| exact && **age <= passed_ms);
                *member = (BASE_MS - age_ms.unwrap_or(&0)).into();
            }
        }
    }
}

/// The numbers of a small world are small.
pub(super) fn small<N: TryInto<M>, M>(number: N) -> M
where
    N::Error: std::fmt::Debug,
{
    number.try_into().expect("the world is small")
}
