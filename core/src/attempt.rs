//! When the client sends, looks, waits and stops.
//!
//! Invariant: every send of one [`Attempt`] is under one key, except for one change to the next
//! epoch's key after the gate said that nothing of the old one can happen (rule I8). A key is
//! cancelled only if another payload has it and is open (nobody can send that payload again), if the
//! gate says that nothing is executed and nothing more will be sent, or if the application asks for
//! it. What may have been executed is sent again only to a server that is known not to execute a key
//! twice. An attempt that has sent something ends as failed only on the gate's word; everything else
//! is [`End::Unknown`] (rule T4).
//!
//! The machine does nothing: the shell carries out each [`Action`] and reports the [`Event`] that
//! came of it. `now_ms` comes from a monotonic clock with any origin. [`flow`] joins it with what is
//! stored.

mod answer;
pub mod budget;
mod call;
mod end;
pub mod flow;
mod illegal;
pub mod record;
#[cfg(test)]
mod tests;
mod words;

pub use answer::{Answer, Problem};
pub use end::{End, Reason, Why};
pub use illegal::IllegalEvent;
pub use words::{Action, Aim, Config, Event, KeyChoice};

use crate::backoff::Backoff;
use answer::{Verdict, after_silence};
use call::{Call, Purpose};

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
/// A look-up comes first where another payload was sent under the key ([`Aim::Replace`]), stands
/// between a send without an answer and the next one as long as the server has not proven that it
/// executes a key once, and is all that is left of a key that is too old (rule T3).
///
/// The first action is a call, so no wait ever comes before it. A wait that would not end before the
/// deadline is not begun: the attempt ends as unknown at once, because the customer should not sit
/// through a wait after which nothing can follow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    config: Config,
    aim: Aim,
    deadline_ms: u64,
    backoff: Backoff,
    calls: u32,
    key_changed: bool,
    /// The server is known not to execute a key twice.
    proven: bool,
    /// The gate has said that nothing is executed and that the operation does not go on by itself.
    nothing_happened: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Calling(Call),
    Finished,
    Waiting {
        until_ms: u64,
        then: Call,
        online: bool,
    },
}

impl Attempt {
    /// Begins at `now_ms` with a call. `proven` says that the server is known not to execute a key
    /// twice, `seed` decides the jitter.
    pub fn start(now_ms: u64, config: Config, aim: Aim, proven: bool, seed: u64) -> (Self, Action) {
        let attempt = Self {
            deadline_ms: now_ms.saturating_add(config.deadline_ms),
            backoff: Backoff::new(config.base_ms, config.cap_ms, seed),
            config,
            aim,
            calls: 0,
            key_changed: false,
            proven,
            nothing_happened: false,
            state: State::Finished,
        };
        let first = match aim {
            Aim::Cancel => Call::Cancel(Purpose::Aim),
            Aim::LookUp => Call::Look(Purpose::Aim),
            Aim::Replace => Call::Look(Purpose::Settle),
            Aim::Submit => Call::Send,
        };
        attempt.call(now_ms, first)
    }

    /// Takes what happened and decides what follows.
    ///
    /// # Errors
    ///
    /// [`IllegalEvent`] if the event does not belong to the last action: the shell is wrong.
    pub fn handle(self, now_ms: u64, event: Event) -> Result<(Self, Action), IllegalEvent> {
        Ok(match (self.state, event) {
            (State::Calling(call), Event::Answered(answer)) => self.obey(now_ms, call, &answer),
            (State::Calling(call), Event::NetworkError | Event::TimedOut) => {
                self.silence(now_ms, call, false)
            }
            (State::Calling(call), Event::Offline) => self.silence(now_ms, call, true),
            (State::Calling(_), Event::KeyTooOld) => {
                self.call(now_ms, Call::Look(Purpose::Last(Why::KeyTooOld)))
            }
            (State::Calling(_) | State::Waiting { .. }, Event::Aborted) => {
                self.finish(End::Unknown(Why::Aborted))
            }
            (State::Calling(_) | State::Waiting { .. }, Event::CancelWanted) => {
                self.cancel_instead(now_ms)
            }
            (
                State::Waiting {
                    then, online: true, ..
                },
                Event::Online,
            ) => self.wait_over(now_ms, then),
            (
                State::Waiting {
                    until_ms,
                    online,
                    then,
                },
                Event::WaitOver,
            ) => match now_ms < until_ms {
                true => (self, Action::Wait { until_ms, online }),
                false => self.wait_over(now_ms, then),
            },
            (state, event) => return Err(IllegalEvent { state, event }),
        })
    }

    /// Makes a wait that has just begun longer, because somebody else has to be spared.
    pub fn postpone(mut self, now_ms: u64, later_ms: u64) -> (Self, Action) {
        match &mut self.state {
            State::Waiting {
                until_ms, online, ..
            } => {
                *until_ms = later_ms.max(*until_ms);
                let action = Action::Wait {
                    until_ms: *until_ms,
                    online: *online,
                };
                match *until_ms >= self.deadline_ms {
                    true => self.give_up(now_ms, Why::Deadline),
                    false => (self, action),
                }
            }
            _ => self.give_up(now_ms, Why::Deadline),
        }
    }

    fn obey(mut self, now_ms: u64, call: Call, answer: &Answer) -> (Self, Action) {
        self.proven |= answer.gate;
        if call == Call::Send {
            self.nothing_happened = answer.says_nothing_happened();
        }
        match answer.verdict(call, self.proven) {
            Verdict::Again(call) => self.wait(now_ms, answer.retry_after_ms, call),
            // Not under the next key: who holds that one has gone on while this attempt was
            // cancelling, and two that cancel each other would both end unpaid.
            Verdict::Now(Call::Cancel(Purpose::Settle)) if self.key_changed => {
                self.wait(now_ms, answer.retry_after_ms, Call::Send)
            }
            Verdict::Now(call) => self.call_if_left(now_ms, call),
            Verdict::End(end) => self.finish(end),
            Verdict::GiveUp(why) => self.give_up(now_ms, why),
            Verdict::NextKey(reason) => self.next_key(now_ms, reason),
        }
    }

    fn silence(self, now_ms: u64, call: Call, offline: bool) -> (Self, Action) {
        match call {
            Call::Cancel(Purpose::Last(why)) => self.finish(End::Unknown(why)),
            call if offline => self.wait_for_network(now_ms, call),
            call => {
                let then = after_silence(call, self.proven);
                self.wait(now_ms, None, then)
            }
        }
    }

    /// Once only: if the next key has been taken by yet another payload and refused too, somebody
    /// else is trying cards for this intent, and the customer decides who goes on.
    fn next_key(mut self, now_ms: u64, reason: Reason) -> (Self, Action) {
        if self.key_changed || !self.has_call_left() || now_ms >= self.deadline_ms {
            return self.finish(End::Failed(reason));
        }
        self.key_changed = true;
        self.call_under(now_ms, Call::Send, KeyChoice::Next)
    }

    fn wait(mut self, now_ms: u64, asked_ms: Option<u64>, then: Call) -> (Self, Action) {
        // "Retry-After: 0" is no opinion: without a wait, all sends would be used up in a second.
        let asked_ms = asked_ms.filter(|asked| *asked > 0);
        let wait_ms = asked_ms.or_else(|| self.backoff.next()).unwrap_or_default();
        self.wait_until(now_ms, now_ms.saturating_add(wait_ms), then, false)
    }

    /// The device may be wrong about the network: it is tried all the same, now and then.
    fn wait_for_network(self, now_ms: u64, call: Call) -> (Self, Action) {
        let then = after_silence(call, self.proven);
        let until_ms = now_ms.saturating_add(self.config.cap_ms);
        let until_ms = until_ms.min(self.deadline_ms.saturating_sub(1));
        self.wait_until(now_ms, until_ms, then, true)
    }

    fn wait_until(
        mut self,
        now_ms: u64,
        until_ms: u64,
        then: Call,
        online: bool,
    ) -> (Self, Action) {
        if !self.has_call_left() {
            return self.give_up(now_ms, Why::SendsUsedUp);
        }
        if until_ms >= self.deadline_ms || now_ms >= until_ms && online {
            return self.give_up(now_ms, Why::Deadline);
        }
        self.state = State::Waiting {
            until_ms,
            then,
            online,
        };
        (self, Action::Wait { until_ms, online })
    }

    /// The page may have slept longer than it should.
    fn wait_over(self, now_ms: u64, then: Call) -> (Self, Action) {
        match now_ms >= self.deadline_ms {
            true => self.give_up(now_ms, Why::Deadline),
            false => self.call(now_ms, then),
        }
    }

    fn call_if_left(self, now_ms: u64, call: Call) -> (Self, Action) {
        if !self.has_call_left() {
            return self.give_up(now_ms, Why::SendsUsedUp);
        }
        self.wait_over(now_ms, call)
    }

    /// A new beginning, with all its time.
    fn cancel_instead(mut self, now_ms: u64) -> (Self, Action) {
        self.aim = Aim::Cancel;
        self.deadline_ms = now_ms.saturating_add(self.config.deadline_ms);
        self.calls = 0;
        self.call(now_ms, Call::Cancel(Purpose::Aim))
    }

    /// Nothing more will be sent. Where nothing is executed so far, the gate is asked to leave it at
    /// that: then the customer can be told that it failed.
    fn give_up(mut self, now_ms: u64, why: Why) -> (Self, Action) {
        let is_sending = matches!(self.aim, Aim::Replace | Aim::Submit);
        if is_sending && self.nothing_happened && now_ms < self.deadline_ms {
            self.nothing_happened = false;
            return self.call(now_ms, Call::Cancel(Purpose::Last(why)));
        }
        self.finish(End::Unknown(why))
    }

    fn call(self, now_ms: u64, call: Call) -> (Self, Action) {
        self.call_under(now_ms, call, KeyChoice::Same)
    }

    fn call_under(mut self, now_ms: u64, call: Call, key: KeyChoice) -> (Self, Action) {
        self.calls += 1;
        self.state = State::Calling(call);
        let left_ms = self.deadline_ms.saturating_sub(now_ms);
        let timeout_ms = self.config.attempt_timeout_ms.min(left_ms);
        let action = match call {
            Call::Cancel(_) => Action::Cancel { timeout_ms },
            Call::Look(_) => Action::Look { timeout_ms },
            Call::Send => Action::Send {
                number: self.calls,
                timeout_ms,
                key,
            },
        };
        (self, action)
    }

    fn has_call_left(&self) -> bool {
        self.calls < self.config.max_sends
    }

    fn finish(mut self, end: End) -> (Self, Action) {
        self.state = State::Finished;
        (self, Action::Finish(end))
    }
}
