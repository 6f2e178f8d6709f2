//! What a shard takes on: new operations of one tenant, and a database that stays below its limit.
//!
//! Only a key without a record is turned away here: replays, completions and settling always go on.
//! The accounts are in memory, so that a restart is generous and never strict.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use oncegate_core::problem::{Code, Problem};
use worker::Result;

use super::Inner;

/// How many new operations pass between two looks at the size of the database.
const LOOK_EVERY: u32 = 64;

/// More tenants than this are not told apart for long: the accounts that owe nothing are dropped.
const MOST_ACCOUNTS: usize = 10_000;

#[derive(Default)]
pub(super) struct Accounts {
    /// Until when each tenant has booked.
    booked_us: RefCell<HashMap<String, u64>>,
    begun: Cell<u32>,
    full: Cell<bool>,
}

impl Inner {
    /// Why nothing new is begun for this tenant now, if so.
    pub(super) fn turn_away(&self, now_ms: u64, scope: &str) -> Result<Option<Problem>> {
        if self.is_full(now_ms)? {
            worker::console_error!("the shard's database is full: it begins nothing new");
            let problem = Problem::new(Code::GateUnavailable);
            return Ok(Some(problem.retry_after(60_000)));
        }
        let quota = self.config()?.limits.claims_per_scope;
        let mut accounts = self.accounts.booked_us.borrow_mut();
        let booked_us = accounts.get(scope).copied().unwrap_or_default();
        match quota.book(now_ms, booked_us) {
            Ok(next_us) => {
                if accounts.len() >= MOST_ACCOUNTS {
                    accounts.retain(|_, booked_us| *booked_us / 1_000 > now_ms);
                }
                accounts.insert(scope.to_owned(), next_us);
                Ok(None)
            }
            Err(wait_ms) => {
                let problem = Problem::new(Code::QuotaExceeded);
                Ok(Some(problem.retry_after(wait_ms)))
            }
        }
    }

    /// The size is looked at now and then: it cannot grow past the margin in between.
    fn is_full(&self, now_ms: u64) -> Result<bool> {
        let accounts = &self.accounts;
        if accounts.full.get() || accounts.begun.get().is_multiple_of(LOOK_EVERY) {
            let size = self.store(now_ms)?.database().size_bytes();
            accounts.full.set(size > self.config()?.limits.bytes);
        }
        accounts.begun.set(accounts.begun.get().wrapping_add(1));
        Ok(accounts.full.get())
    }
}
