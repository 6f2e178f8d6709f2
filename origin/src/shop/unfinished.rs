//! What was begun and whose end nobody has written down, finished without any client.
//!
//! **Invariant: a recovery does what a duplicate would do, under the same names.** A payment's provider is asked
//! under the provider key of its operation; a settlement goes on with the rows that are open. What cannot be
//! told yet stays, and has its turn again after the others.

use std::collections::BTreeMap;
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
use crate::metrics::{self, Event};
use crate::provider::client::Client;
use crate::sql::{Database, Dialect};

/// How many are read at a time.
const PAGE: u32 = 32;

/// How many rows that fail are remembered. Of more, all are told of anew.
const MOST_FAILING: usize = 10_000;

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

/// How often each row could not be finished: a row that stays so is told of again and again, but less and less often.
#[derive(Default)]
struct Failing(BTreeMap<String, u32>);

impl Failing {
    /// Counts a failure, and tells of the first, the second, the fourth and so on.
    fn tell(&mut self, what: &str, failure: &Failure) {
        metrics::count(Event::NotRecovered);
        if let Some(times) = self.due(what) {
            log::error("recovery", &format!("{what}: {failure} ({times} times)"));
        }
    }

    fn due(&mut self, what: &str) -> Option<u32> {
        if self.0.len() >= MOST_FAILING {
            self.0.clear();
        }
        let times = self.0.entry(what.to_owned()).or_default();
        *times = times.saturating_add(1);
        times.is_power_of_two().then_some(*times)
    }
}

/// Goes through everything that is unfinished, once.
async fn recover_once<DB: Dialect>(
    database: &Database<DB>,
    ledger: &Ledger<DB>,
    means: Means<'_>,
    failing: &mut Failing,
) -> Result<(), Failure> {
    let (began, mut last) = (now_ms(), None);
    loop {
        let page = ledger.unfinished(last.as_ref(), PAGE).await?;
        for unfinished in &page {
            // It was looked into in this round, and nobody can tell yet.
            if unfinished.called_until >= began {
                return Ok(());
            }
            let key = unfinished.call.key.as_str();
            match finish(database, ledger, means, unfinished).await {
                Ok(_) | Err(Failure::NotExecuted(_)) => drop(failing.0.remove(key)),
                Err(failure) => failing.tell(key, &failure),
            }
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(());
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
    let (mut failing, mut database_failing) = (Failing::default(), Failing::default());
    loop {
        sleep(every).await;
        match recover_once(database, ledger, means, &mut failing).await {
            Ok(()) => database_failing = Failing::default(),
            Err(failure) => database_failing.tell("the database", &failure),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_stays_unfinished_is_told_of_less_and_less_often() {
        let mut failing = Failing::default();
        let told = (1..=100).filter(|_| failing.due("a").is_some()).count();
        assert_eq!(told, 7);
        assert_eq!(failing.due("b"), Some(1));
        failing.0.remove("a");
        assert_eq!(failing.due("a"), Some(1));
    }
}
