//! What was begun and whose end nobody has written down, finished without any client.
//!
//! **Invariant: a recovery does what a duplicate would do, under the same names.** A payment's provider is asked
//! under the provider key of its operation; a settlement goes on with the rows that are open. What cannot be
//! told yet stays, and has its turn again after the others.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::payment::{self, Bill};
use super::settlement;
use crate::clock::now_ms;
use crate::job::Settings;
use crate::ledger::outside::Unfinished;
use crate::ledger::{Failure, Ledger, Verdict};
use crate::log;
use crate::provider::client::Client;
use crate::sql::{Database, Dialect};

/// How many are read at a time.
const PAGE: u32 = 32;

/// What is kept with an effect that was begun: what it was, and no card.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Memo {
    Payment { order: String, amount_cents: i64 },
    Settlement,
}

impl Memo {
    pub(super) fn of(bill: &Bill) -> Vec<u8> {
        let Bill {
            order,
            amount_cents,
        } = bill.clone();
        Self::Payment {
            order,
            amount_cents,
        }
        .to_bytes()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a memo is text and a number")
    }
}

/// What a recovery works with.
#[derive(Clone, Copy)]
pub(crate) struct Means<'m> {
    pub(crate) provider: Option<&'m Client>,
    pub(crate) settings: Settings,
}

/// Goes through everything that is unfinished, once, and counts what is finished now.
pub(crate) async fn recover_once<DB: Dialect>(
    database: &Database<DB>,
    ledger: &Ledger<DB>,
    means: Means<'_>,
) -> Result<u64, Failure> {
    let (began, mut finished, mut last) = (now_ms(), 0, None);
    loop {
        let page = ledger.unfinished(last.as_ref(), PAGE).await?;
        for unfinished in &page {
            // It was looked into in this round, and nobody can tell yet.
            if unfinished.called_until >= began {
                return Ok(finished);
            }
            match finish(database, ledger, means, unfinished).await {
                Ok(_) | Err(Failure::NotExecuted(_)) => finished += 1,
                Err(failure) => {
                    let key = unfinished.call.key.as_str();
                    log::error("recovery", &format!("{key}: {failure}"));
                }
            }
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(finished);
        }
    }
}

/// Recovers until it is dropped. An error is logged, and tried again.
pub(crate) async fn recover<DB: Dialect>(
    database: &Database<DB>,
    ledger: &Ledger<DB>,
    means: Means<'_>,
    every: Duration,
) {
    loop {
        sleep(every).await;
        if let Err(failure) = recover_once(database, ledger, means).await {
            log::error("recovery", &failure);
        }
    }
}

async fn finish<DB: Dialect>(
    database: &Database<DB>,
    ledger: &Ledger<DB>,
    means: Means<'_>,
    unfinished: &Unfinished,
) -> Result<Verdict, Failure> {
    let unreadable = |what: String| Failure::Unknown(what.into());
    let memo = serde_json::from_slice(&unfinished.memo)
        .map_err(|error| unreadable(format!("its memo makes no sense: {error}")))?;
    match (memo, means.provider) {
        (Memo::Settlement, _) => {
            settlement::settle(database, ledger, &unfinished.call, means.settings).await
        }
        (
            Memo::Payment {
                order,
                amount_cents,
            },
            Some(provider),
        ) => {
            let bill = Bill {
                order,
                amount_cents,
            };
            payment::find(ledger, provider, &unfinished.call, bill).await
        }
        (Memo::Payment { .. }, None) => Err(unreadable("there is no provider to ask".into())),
    }
}
