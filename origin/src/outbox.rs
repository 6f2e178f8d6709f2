//! Side effects that are owed, and the relay that sees to them.
//!
//! **Invariant: a message is in the outbox if and only if what owes it was committed, and leaves it
//! only when the receiver has it.** [`owe`] writes in the transaction of the state change. A relay takes
//! a lease, counts the attempt and renews the lease, delivers, and marks; between delivery and mark it may die, so a message comes at least
//! once, always with the same id and with the number of the attempt, and the receiver drops repeats.
//! Of one aggregate, nothing is delivered before everything with a lower place is.
//!
//! Any number of relays may run. Where the database can skip locked rows, relays do not wait for each
//! other while they take; the lease keeps them apart while they deliver.

use std::fmt;
use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::{sleep, timeout};

use crate::clock::now_ms;
use crate::id::{BadId, Id};
use crate::ledger::Failure;
use crate::log;
use crate::metrics::{self, Event};
use crate::sql::outbox as rows;
use crate::sql::work::atomically;
use crate::sql::{Database, Dialect, Statements};

/// How long a relay has for a message, from when it took it, and again from when it begins to deliver it. What waits longer
/// behind slow ones may be taken by another relay.
const LEASE_MS: u64 = 30_000;
/// How long a receiver has. Shorter than the lease, so that nobody else delivers at the same time.
const DELIVERY: Duration = Duration::from_secs(20);
/// The most bytes of a topic.
const MOST_TOPIC: usize = 64;
/// The most bytes of a message's id: what receivers add to it fits a column too.
pub(crate) const MOST_ID: usize = 230;
/// The most bytes that are kept of an error.
const MOST_ERROR: usize = 1000;
/// After so many attempts a message is dead, until a person revives it.
pub const MOST_ATTEMPTS: i64 = 10;
const FIRST_PAUSE_MS: u64 = 200;
const LONGEST_PAUSE_MS: u64 = 60_000;
/// How long an idle relay waits before it looks again.
const IDLE: Duration = Duration::from_millis(200);

/// A side effect, as it is owed.
#[derive(Clone, Debug)]
pub struct Owed {
    pub(crate) id: String,
    pub(crate) aggregate: String,
    pub(crate) place: i64,
    pub(crate) topic: &'static str,
    pub(crate) payload: Json,
}

impl Owed {
    /// A message about `aggregate`: those of one aggregate are delivered in the order of their places, and there is
    /// one in each place. Its id is what it is about, its place and its topic, and nothing drawn.
    ///
    /// # Errors
    ///
    /// The id is too long for its column.
    pub fn new(
        aggregate: Id<'_>,
        place: i64,
        topic: &'static str,
        payload: Json,
    ) -> Result<Self, BadId> {
        let aggregate = aggregate.as_str().to_owned();
        let id = format!("{aggregate}/{place}/{topic}");
        Id::parse_up_to(topic, MOST_TOPIC)?;
        Id::parse_up_to(&id, MOST_ID)?;
        Ok(Self {
            id,
            aggregate,
            place,
            topic,
            payload,
        })
    }
}

/// A message, as it is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The same in every attempt.
    pub id: String,
    /// What it is about: nothing of it is delivered before what is in a lower place. Empty if it is about nothing
    /// that others are about.
    pub aggregate: String,
    /// What kind of message it is.
    pub topic: String,
    /// What it says: JSON.
    pub payload: String,
    /// 1 in the first attempt. From 2 on the receiver may have had it.
    pub attempt: i64,
}

/// Where a relay delivers to.
pub trait Receiver: Send + Sync {
    /// Hands a message over. `Ok` means that the receiver has it for good.
    fn deliver(
        &self,
        message: &Message,
    ) -> impl Future<Output = Result<(), Box<dyn fmt::Display + Send + Sync>>> + Send;
}

/// What one round of a relay did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Round {
    /// Messages that the receiver has now.
    pub delivered: u64,
    /// Messages that it has not, and that will be tried again or are dead.
    pub failed: u64,
}

/// Owes a side effect, in the transaction that the connection is in.
///
/// # Errors
///
/// The database failed, or there is a message in this place already.
pub async fn owe<C: Statements>(connection: &mut C, owed: &Owed) -> Result<(), sqlx::Error> {
    rows::insert::<C::Database>(connection, owed, now_ms()).await
}

/// Takes what is due, delivers it, and marks it.
///
/// # Errors
///
/// The database failed. What was taken is due again when the lease is over.
pub async fn relay_once<DB: Dialect>(
    database: &Database<DB>,
    owner: Id<'_>,
    receiver: &impl Receiver,
) -> Result<Round, Failure> {
    let taken = atomically!(database, |connection| {
        Ok(rows::take::<DB>(connection, owner, now_ms(), LEASE_MS).await?)
    })?;
    let mut round = Round::default();
    for mut message in taken {
        let begun = atomically!(database, |connection| {
            let until = now_ms() + LEASE_MS;
            Ok(rows::begin::<DB>(connection, owner, &message.id, until).await?)
        })?;
        // Another relay has it, or had it: this one was slow, and what it took is not its own any more.
        let Some(attempt) = begun else {
            continue;
        };
        message.attempt = attempt;
        let told = deliver(receiver, &message).await;
        match &told {
            Ok(()) => round.delivered += 1,
            Err(_) => round.failed += 1,
        }
        mark(database, owner, &message, told).await?;
    }
    Ok(round)
}

async fn deliver(receiver: &impl Receiver, message: &Message) -> Result<(), String> {
    match timeout(DELIVERY, receiver.deliver(message)).await {
        Ok(delivered) => delivered.map_err(|error| cut(error.to_string())),
        Err(_) => Err(format!("no answer within {} s", DELIVERY.as_secs())),
    }
}

/// As much of an error as is kept.
pub(crate) fn cut(mut error: String) -> String {
    let most = error.floor_char_boundary(MOST_ERROR);
    error.truncate(most);
    error
}

/// Relays until it is dropped. An error is logged, and tried again.
pub async fn relay<DB: Dialect>(database: &Database<DB>, owner: Id<'_>, receiver: &impl Receiver) {
    loop {
        match relay_once(database, owner, receiver).await {
            Ok(round) if round.delivered > 0 => continue,
            Ok(_) => {}
            Err(failure) => log::error("relay", &failure),
        }
        sleep(IDLE).await;
    }
}

/// Makes every dead message due again, and counts them.
///
/// # Errors
///
/// The database failed.
pub async fn revive<DB: Dialect>(database: &Database<DB>) -> Result<u64, Failure> {
    atomically!(database, |connection| {
        Ok(rows::revive::<DB>(connection, now_ms()).await?)
    })
}

async fn mark<DB: Dialect>(
    database: &Database<DB>,
    owner: Id<'_>,
    message: &Message,
    told: Result<(), String>,
) -> Result<(), Failure> {
    let error = match told {
        Ok(()) => {
            metrics::count(Event::Delivered);
            return atomically!(database, |connection| {
                Ok(rows::delivered::<DB>(connection, owner, &message.id).await?)
            });
        }
        Err(error) => error,
    };
    let is_dead = message.attempt >= MOST_ATTEMPTS;
    if is_dead {
        metrics::count(Event::DeadLetter);
        log::alarm("dead_letter", &format!("{}: {error}", message.id));
    }
    let due = now_ms() + pause_ms(message.attempt);
    atomically!(database, |connection| {
        Ok(rows::failed::<DB>(connection, owner, &message.id, is_dead, due, &error).await?)
    })
}

/// Doubles with every attempt.
fn pause_ms(attempt: i64) -> u64 {
    let doublings = u32::try_from(attempt.clamp(1, 20) - 1).unwrap_or_default();
    (FIRST_PAUSE_MS << doublings).min(LONGEST_PAUSE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute() {
        let pauses: Vec<u64> = [1, 2, 3, 9, 10, 99].map(pause_ms).into();
        assert_eq!(pauses, [200, 400, 800, 51_200, 60_000, 60_000]);
    }
}
