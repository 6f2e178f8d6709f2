//! The origin: what happens to an attempt that arrives there.
//!
//! Invariant: effect and row are committed in one step, while the attempt holds the key (L3). What a
//! row means is decided by [`oncegate_core::ledger`]. A process that stops loses its transactions
//! and its connections, and no row.

mod fate;
mod questions;
mod rows;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use oncegate_core::key::KeyKind;
use oncegate_core::ledger::{Decision, State, decide};
use oncegate_core::outcome::Outcome;
use oncegate_core::proof::Origin as Kind;

pub use fate::{Business, Ending, Fate};

use self::rows::{Rows, reused, said};
pub(crate) use self::rows::{bare, bare_status};
use crate::courier::CourierEvent;
use crate::env::{Env, Event};
use crate::model::{Answered, CourierId, KeyId, Payload, Reply, Text};
use crate::network::notice_ms;
use crate::plant::Plant;
use crate::shard::Probe;

/// How long a duplicate waits for the key (L5).
const LOCK_TIMEOUT_MS: u64 = 5_000;

/// One attempt on its way to the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) courier: CourierId,
    pub(crate) key: KeyId,
    pub(crate) payload: Payload,
    pub(crate) is_copy: bool,
}

/// A cancellation: the gate's, or, without an attempt, the operator's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inquiry {
    pub(crate) key: KeyId,
    pub(crate) payload: Payload,
    /// The newest attempt when the gate asked.
    pub(crate) attempt: Option<u32>,
}

#[derive(Debug)]
pub(crate) enum OriginEvent {
    Arrive(Delivery),
    /// The job asks for its key.
    Begin(u64),
    /// The work inside the transaction is over.
    Worked(u64),
    /// The job has waited long enough for its key.
    LockTimeout(u64),
    /// The job has the key.
    Locked(u64),
    Cancel(Inquiry),
    Probe(Probe),
    /// A planted bug: the row follows its effect.
    WriteRow(KeyId, Payload, Text),
}

#[derive(Clone, Debug)]
struct Job {
    delivery: Delivery,
    fate: Fate,
    purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Cancel(Inquiry),
    Effect,
    /// The effect is rolled back; the refusal is stored in a transaction of its own (L4).
    Refusal,
}

/// Who holds a key, and who waits for it.
#[derive(Debug)]
struct Lock {
    holder: u64,
    waiting: VecDeque<u64>,
}

#[derive(Debug)]
pub(crate) struct Origin {
    is_up: bool,
    /// The fates of the next attempts; afterwards chance decides.
    pub(crate) script: VecDeque<Fate>,
    rows: Rows,
    /// The keys under which something was executed, as the shop's own books show them.
    books: BTreeSet<KeyId>,
    jobs: BTreeMap<u64, Job>,
    locks: BTreeMap<KeyId, Lock>,
}

impl Origin {
    pub(crate) fn new() -> Self {
        Self {
            is_up: true,
            script: VecDeque::new(),
            rows: Rows::default(),
            books: BTreeSet::new(),
            jobs: BTreeMap::new(),
            locks: BTreeMap::new(),
        }
    }

    pub(crate) fn handle(&mut self, env: &mut Env, event: OriginEvent) {
        match event {
            OriginEvent::Arrive(delivery) => self.arrive(env, delivery),
            OriginEvent::Begin(job) => self.begin(env, job),
            OriginEvent::Worked(job) => self.worked(env, job),
            OriginEvent::LockTimeout(job) => self.lock_timeout(env, job),
            OriginEvent::Locked(job) => self.locked(env, job),
            OriginEvent::Cancel(inquiry) => self.cancel(env, inquiry),
            OriginEvent::Probe(probe) => self.answer_probe(env, probe),
            OriginEvent::WriteRow(key, payload, text) => {
                self.rows.insert(key, payload, State::Executed, Some(text));
            }
        }
    }

    pub(crate) fn start(&mut self, env: &mut Env) {
        env.note(format_args!("origin starts"));
        self.is_up = true;
    }

    /// Every transaction is rolled back and every connection broken.
    pub(crate) fn stop(&mut self, env: &mut Env) {
        env.note(format_args!("origin stops"));
        self.is_up = false;
        self.locks.clear();
        for job in std::mem::take(&mut self.jobs).into_values() {
            end(env, &job);
            answer(env, &job.delivery, Reply::Broken, 0);
        }
    }

    fn arrive(&mut self, env: &mut Env, delivery: Delivery) {
        let Delivery { courier, key, .. } = delivery;
        if !self.is_up {
            env.note(format_args!("{courier:?} of {key} finds no origin"));
            if !delivery.is_copy {
                env.witness.ends(key, courier);
            }
            return answer(env, &delivery, Reply::Broken, 0);
        }
        let scripted = self.script.pop_front();
        let fate = scripted.unwrap_or_else(|| Fate::draw(env, delivery.payload.card));
        let copy = if delivery.is_copy { " (copy)" } else { "" };
        env.note(format_args!(
            "origin gets {courier:?} of {key}{copy}: {fate:?}"
        ));
        let job = self.add(env, delivery, fate, Purpose::Effect);
        env.after(fate.late_ms, Event::Origin(OriginEvent::Begin(job)));
    }

    fn add(&mut self, env: &mut Env, delivery: Delivery, fate: Fate, purpose: Purpose) -> u64 {
        let id = env.id();
        let job = Job {
            delivery,
            fate,
            purpose,
        };
        self.jobs.insert(id, job);
        id
    }

    fn begin(&mut self, env: &mut Env, id: u64) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        if env.settings.terms.origin != Kind::Ledger {
            return env.after(job.fate.work_ms, Event::Origin(OriginEvent::Worked(id)));
        }
        match self.locks.get_mut(&job.delivery.key) {
            Some(lock) => {
                lock.waiting.push_back(id);
                env.after(LOCK_TIMEOUT_MS, Event::Origin(OriginEvent::LockTimeout(id)));
            }
            None => {
                let lock = Lock {
                    holder: id,
                    waiting: VecDeque::new(),
                };
                self.locks.insert(job.delivery.key, lock);
                self.locked(env, id);
            }
        }
    }

    fn lock_timeout(&mut self, env: &mut Env, id: u64) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let Some(lock) = self.locks.get_mut(&job.delivery.key) else {
            return;
        };
        if !lock.waiting.contains(&id) {
            return;
        }
        lock.waiting.retain(|waiting| *waiting != id);
        self.finish(env, id, said(409, Outcome::InProgress));
    }

    fn unlock(&mut self, env: &mut Env, key: KeyId) {
        let Some(lock) = self.locks.get_mut(&key) else {
            return;
        };
        match lock.waiting.pop_front() {
            Some(next) => {
                lock.holder = next;
                env.after(0, Event::Origin(OriginEvent::Locked(next)));
            }
            None => drop(self.locks.remove(&key)),
        }
    }

    /// Inside the transaction: looks the key up, and acts on what it finds (L2, L4, L5).
    fn locked(&mut self, env: &mut Env, id: u64) {
        let Some(job) = self.jobs.get(&id).cloned() else {
            return;
        };
        let Delivery { key, payload, .. } = job.delivery;
        if let Purpose::Cancel(inquiry) = job.purpose {
            return self.cancel_locked(env, id, inquiry);
        }
        let kind: KeyKind = env.settings.kind;
        let rows = self.rows.of(key);
        let reply = match decide(rows, &payload.fingerprint(), kind) {
            Decision::Answer(row) => row.into(),
            Decision::OtherFingerprint(recorded) => reused(recorded),
            Decision::Free if job.purpose == Purpose::Effect => {
                return env.after(job.fate.work_ms, Event::Origin(OriginEvent::Worked(id)));
            }
            Decision::Free => self.refuse(env, key, payload),
        };
        self.unlock(env, key);
        self.finish(env, id, reply);
    }

    fn refuse(&mut self, env: &mut Env, key: KeyId, payload: Payload) -> Answered {
        env.note(format_args!("origin refuses {key}"));
        let text = env.witness.refusal(key, payload);
        if !env.has(Plant::RefusalNotCommitted) {
            env.witness.bars(key, payload);
            self.rows
                .insert(key, payload, State::Refused, Some(text.clone()));
        }
        Answered {
            http: 402,
            outcome: Some(Outcome::Refused),
            text: Some(text),
        }
    }

    fn worked(&mut self, env: &mut Env, id: u64) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let key = job.delivery.key;
        let is_ledger = env.settings.terms.origin == Kind::Ledger;
        let reply = match job.fate.business {
            Business::Executes => self.execute(env, id),
            Business::FailsHonestly if is_ledger => said(503, Outcome::NotExecuted),
            Business::FailsHonestly => bare(429),
            Business::Fails => bare(500),
            Business::Refuses if is_ledger => {
                job.purpose = Purpose::Refusal;
                self.unlock(env, key);
                let pause_ms = env.random.between(0, 30);
                return env.after(pause_ms, Event::Origin(OriginEvent::Begin(id)));
            }
            Business::Refuses => Answered {
                outcome: None,
                ..self.refuse_plainly(env, id)
            },
        };
        self.unlock(env, key);
        self.finish(env, id, reply);
    }

    fn refuse_plainly(&self, env: &mut Env, id: u64) -> Answered {
        let delivery = self.jobs[&id].delivery;
        Answered {
            http: 402,
            outcome: None,
            text: Some(env.witness.refusal(delivery.key, delivery.payload)),
        }
    }

    /// The commit: effect and row in one step.
    fn execute(&mut self, env: &mut Env, id: u64) -> Answered {
        let Delivery {
            courier,
            key,
            payload,
            ..
        } = self.jobs[&id].delivery;
        env.note(format_args!("origin executes {key} for {courier:?}"));
        let text = env.witness.effect(key, payload, courier);
        self.books.insert(key);
        let is_ledger = env.settings.terms.origin == Kind::Ledger;
        if is_ledger && env.has(Plant::RowAfterEffect) {
            let pause_ms = env.random.between(50, 500);
            let row = OriginEvent::WriteRow(key, payload, text.clone());
            env.after(pause_ms, Event::Origin(row));
        } else if is_ledger {
            self.rows
                .insert(key, payload, State::Executed, Some(text.clone()));
        }
        Answered {
            http: 201,
            outcome: is_ledger.then_some(Outcome::Executed),
            text: Some(text),
        }
    }

    fn finish(&mut self, env: &mut Env, id: u64, reply: Answered) {
        let Some(job) = self.jobs.remove(&id) else {
            return;
        };
        end(env, &job);
        let Delivery { courier, key, .. } = job.delivery;
        let says_no = reply.outcome == Some(Outcome::NotExecuted) || reply.http == 429;
        if says_no && !job.delivery.is_copy {
            env.witness.had_no_effect(key, courier);
        }
        let reply = match job.fate.ending {
            Ending::Answers => Reply::Whole(reply),
            Ending::Bare(status) => Reply::Whole(bare(status)),
            Ending::Drops => Reply::Broken,
        };
        answer(env, &job.delivery, reply, job.fate.answers_after_ms);
    }
}

fn end(env: &mut Env, job: &Job) {
    if !job.delivery.is_copy {
        env.witness.ends(job.delivery.key, job.delivery.courier);
    }
}

/// The way back to the courier.
fn answer(env: &mut Env, delivery: &Delivery, reply: Reply, pause_ms: u64) {
    let hop = env.faults.origin.clone();
    let (reply, travel_ms) = match hop.answer_ms(env) {
        Some(travel_ms) => (reply, travel_ms),
        None => (Reply::Broken, notice_ms(env)),
    };
    let is_struck = matches!(reply, Reply::Whole(_)) && env.strikes(hop.bare_status);
    let reply = match is_struck {
        true => Reply::Whole(bare(bare_status(env))),
        false => reply,
    };
    let heard = CourierEvent::Heard(reply);
    env.after(
        pause_ms + travel_ms,
        Event::Courier(delivery.courier, heard),
    );
}
