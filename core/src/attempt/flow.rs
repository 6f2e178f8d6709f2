//! The course of one order: what is stored, what is sent under which key, and how it ends.
//!
//! Invariant: a [`Step`] that sends names the record that is stored first, and that record has the
//! key. Where a reload or a crash may come, and what it finds:
//!
//! | between | stored | the next submit |
//! | --- | --- | --- |
//! | storing the record and the first byte | open | sends the same key; nothing was sent before |
//! | the first byte and the answer | open | sends the same key; the gate has at most one execution |
//! | the answer `executed` and storing it | open | sends the same key and gets the replay |
//! | the answer `refused` and raising the epoch | open | hears `refused` again, and raises it |
//! | cancelling and storing the next key | open | hears that it is cancelled, and takes the next key |
//!
//! The flow does nothing: the shell reads the intent's record, asks, writes what the step says, acts,
//! and asks again with what came of it. Reading, asking and writing are one turn of the shell.

use alloc::string::String;

use super::budget::Budget;
use super::record::{Naming, Phase, Record};
use super::{Action, Aim, Attempt, Config, End, Event, IllegalEvent, KeyChoice, Why};

/// How often the stored answer of an executed intent is asked for: it is done in any case.
const SENDS_FOR_A_REPLAY: u32 = 2;

/// How an executed intent ends, whatever was heard now.
const ALREADY_DONE: End = End::Done {
    replayed: true,
    changed: false,
};

/// What the application wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the three verbs of the SDK")]
pub enum Wish {
    /// That the operation does not happen.
    Cancel,
    /// To know what became of it.
    LookUp,
    /// That it happens.
    Submit,
}

/// What a flow begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a part left out must be a compile error"
)]
pub struct Order {
    /// What the application wants.
    pub wish: Wish,
    /// Where the keys come from.
    pub naming: Naming,
    /// Tells the payload from others; empty if there is none.
    pub digest: String,
    /// The server is known not to execute a key twice, or the application says so.
    pub proven: bool,
    /// The limits.
    pub config: Config,
    /// Decides the jitter.
    pub seed: u64,
}

/// The moment of a step: both clocks, and what other tabs and attempts have left.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a part left out must be a compile error"
)]
pub struct Moment<'a> {
    /// A monotonic clock with any origin.
    pub now_ms: u64,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: u64,
    /// The intent's record as it is stored now.
    pub stored: Option<Record>,
    /// The origin's.
    pub budget: &'a mut Budget,
}

/// What the shell does next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a shell that leaves a part undone must not compile"
)]
pub struct Step {
    /// To be stored before anything else.
    pub write: Option<Record>,
    /// Then this.
    pub act: Act,
}

/// As [`Action`], with the key in [`Flow::record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a shell must know every act")]
pub enum Act {
    /// See [`Action::Cancel`].
    Cancel {
        /// See there.
        timeout_ms: u64,
    },
    /// This is the result.
    Finish {
        /// The outcome.
        end: End,
        /// The answer that came last is the operation's own.
        answered: bool,
    },
    /// See [`Action::Look`].
    Look {
        /// See there.
        timeout_ms: u64,
    },
    /// Send under the record's key.
    Send {
        /// See there.
        timeout_ms: u64,
    },
    /// See [`Action::Wait`].
    Wait {
        /// See there.
        until_ms: u64,
        /// See there.
        online: bool,
    },
}

/// One order on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    naming: Naming,
    digest: String,
    wish: Wish,
    attempt: Attempt,
    record: Record,
    /// The intent was executed before: whatever is heard now, it is done (rule T4).
    was_executed: bool,
    /// This payload, and no other one, was sent under the key before.
    is_same: bool,
    /// The last call was a question: its answer does not say which payload was executed.
    asked: bool,
}

impl Flow {
    /// Begins.
    pub fn start(order: Order, moment: Moment<'_>) -> (Self, Step) {
        let record = Record::current(moment.stored.clone(), &order.naming);
        let was_executed = record.phase == Phase::Executed;
        let aim = aim(&order, &record);
        let mut config = order.config;
        if was_executed {
            config.max_sends = config.max_sends.min(SENDS_FOR_A_REPLAY);
        }
        let proven = order.proven || record.lifetime_ms.is_some();
        let (attempt, action) = Attempt::start(moment.now_ms, config, aim, proven, order.seed);
        let flow = Self {
            is_same: record.digest == order.digest && !record.mixed,
            naming: order.naming,
            digest: order.digest,
            wish: order.wish,
            attempt,
            record,
            was_executed,
            asked: false,
        };
        match flow.answer_from_record(moment.wall_ms) {
            Some(end) => (flow, Step::finish(end, false, None)),
            None => flow.perform(action, moment),
        }
    }

    /// Takes what came of the last step. `lifetime_ms` is what an answer says of the key's.
    ///
    /// # Errors
    ///
    /// [`IllegalEvent`] if the event does not belong to the last step: the shell is wrong.
    pub fn next(
        mut self,
        event: Event,
        lifetime_ms: Option<u64>,
        moment: Moment<'_>,
    ) -> Result<(Self, Step), IllegalEvent> {
        let learned = lifetime_ms.is_some() && lifetime_ms != self.record.lifetime_ms;
        if learned {
            self.record.adopt(moment.stored.clone());
            self.record.lifetime_ms = lifetime_ms;
        }
        if event == Event::CancelWanted {
            self.wish = Wish::Cancel;
        }
        let (attempt, action) = self.attempt.handle(moment.now_ms, event)?;
        self.attempt = attempt;
        let stored = moment.stored.clone();
        let (flow, mut step) = self.perform(action, moment);
        if learned && step.write.is_none() {
            step.write = flow.record.unless_behind(stored.as_ref());
        }
        Ok((flow, step))
    }

    /// What is known of the intent now.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// An executed intent is sent again only to get its stored answer, and only where a gate has
    /// said that it still has it: elsewhere the send could be a second execution.
    fn answer_from_record(&self, wall_ms: u64) -> Option<End> {
        let is_submit = self.wish == Wish::Submit;
        let changed = is_submit && self.record.differs(&self.digest);
        let is_stored = self.record.lifetime_ms.is_some() && self.record.is_fresh(wall_ms);
        let known = self.was_executed && (changed || !is_submit || !is_stored);
        known.then_some(End::Done {
            replayed: true,
            changed,
        })
    }

    fn perform(mut self, action: Action, moment: Moment<'_>) -> (Self, Step) {
        match action {
            Action::Cancel { .. } | Action::Look { .. } => self.asked = true,
            Action::Send { .. } => self.asked = false,
            Action::Finish(_) | Action::Wait { .. } => {}
        }
        let (write, act) = match action {
            Action::Finish(end) => return self.finish(end, &moment, true),
            Action::Cancel { .. }
            | Action::Send {
                key: KeyChoice::Next,
                ..
            } if self.was_executed => {
                return self.finish(End::Unknown(Why::NotUnderstood), &moment, true);
            }
            Action::Send {
                timeout_ms, key, ..
            } => {
                if key == KeyChoice::Next {
                    self.take_next_key(moment.stored.clone());
                }
                if !self.record.is_fresh(moment.wall_ms) {
                    return self.too_old(moment);
                }
                (self.before_send(&moment), Act::Send { timeout_ms })
            }
            Action::Cancel { .. } if !self.record.is_fresh(moment.wall_ms) => {
                return self.too_old(moment);
            }
            Action::Cancel { timeout_ms } => (None, Act::Cancel { timeout_ms }),
            Action::Look { timeout_ms } => (None, Act::Look { timeout_ms }),
            Action::Wait { until_ms, online } => return self.wait(until_ms, online, moment),
        };
        (self, Step { write, act })
    }

    fn too_old(mut self, moment: Moment<'_>) -> (Self, Step) {
        match self.attempt.clone().handle(moment.now_ms, Event::KeyTooOld) {
            Ok((attempt, action)) => {
                self.attempt = attempt;
                self.perform(action, moment)
            }
            Err(_) => self.finish(End::Unknown(Why::KeyTooOld), &moment, true),
        }
    }

    /// A repetition waits its turn, or ends here if that comes too late.
    fn wait(mut self, until_ms: u64, online: bool, moment: Moment<'_>) -> (Self, Step) {
        let turn_ms = moment.budget.take(moment.now_ms);
        if turn_ms <= until_ms {
            let act = Act::Wait { until_ms, online };
            return (self, Step { write: None, act });
        }
        let (attempt, action) = self.attempt.postpone(moment.now_ms, turn_ms);
        self.attempt = attempt;
        match action {
            Action::Wait { until_ms, online } => {
                let act = Act::Wait { until_ms, online };
                (self, Step { write: None, act })
            }
            action => self.perform(action, moment),
        }
    }

    fn before_send(&mut self, moment: &Moment<'_>) -> Option<Record> {
        self.record.adopt(moment.stored.clone());
        self.record.count_send(&self.digest, moment.wall_ms);
        self.record.unless_behind(moment.stored.as_ref())
    }

    /// Goes to the next epoch, or to the one that another tab has reached.
    fn take_next_key(&mut self, stored: Option<Record>) {
        let theirs = stored.filter(|theirs| theirs.epoch > self.record.epoch);
        let next = match theirs {
            Some(theirs) => Record::current(Some(theirs), &self.naming),
            None => self.naming.begin(self.record.epoch + 1),
        };
        self.is_same = next.digest == self.digest && !next.mixed;
        self.record = next;
    }

    fn finish(mut self, end: End, moment: &Moment<'_>, answered: bool) -> (Self, Step) {
        let stored = moment.stored.as_ref();
        let step = match end {
            End::Done { replayed, changed } => {
                let changed = match changed {
                    true => !self.is_own_payload(stored),
                    false => self.asked && !self.is_alone(stored),
                };
                self.execute(changed);
                let write = self.record.unless_behind(stored);
                Step::finish(End::Done { replayed, changed }, answered, write)
            }
            _ if self.was_executed => Step::finish(ALREADY_DONE, false, None),
            End::Failed(_) => {
                let write = Record::closed(stored, self.record.epoch);
                Step::finish(end, answered, write)
            }
            End::Unknown(_) => Step::finish(end, answered, None),
        };
        (self, step)
    }

    /// What was executed is what was asked for now: another payload was never sent under the key.
    fn is_own_payload(&self, stored: Option<&Record>) -> bool {
        self.wish != Wish::Submit || self.is_same && self.is_alone(stored)
    }

    /// This browser has sent no other payload under the key.
    fn is_alone(&self, stored: Option<&Record>) -> bool {
        let is_alone = |record: &Record| {
            let here = record.epoch == self.record.epoch && record.phase != Phase::None;
            !here || !record.mixed && !record.differs(&self.digest)
        };
        self.wish != Wish::Submit || is_alone(&self.record) && stored.is_none_or(is_alone)
    }

    fn execute(&mut self, changed: bool) {
        self.record.phase = Phase::Executed;
        match self.wish {
            _ if changed => self.record.digest.clear(),
            Wish::Submit => self.record.digest.clone_from(&self.digest),
            Wish::Cancel | Wish::LookUp if self.record.mixed => self.record.digest.clear(),
            Wish::Cancel | Wish::LookUp => {}
        }
    }
}

impl Step {
    fn finish(end: End, answered: bool, write: Option<Record>) -> Self {
        let act = Act::Finish { end, answered };
        Self { write, act }
    }
}

fn aim(order: &Order, record: &Record) -> Aim {
    let is_known = record.phase == Phase::Open && record.lifetime_ms.is_some();
    match order.wish {
        Wish::Cancel => Aim::Cancel,
        Wish::LookUp => Aim::LookUp,
        Wish::Submit if is_known && record.differs(&order.digest) => Aim::Replace,
        Wish::Submit => Aim::Submit,
    }
}
