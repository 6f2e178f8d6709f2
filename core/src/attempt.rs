//! When the client sends, waits and stops.
//!
//! Invariant: every send of one [`Attempt`] is under one key, except for one change to the next
//! epoch's key after the gate said that nothing of the old one can happen (rule I8). A key is
//! cancelled only if another payload has it and is open: nobody can send that payload again. An
//! attempt that has sent something ends as failed only on the gate's word; everything else is
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
    /// How long one send or cancellation may take, the answer's body included.
    pub attempt_timeout_ms: u64,
    /// How long all sends, cancellations and waits may take together.
    pub deadline_ms: u64,
    /// How many sends and cancellations there are at most. The first send is always made.
    pub max_sends: u32,
}

/// One attempt to learn what became of an operation.
///
/// ```text
///                              ┌ early ┐
///                              ▼       │
///  start ─▶ Sending ──again──▶ Waiting ┴─over─▶ the call that was to be made again
///           │ │   ▲            ▲
///           │ │   │          again
///           │ │   │            │
///           │ └─ other payload open ──▶ Cancelling
///           │     │            │
///           │     └─ other payload refused or cancelled: once more under the next key
///           │                  │
///           ├─ the gate's word ┴──▶ Finished: done | failed
///           └─ aborted, no time, no call left (from every state) ──▶ Finished: unknown
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
    calls: u32,
    key_changed: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Calling(Call),
    Waiting { until_ms: u64, then: Call },
    Finished,
}

/// What the gate is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Cancel,
    Send,
}

/// What the shell does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an action that a shell does not know must be a compile error"
)]
pub enum Action {
    /// Ask the gate to cancel the key of the last send, and report what came of it. An answer about
    /// another operation must not be reported as this one's.
    Cancel {
        /// As for a send.
        timeout_ms: u64,
    },
    /// Send the request and report what came of it.
    Send {
        /// Counts the sends and cancellations of this attempt from 1.
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
    /// The call was not made, because the key's lifetime is nearly over (rule T3).
    KeyTooOld,
    /// No answer, or a part of one: the request may have been executed all the same.
    NetworkError,
    /// The call's time is over.
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
    /// Every send or cancellation was used.
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
            calls: 0,
            key_changed: false,
            state: State::Calling(Call::Send),
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
            (State::Calling(Call::Send), Event::Answered(answer)) => {
                self.obey(now_ms, answer.verdict(), &answer)
            }
            (State::Calling(Call::Cancel), Event::Answered(answer)) => {
                self.obey(now_ms, answer.verdict_on_cancel(), &answer)
            }
            (State::Calling(call), Event::NetworkError | Event::TimedOut) => {
                self.wait(now_ms, None, call)
            }
            (State::Calling(_), Event::KeyTooOld) => self.finish(End::Unknown(Why::KeyTooOld)),
            (State::Calling(_) | State::Waiting { .. }, Event::Aborted) => {
                self.finish(End::Unknown(Why::Aborted))
            }
            (State::Waiting { until_ms, then }, Event::WaitOver) => {
                self.wait_over(now_ms, until_ms, then)
            }
            (state, event) => return Err(IllegalEvent { state, event }),
        })
    }

    fn obey(self, now_ms: u64, verdict: Verdict, answer: &Answer) -> (Self, Action) {
        match verdict {
            Verdict::Again(call) => self.wait(now_ms, answer.retry_after_ms, call),
            Verdict::Cancel => self.cancel_other(now_ms, answer),
            Verdict::End(end) => self.finish(end),
            Verdict::NextKey(reason) => self.next_key(now_ms, reason),
        }
    }

    /// Not under the next key: who holds that one has gone on while this attempt was cancelling, and
    /// two that cancel each other would both end unpaid.
    fn cancel_other(self, now_ms: u64, answer: &Answer) -> (Self, Action) {
        match self.key_changed {
            true => self.wait(now_ms, answer.retry_after_ms, Call::Send),
            false => self.cancel(now_ms),
        }
    }

    /// Once only: if the next key has been taken by yet another payload and refused too, somebody
    /// else is trying cards for this intent, and the customer decides who goes on.
    fn next_key(mut self, now_ms: u64, reason: Reason) -> (Self, Action) {
        if self.key_changed || !self.has_call_left() || now_ms >= self.deadline_ms {
            return self.finish(End::Failed(reason));
        }
        self.key_changed = true;
        self.send(now_ms, KeyChoice::Next)
    }

    fn wait(mut self, now_ms: u64, asked_ms: Option<u64>, then: Call) -> (Self, Action) {
        if !self.has_call_left() {
            return self.finish(End::Unknown(Why::SendsUsedUp));
        }
        // "Retry-After: 0" is no opinion: without a wait, all sends would be used up in a second.
        let asked_ms = asked_ms.filter(|asked| *asked > 0);
        let wait_ms = asked_ms.or_else(|| self.backoff.next()).unwrap_or_default();
        let until_ms = now_ms.saturating_add(wait_ms);
        if until_ms >= self.deadline_ms {
            return self.finish(End::Unknown(Why::Deadline));
        }
        self.state = State::Waiting { until_ms, then };
        (self, Action::Wait { until_ms })
    }

    fn wait_over(self, now_ms: u64, until_ms: u64, then: Call) -> (Self, Action) {
        if now_ms < until_ms {
            return (self, Action::Wait { until_ms });
        }
        match then {
            Call::Cancel => self.cancel(now_ms),
            // The page may have slept longer than it should.
            Call::Send if now_ms >= self.deadline_ms => self.finish(End::Unknown(Why::Deadline)),
            Call::Send => self.send(now_ms, KeyChoice::Same),
        }
    }

    fn cancel(mut self, now_ms: u64) -> (Self, Action) {
        if !self.has_call_left() {
            return self.finish(End::Unknown(Why::SendsUsedUp));
        }
        if now_ms >= self.deadline_ms {
            return self.finish(End::Unknown(Why::Deadline));
        }
        let timeout_ms = self.call(now_ms, Call::Cancel);
        (self, Action::Cancel { timeout_ms })
    }

    fn send(mut self, now_ms: u64, key: KeyChoice) -> (Self, Action) {
        let timeout_ms = self.call(now_ms, Call::Send);
        let action = Action::Send {
            number: self.calls,
            timeout_ms,
            key,
        };
        (self, action)
    }

    /// Counts a call; returns how long it may take.
    fn call(&mut self, now_ms: u64, call: Call) -> u64 {
        self.calls += 1;
        self.state = State::Calling(call);
        let left_ms = self.deadline_ms.saturating_sub(now_ms);
        self.config.attempt_timeout_ms.min(left_ms)
    }

    fn has_call_left(&self) -> bool {
        self.calls < self.config.max_sends
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
            State::Calling(Call::Cancel) => {
                "is cancelling; report what came of the cancellation first"
            }
            State::Calling(Call::Send) => "is sending; report what came of the send first",
            State::Waiting { .. } => "is waiting; report the end of the wait first",
        };
        write!(f, "{event} was reported to an attempt that {action}")
    }
}

impl core::error::Error for IllegalEvent {}
