//! What a shard takes on: new operations of one tenant, and a database that stays below its limit.
//!
//! Only a key without a record is turned away here: replays, completions and settling always go on.
//! The accounts are in memory, so that a restart is generous and never strict.

use std::cell::RefCell;
use std::collections::HashMap;

use oncegate_core::problem::{Code, Problem};
use worker::Result;

use super::Inner;
use crate::log;

/// More tenants than this are not told apart for long: the accounts that owe nothing are dropped.
const MOST_ACCOUNTS: usize = 10_000;

/// Until when each tenant has booked.
#[derive(Default)]
pub(super) struct Accounts(RefCell<HashMap<String, u64>>);

impl Inner {
    /// Why nothing new is begun for this tenant now, if so.
    pub(super) fn turn_away(&self, now_ms: u64, scope: &str) -> Result<Option<Problem>> {
        let config = self.config()?;
        let limits = &config.limits;
        if self.store(now_ms)?.database().size_bytes() > limits.bytes {
            log::error("shard_full")
                .detail("it begins nothing new")
                .write();
            let problem = Problem::new(Code::GateUnavailable);
            return Ok(Some(problem.retry_after(60_000)));
        }
        let mut accounts = self.accounts.0.borrow_mut();
        let booked_us = accounts.get(scope).copied().unwrap_or_default();
        match limits.claims_per_scope.book(now_ms, booked_us) {
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
}
