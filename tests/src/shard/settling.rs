//! What the gate and a person settle without a request (rules A6, A7, section 7).
//!
//! Invariant: the next alarm is set before anything is sent, so that an alarm that fails is not the
//! last one. A person decides on what he sees at a time at which the gate takes his word.

use oncegate_core::operation::{Hearing, Resolution, Resolved, State, Step};
use oncegate_core::outcome::Outcome;

use super::{Row, Shard, ShardEvent};
use crate::env::{Env, Event};
use crate::model::{KeyId, Payload};
use crate::origin::OriginEvent;
use crate::plant::Plant;

/// The pauses between alarms; the real ones grow up to an hour.
const ALARM_MS: [u64; 2] = [5_000, 90_000];

/// Operations that one alarm looks after.
const MOST_PER_ALARM: usize = 40;

/// A question to an origin about a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) key: KeyId,
    pub(crate) payload: Payload,
    attempt: u32,
    asked_ms: u64,
}

impl Shard {
    pub(super) fn set_alarm(&mut self, env: &mut Env) {
        if env.settings.terms.finish && !self.alarm_is_set {
            self.alarm_is_set = true;
            let [least_ms, most_ms] = ALARM_MS;
            let wait_ms = env.random.between(least_ms, most_ms);
            env.after(wait_ms, Event::Shard(ShardEvent::Alarm(self.number)));
        }
    }

    pub(super) fn alarm(&mut self, env: &mut Env) {
        let now_ms = self.now_ms(env);
        let due: Vec<_> = self
            .rows
            .iter()
            .map(|(key, row)| (*key, row.record.next_step(now_ms)))
            .filter(|(_, step)| *step != Step::Rest && *step != Step::Hold)
            .collect();
        let throws = env.has(Plant::AlarmThrows) && !due.is_empty();
        self.alarm_is_set = throws;
        if throws {
            return;
        }
        if !due.is_empty() {
            self.set_alarm(env);
        }
        for (key, step) in due.into_iter().take(MOST_PER_ALARM) {
            if env.rows_are_newer || self.stops(env) {
                return;
            }
            match step {
                Step::Redispatch => self.send_again(env, key),
                Step::Ask(_) => self.probe(env, key),
                Step::At(_) | Step::Hold | Step::Rest => {}
            }
        }
    }

    fn send_again(&mut self, env: &mut Env, key: KeyId) {
        let now_ms = self.now_ms(env);
        let row = self.rows[&key].clone();
        let payload = row.payload;
        let Some((record, attempt)) = row.record.redispatch(now_ms) else {
            return;
        };
        env.note(format_args!("the alarm sends {key} again"));
        let record = Row {
            record,
            ..self.rows[&key].clone()
        };
        self.write(env, key, record);
        self.dispatch(env, None, key, payload, attempt);
    }

    fn probe(&self, env: &mut Env, key: KeyId) {
        let now_ms = self.now_ms(env);
        let row = &self.rows[&key];
        let Some(asked) = row.record.probe(now_ms) else {
            return;
        };
        let probe = Probe {
            key,
            payload: row.payload,
            attempt: asked.attempt,
            asked_ms: asked.asked_ms,
        };
        let hop = env.faults.origin.clone();
        if let Some(wait_ms) = hop.request(env).first_ms {
            env.after(wait_ms, Event::Origin(OriginEvent::Probe(probe)));
        }
    }

    pub(super) fn probed(&mut self, env: &mut Env, probe: Probe, said: Outcome) {
        let now_ms = self.now_ms(env);
        let Some(row) = self
            .rows
            .get(&probe.key)
            .cloned()
            .filter(|_| !env.rows_are_newer)
        else {
            return;
        };
        let hearing = Hearing {
            asked_attempt: probe.attempt,
            asked_ms: probe.asked_ms,
            said,
            storable: false,
            recorded: None,
        };
        env.note(format_args!("the gate hears of {}: {said}", probe.key));
        if let Some((record, _)) = row.record.clone().answered_probe(now_ms, hearing) {
            let status = record.view(now_ms).state.status();
            self.write(env, probe.key, Row { record, ..row });
            self.wake_waiters(env, probe.key, None, status);
        }
    }

    /// Support settles what is in trouble, by what the origin's books say.
    pub(crate) fn operator(&mut self, env: &mut Env, happened: impl Fn(KeyId) -> bool) {
        let now_ms = self.now_ms(env);
        let keys: Vec<_> = self.rows.keys().copied().collect();
        for key in keys {
            let row = self.rows[&key].clone();
            let view = row.record.view(now_ms);
            if env.rows_are_newer || row.record.trouble(now_ms).is_none() {
                continue;
            }
            let may_cancel = env.random.chance(500);
            let outcome = match happened(key) {
                true => Resolved::Executed,
                false if may_cancel => Resolved::Cancelled,
                false => Resolved::NotExecuted,
            };
            let revision = view.revision;
            let resolution = Resolution { revision, outcome };
            let resolved = row.record.clone().resolve(now_ms, resolution);
            env.note(format_args!(
                "support settles {key}: {outcome:?}, {:?}",
                resolved.is_ok()
            ));
            if let Ok(record) = resolved {
                self.write(env, key, Row { record, ..row });
            }
        }
    }

    /// The keys that are still open.
    pub(crate) fn open(&self, env: &Env) -> Vec<KeyId> {
        let now_ms = self.now_ms(env);
        let is_open = |row: &Row| {
            matches!(
                row.record.view(now_ms).state,
                State::Dispatched | State::Unknown
            )
        };
        let open = self.rows.iter().filter(|(_, row)| is_open(row));
        open.map(|(key, _)| *key).collect()
    }
}
