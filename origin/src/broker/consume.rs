//! Working off what the broker delivers.
//!
//! **Invariant: every message ends in one of two ways: its work is committed, or it is a [dead letter](crate::dead),
//! of which a person hears.** One that cannot be read is given up at once, since reading it again changes nothing;
//! one whose work fails, after so many deliveries, so that it holds up the others no longer than that; one that
//! waited longer than consumers remember, since nobody knows any more whether it was worked off. Work that does not
//! end is no failure: it may be this consumer's fault. Its message is handed on, later each time, and if it is the
//! message's own fault, then it holds up the others until it has waited too long; a person reads so each time.

use std::convert::Infallible;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, AckKind};
use futures_util::StreamExt;
use oncegate_client::Claims;
use tokio::time::{sleep, timeout};

use super::{AGGREGATE, Broker, MESSAGE_ID, STREAM, claimed};
use crate::clock::now_ms;
use crate::commands::Trouble;
use crate::consumer::WINDOW_MS;
use crate::dead::{self, DeadLetter};
use crate::ledger::Failure;
use crate::log;
use crate::shop::effects;
use crate::sql::{Database, Dialect};

const CONSUMER: &str = "effects";
/// How long work that failed or did not end waits before it is tried again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Clocks differ, and a purge may come early.
const MARGIN: Duration = Duration::from_secs(60 * 60);

/// When a message is given up, and when it is handed on.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "four limits")]
pub struct Limits {
    /// Given up: after so many deliveries to this consumer whose work failed. 10, which takes half a minute.
    pub failures: i64,
    /// Given up: when it was sent longer ago. An hour less than [`WINDOW_MS`].
    pub age: Duration,
    /// Handed on: when so long nothing is heard of who has it. 10 s.
    pub silence: Duration,
    /// Handed on: when it was nobody's turn, or the work did not end, for so long. A minute. A database that is dead without a
    /// word, or a gate that only this consumer does not reach, then holds up this consumer and not the queue.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            failures: 10,
            age: Duration::from_millis(WINDOW_MS) - MARGIN,
            silence: Duration::from_secs(10),
            patience: Duration::from_secs(60),
        }
    }
}

/// What becomes of a delivery.
enum Ended {
    /// It is worked off.
    Done,
    /// Not this time.
    Failed(Failure),
    /// Nor any other time.
    GivenUp(String),
}

/// What became of the work of a message here. The broker counts deliveries, which do not say it: one that was handed on, or
/// whose consumer was ended, has failed nowhere. So whoever is begun anew counts anew: a dead letter may come late, and none
/// is made of what did not fail. One message is on its way at a time, so there is one to count for.
#[derive(Default)]
struct Tries {
    place: String,
    failed: i64,
    handed_on: i64,
}

impl Tries {
    fn of(&mut self, letter: &DeadLetter) -> &mut Self {
        if self.place != letter.place {
            *self = Self {
                place: letter.place.clone(),
                ..Self::default()
            };
        }
        self
    }

    /// What the broker is to do with work that did not end: give it to somebody, after a pause.
    fn hand_on(&mut self) -> AckKind {
        self.handed_on += 1;
        AckKind::Nak(Some(pause(self.handed_on)))
    }
}

impl Broker {
    /// Does the work of every message that is delivered, until the future is dropped. With claims, each is claimed at the
    /// gate first.
    ///
    /// # Errors
    ///
    /// The broker is gone, or the gate takes no claims of this consumer.
    pub async fn consume<DB: Dialect>(
        &self,
        database: &Database<DB>,
        limits: Limits,
        claims: Option<&Claims>,
    ) -> Result<(), Trouble> {
        let consumer = self.consumer(limits.silence).await?;
        let mut tries = Tries::default();
        let mut messages = consumer.messages().await?;
        while let Some(delivered) = messages.next().await {
            let delivered = match delivered {
                Ok(delivered) => delivered,
                Err(error) => {
                    log::error("broker", &error);
                    continue;
                }
            };
            let letter = letter(&delivered);
            let work = end_in_time(database, &letter, limits, tries.of(&letter));
            let work = async {
                match claims {
                    Some(claims) => claimed::work(claims, &letter, limits.patience, work).await,
                    None => Ok(Some(work.await)),
                }
            };
            let kind = tokio::select! {
                kind = work => kind?,
                never = hold(&delivered, limits.silence) => match never {},
            };
            let Some(kind) = kind else {
                continue;
            };
            // An acknowledgement that is lost brings the message again, and the record drops it.
            if let Err(error) = delivered.ack_with(kind).await {
                log::error("broker", &error);
            }
        }
        Err("the broker ended the delivery".into())
    }

    /// One that an earlier build or other limits have left is set anew, and keeps its place in the stream: it would hand a message
    /// on sooner than the next word of who has it.
    async fn consumer(&self, silence: Duration) -> Result<PullConsumer, Trouble> {
        let settings = pull::Config {
            durable_name: Some(CONSUMER.into()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: silence,
            // One after the other: what is ordered per aggregate stays so.
            max_ack_pending: 1,
            ..pull::Config::default()
        };
        let stream = self.0.get_stream(STREAM).await?;
        let made = stream.create_consumer(settings).await;
        Ok(made.map_err(|error| {
            format!(
                "cannot use the broker's consumer {CONSUMER}: {error}. If another build's settings are in the way, delete it and \
                 start again (`nats consumer rm {STREAM} {CONSUMER}`): its messages stay in the stream, and what was worked off \
                 of them is remembered by its record"
            )
        })?)
    }
}

/// Tells the broker again and again that somebody has the message, so that nobody else is given it meanwhile. What stands
/// beside it has an end.
async fn hold(delivered: &jetstream::Message, silence: Duration) -> Infallible {
    loop {
        sleep(silence / 3).await;
        // One that is lost is made good by the next; without them the message comes again, and the record drops it.
        let _ = delivered.ack_with(AckKind::Progress).await;
    }
}

/// The same as [`end`], where it ends in time. Where not, its transaction is undone, and the message handed on.
async fn end_in_time<DB: Dialect>(
    database: &Database<DB>,
    letter: &DeadLetter,
    limits: Limits,
    tries: &mut Tries,
) -> AckKind {
    let ended = timeout(limits.patience, end(database, letter, limits, tries)).await;
    ended.unwrap_or_else(|_| {
        let (name, seconds) = (letter.name(), limits.patience.as_secs_f64());
        let what = format!(
            "{name}: its work did not end in {seconds} s and was undone: handed on. See what the database waits for, and whether it \
             can be reached from here"
        );
        log::error("consumer", &what);
        tries.hand_on()
    })
}

/// Works, and says what the broker is to do. Where a message can neither be worked off nor kept, it stays.
async fn end<DB: Dialect>(
    database: &Database<DB>,
    letter: &DeadLetter,
    limits: Limits,
    tries: &mut Tries,
) -> AckKind {
    let again = AckKind::Nak(Some(pause(tries.failed + 1)));
    let reason = match work(database, letter, limits).await {
        Ended::Done => return AckKind::Ack,
        Ended::GivenUp(reason) => reason,
        Ended::Failed(failure) => {
            log::error("consumer", &format!("{}: {failure}", letter.name()));
            tries.failed += 1;
            if tries.failed < limits.failures {
                return again;
            }
            format!("it failed {} times: {failure}", tries.failed)
        }
    };
    match dead::keep(database, &letter.clone().because(reason)).await {
        Ok(()) => AckKind::Term,
        Err(failure) => {
            log::error("dead_letter", &format!("{}: {failure}", letter.name()));
            again
        }
    }
}

async fn work<DB: Dialect>(database: &Database<DB>, letter: &DeadLetter, limits: Limits) -> Ended {
    let age = Duration::from_millis(now_ms().saturating_sub(letter.published_ms));
    if age > limits.age {
        let hours = age.as_secs() / 3600;
        return Ended::GivenUp(format!(
            "it waited {hours} hours, and whether it was worked off is not remembered so long"
        ));
    }
    let task = match letter.task() {
        Ok(task) => task,
        Err(why) => return Ended::GivenUp(why),
    };
    match dead::holds(database, &letter.aggregate).await {
        Err(failure) => Ended::Failed(failure),
        Ok(true) => Ended::GivenUp("an earlier message about the same is a dead letter".into()),
        Ok(false) => match effects::receive(database, &task).await {
            Ok(_) => Ended::Done,
            Err(failure) => Ended::Failed(failure),
        },
    }
}

/// A delivery, as it would be kept. One whose place nobody can tell is placed by its arrival.
fn letter(delivered: &jetstream::Message) -> DeadLetter {
    let header = |name| {
        let headers = delivered.headers.as_ref()?;
        headers.get(name).map(|value| value.as_str())
    };
    let info = delivered.info().ok();
    let sequence = info.as_ref().map_or(0, |info| info.stream_sequence);
    let published = info.as_ref().and_then(|info| {
        let ms = info.published.unix_timestamp_nanos() / 1_000_000;
        u64::try_from(ms).ok()
    });
    let published_ms = published.unwrap_or_else(now_ms);

    DeadLetter {
        place: format!("{published_ms:013}-{sequence:012}"),
        message: header(MESSAGE_ID).map(str::to_owned),
        aggregate: DeadLetter::aggregate_of(header(AGGREGATE).unwrap_or_default()),
        topic: delivered
            .subject
            .strip_prefix("shop.")
            .unwrap_or_default()
            .to_owned(),
        payload: delivered.payload.to_vec(),
        deliveries: info.map_or(1, |info| info.delivered),
        reason: String::new(),
        published_ms,
    }
}

/// Doubles with every time that it was for nothing.
pub(super) fn pause(times: i64) -> Duration {
    let doublings = u32::try_from(times.clamp(1, 10) - 1).unwrap_or_default();
    (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(place: &str) -> DeadLetter {
        DeadLetter {
            place: place.to_owned(),
            message: None,
            aggregate: String::new(),
            topic: String::new(),
            payload: Vec::new(),
            deliveries: 1,
            reason: String::new(),
            published_ms: 0,
        }
    }

    /// With one message on its way, it would be the only one that is looked at.
    #[test]
    fn a_message_that_is_handed_on_waits_longer_each_time_and_the_next_one_does_not() {
        let mut tries = Tries::default();
        let mut wait = |place| match tries.of(&letter(place)).hand_on() {
            AckKind::Nak(Some(pause)) => pause,
            _ => panic!("it is not handed on"),
        };
        let waits = ["a", "a", "a", "b"].map(&mut wait);
        assert_eq!(waits, [1, 2, 4, 1].map(|times| FIRST_PAUSE * times));
        assert_eq!(["b"; 20].map(&mut wait)[19], LONGEST_PAUSE);
    }
}
