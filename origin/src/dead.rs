//! Messages that nobody could work off, kept for a person.
//!
//! **Invariant: a broker forgets a message only when its work was committed or it is kept here**, with all of
//! its bytes. What is kept holds up later messages about the same thing: worked off out of order, goods would
//! come back that never left. They are kept, too, and a replay takes them in order.

use crate::clock::now_ms;
use crate::consumer::Consumed;
use crate::id::Id;
use crate::ledger::Failure;
use crate::log;
use crate::metrics::{self, Event};
use crate::outbox::{Message, cut};
use crate::shop::effects::{Task, receive_within};
use crate::sql::dead as rows;
use crate::sql::work::atomically;
use crate::sql::{Database, Dialect};

/// A message that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Its place among the dead letters: the older, the lower.
    pub place: String,
    /// Its id, if it has one.
    pub message: Option<String>,
    /// What it is about. Empty if nobody said.
    pub aggregate: String,
    /// What kind of message it is.
    pub topic: String,
    /// What it says, as it came.
    pub payload: Vec<u8>,
    /// How often it was delivered.
    pub deliveries: i64,
    /// Why it was given up.
    pub reason: String,
    /// When it was sent, in milliseconds since the Unix epoch.
    pub published_ms: u64,
}

/// What a replay came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// Letters whose work is done now.
    pub done: u64,
    /// Letters whose work had been done before.
    pub dropped: u64,
    /// Letters that stay.
    pub failed: u64,
}

/// Keeps a message, and tells a person. To be called before the broker is told to forget it; a second time it
/// does nothing.
///
/// # Errors
///
/// The database failed: the message must stay with the broker.
pub async fn keep<DB: Dialect>(
    database: &Database<DB>,
    letter: &DeadLetter,
) -> Result<(), Failure> {
    let is_new = atomically!(database, |connection| {
        Ok(rows::insert::<DB>(connection, letter, now_ms()).await?)
    })?;
    if is_new {
        metrics::count(Event::DeadLetter);
        let what = format!("{}: {}", letter.name(), letter.reason);
        log::alarm("dead_letter", &what);
    }
    Ok(())
}

/// Whether a message about this is kept, so that later ones have to wait.
///
/// # Errors
///
/// The database failed.
pub async fn holds<DB: Dialect>(database: &Database<DB>, aggregate: &str) -> Result<bool, Failure> {
    let mut reader = database.read().await?;
    Ok(!aggregate.is_empty() && rows::holds::<DB>(&mut reader, aggregate).await?)
}

/// All of them, in order.
///
/// # Errors
///
/// The database failed.
pub async fn list<DB: Dialect>(database: &Database<DB>) -> Result<Vec<DeadLetter>, Failure> {
    Ok(rows::list::<DB>(&mut *database.read().await?).await?)
}

/// Does the work of all letters, in order, or of one. A letter goes in the transaction of its work; one that fails
/// stays, and so do those about the same thing behind it.
///
/// # Errors
///
/// The database failed. What was done until then stays done.
pub async fn replay<DB: Dialect>(
    database: &Database<DB>,
    place: Option<&str>,
) -> Result<Replayed, Failure> {
    let (mut replayed, mut waiting) = (Replayed::default(), Vec::new());
    for letter in list(database).await? {
        let is_behind = !letter.aggregate.is_empty() && waiting.contains(&letter.aggregate);
        let is_wanted = place.is_none_or(|place| place == letter.place);
        if is_wanted && !is_behind {
            match replay_one(database, &letter).await {
                Ok(Consumed::Now) => replayed.done += 1,
                Ok(Consumed::Before) => replayed.dropped += 1,
                Err(failure) => {
                    log::error("replay", &format!("{}: {failure}", letter.place));
                    replayed.failed += 1;
                    waiting.push(letter.aggregate);
                }
            }
        } else {
            replayed.failed += u64::from(is_wanted);
            waiting.push(letter.aggregate);
        }
    }
    Ok(replayed)
}

async fn replay_one<DB: Dialect>(
    database: &Database<DB>,
    letter: &DeadLetter,
) -> Result<Consumed, Failure> {
    let task = letter
        .task()
        .map_err(|why| Failure::NotExecuted(why.into()))?;
    let consumed = atomically!(database, |connection| {
        let consumed = receive_within::<DB>(connection, &task).await?;
        rows::delete::<DB>(connection, &letter.place).await?;
        Ok(consumed)
    })?;
    consumed.count();
    Ok(consumed)
}

/// Forgets a letter without doing its work. `false`: there is none in this place.
///
/// # Errors
///
/// The database failed.
pub async fn discard<DB: Dialect>(database: &Database<DB>, place: &str) -> Result<bool, Failure> {
    atomically!(database, |connection| {
        Ok(rows::delete::<DB>(connection, place).await?)
    })
}

impl DeadLetter {
    /// What a person is told that it is: its id, or its place if it has none.
    pub(crate) fn name(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.place)
    }

    /// What the letter asks for.
    pub(crate) fn task(&self) -> Result<Task, String> {
        let id = self
            .message
            .as_deref()
            .ok_or("it has no id: whoever sent it must give it one")?;
        let message = Message {
            id: id.to_owned(),
            aggregate: self.aggregate.clone(),
            topic: self.topic.clone(),
            payload: String::from_utf8(self.payload.clone())
                .map_err(|_| "its payload is no text".to_owned())?,
            attempt: self.deliveries,
        };
        Task::parse(&message).map_err(|error| error.to_string())
    }

    /// The same, given up for this reason.
    pub(crate) fn because(self, reason: String) -> Self {
        Self {
            reason: cut(reason),
            ..self
        }
    }

    /// What it is about, if that is a name.
    pub(crate) fn aggregate_of(text: &str) -> String {
        Id::parse(text).map_or_else(|_| String::new(), |id| id.as_str().to_owned())
    }
}
