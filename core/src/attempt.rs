//! When the client sends, waits and stops.
//!
//! Invariant: every send of one [`Attempt`] is under one key, except for one change to the next
//! epoch's key after the gate said that nothing of the old one can happen (rule I8). An attempt that
//! has sent something ends as failed only on the gate's word; everything else is
//! [`End::Unknown`] (rule T4).
//!
//! The machine does nothing: the shell carries out each [`Action`] and reports the [`Event`] that
//! came of it. `now_ms` comes from a monotonic clock with any origin.

mod answer;
#[cfg(test)]
mod tests;

use core::fmt;

pub use answer::{Answer, Problem};

use crate::backoff::Backoff;
use answer::Verdict;

/// The limits of one attempt to get an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a limit left out must be a compile error"
)]
pub struct Config {
    /// The first wait is at most this long.
    pub base_ms: u64,
    /// No wait that the client chooses is longer.
    pub cap_ms: u64,
    /// How long one send may take, its body included.
    pub attempt_timeout_ms: u64,
    /// How long all sends and waits may take together.
    pub deadline_ms: u64,
    /// How many sends there are at most. The first one is always made.
    pub max_sends: u32,
}

/// One attempt to learn what became of an operation.
///
/// ```text
///           ┌────────── early ─────────┐
///           ▼                          │
///  start ─▶ Sending ──again──▶ Waiting ┴─over─▶ Sending …
///           │   │                 │
///           │   └─ other payload refused: once more under the next key ─▶ Sending
///           │                     │
///           ├─ the gate's word ───┼──▶ Finished: done | failed
///           └─ aborted, no time, no send left ─┴──▶ Finished: unknown
/// ```
///
/// The first action is a send, so no wait ever comes before it. A wait that would not end before the
/// deadline is not begun: the attempt ends as unknown at once, because the customer should not sit
/// through a wait after which nothing can follow.
#[derive(Clone, Debug)]
pub struct Attempt {
    config: Config,
    deadline_ms: u64,
    backoff: Backoff,
    sends: u32,
    key_changed: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sending,
    Waiting { until_ms: u64 },
    Finished,
}

/// What the shell does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an action that a shell does not know must be a compile error"
)]
pub enum Action {
    /// Send the request and report what came of it.
    Send {
        /// Counts the sends of this attempt from 1.
        number: u32,
        /// Report [`Event::TimedOut`] when the answer's last byte is not there by then.
        timeout_ms: u64,
        /// The key to send it under.
        key: KeyChoice,
    },
    /// Report [`Event::WaitOver`] at that time.
    Wait {
        /// On the clock of `now_ms`.
        until_ms: u64,
    },
    /// Nothing: this is the result.
    Finish(End),
}

/// The key of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third choice")]
pub enum KeyChoice {
    /// The key of the next epoch: raise the epoch, durably, and then send.
    Next,
    /// The key of the send before, or the intent's key if there was none.
    Same,
}

/// What happened to the last action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "shells construct it")]
pub enum Event {
    /// The user gave up.
    Aborted,
    /// The answer arrived completely.
    Answered(Answer),
    /// The send was not made, because the key's lifetime is nearly over (rule T3).
    KeyTooOld,
    /// No answer, or a part of one: the request may have been executed all the same.
    NetworkError,
    /// The send's time is over.
    TimedOut,
    /// The wait's time is over.
    WaitOver,
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the three outcomes of the contract"
)]
pub enum End {
    /// The operation is executed.
    Done {
        /// By an earlier send; the answer is the stored one.
        replayed: bool,
        /// With an earlier payload than the one that was sent now.
        changed: bool,
    },
    /// The operation is not executed and never will be.
    Failed(Reason),
    /// Nobody can say yet. The key stays, and the next attempt asks again.
    Unknown(Why),
}

/// Who said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two reasons of rule T4")]
pub enum Reason {
    /// The operation was cancelled.
    Cancelled,
    /// The origin refused it.
    Refused,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The user gave up waiting.
    Aborted,
    /// No time is left for the next wait.
    Deadline,
    /// The key's lifetime is nearly over.
    KeyTooOld,
    /// The gate said that sending the same again is of no use.
    NotRetryable,
    /// The answer is not the gate's, and says neither success nor "try again".
    NotUnderstood,
    /// Every send was used.
    SendsUsedUp,
}

impl End {
    /// Whether the intent's next operation has another key (rule T4). An executed intent keeps its
    /// key until the application ends it; an unknown one keeps it until somebody knows.
    pub fn raises_epoch(self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl Why {
    /// A word for events and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::Deadline => "deadline",
            Self::KeyTooOld => "key_too_old",
            Self::NotRetryable => "not_retryable",
            Self::NotUnderstood => "not_understood",
            Self::SendsUsedUp => "sends_used_up",
        }
    }
}

impl Attempt {
    /// Begins at `now_ms`; the first action is a send. `seed` decides the jitter.
    pub fn start(now_ms: u64, config: Config, seed: u64) -> (Self, Action) {
        let attempt = Self {
            deadline_ms: now_ms.saturating_add(config.deadline_ms),
            backoff: Backoff::new(config.base_ms, config.cap_ms, seed),
            config,
            sends: 0,
            key_changed: false,
            state: State::Sending,
        };
        attempt.send(now_ms, KeyChoice::Same)
    }

    /// Takes what happened and decides what follows.
    ///
    /// # Errors
    ///
    /// [`IllegalEvent`] if the event does not belong to the last action: the shell is wrong.
    pub fn handle(self, now_ms: u64, event: Event) -> Result<(Self, Action), IllegalEvent> {
        Ok(match (self.state, event) {
            (State::Sending, Event::Answered(answer)) => self.answered(now_ms, &answer),
            (State::Sending, Event::NetworkError | Event::TimedOut) => self.wait(now_ms, None),
            (State::Sending, Event::KeyTooOld) => self.finish(End::Unknown(Why::KeyTooOld)),
            (State::Sending | State::Waiting { .. }, Event::Aborted) => {
                self.finish(End::Unknown(Why::Aborted))
            }
            (State::Waiting { until_ms }, Event::WaitOver) => self.wait_over(now_ms, until_ms),
            (state, event) => return Err(IllegalEvent { state, event }),
        })
    }

    fn answered(self, now_ms: u64, answer: &Answer) -> (Self, Action) {
        match answer.verdict() {
            Verdict::Again => self.wait(now_ms, answer.retry_after_ms),
            Verdict::End(end) => self.finish(end),
            Verdict::NextKey => self.next_key(now_ms),
        }
    }

    /// Once only: if the next key has been taken by yet another payload and refused too, somebody
    /// else is trying cards for this intent, and the customer decides who goes on.
    fn next_key(mut self, now_ms: u64) -> (Self, Action) {
        let sends_left = self.sends < self.config.max_sends && now_ms < self.deadline_ms;
        if self.key_changed || !sends_left {
            return self.finish(End::Failed(Reason::Refused));
        }
        self.key_changed = true;
        self.send(now_ms, KeyChoice::Next)
    }

    fn wait(mut self, now_ms: u64, asked_ms: Option<u64>) -> (Self, Action) {
        if self.sends >= self.config.max_sends {
            return self.finish(End::Unknown(Why::SendsUsedUp));
        }
        // "Retry-After: 0" is no opinion: without a wait, all sends would be used up in a second.
        let asked_ms = asked_ms.filter(|asked| *asked > 0);
        let wait_ms = asked_ms.or_else(|| self.backoff.next()).unwrap_or_default();
        let until_ms = now_ms.saturating_add(wait_ms);
        if until_ms >= self.deadline_ms {
            return self.finish(End::Unknown(Why::Deadline));
        }
        self.state = State::Waiting { until_ms };
        (self, Action::Wait { until_ms })
    }

    fn wait_over(self, now_ms: u64, until_ms: u64) -> (Self, Action) {
        if now_ms < until_ms {
            return (self, Action::Wait { until_ms });
        }
        // The page may have slept longer than it should.
        if now_ms >= self.deadline_ms {
            return self.finish(End::Unknown(Why::Deadline));
        }
        self.send(now_ms, KeyChoice::Same)
    }

    fn send(mut self, now_ms: u64, key: KeyChoice) -> (Self, Action) {
        self.sends += 1;
        self.state = State::Sending;
        let left_ms = self.deadline_ms.saturating_sub(now_ms);
        let action = Action::Send {
            number: self.sends,
            timeout_ms: self.config.attempt_timeout_ms.min(left_ms),
            key,
        };
        (self, action)
    }

    fn finish(mut self, end: End) -> (Self, Action) {
        self.state = State::Finished;
        (self, Action::Finish(end))
    }
}

/// The shell reported an event that cannot follow its last action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalEvent {
    state: State,
    event: Event,
}

impl fmt::Display for IllegalEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = match self.event {
            Event::Aborted => "an abort",
            Event::Answered(_) => "an answer",
            Event::KeyTooOld => "a key that is too old",
            Event::NetworkError => "a network error",
            Event::TimedOut => "a timeout",
            Event::WaitOver => "the end of a wait",
        };
        let action = match self.state {
            State::Finished => "has finished; start a new one",
            State::Sending => "is sending; report what came of the send first",
            State::Waiting { .. } => "is waiting; report the end of the wait first",
        };
        write!(f, "{event} was reported to an attempt that {action}")
    }
}

impl core::error::Error for IllegalEvent {}
