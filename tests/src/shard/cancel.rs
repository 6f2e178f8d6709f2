//! Cancelling at the gate: the record decides or the ledger is asked (section 7, rule L6).
//!
//! Invariant: asking changes nothing. Only what the ledger said is written, against the attempt that
//! was the newest one when it was asked.

use oncegate_core::operation::{Cancellation, Operation};
use oncegate_core::outcome::{Outcome, Status};

use super::{Row, Shard};
use crate::env::{Env, Event};
use crate::model::{KeyId, Payload};
use crate::origin::{Inquiry, OriginEvent};

impl Shard {
    pub(super) fn cancel(&mut self, env: &mut Env, key: KeyId, payload: Payload) {
        let now_ms = self.now_ms(env);
        let row = self.rows.get(&key).cloned();
        let payload = row.as_ref().map_or(payload, |row| row.payload);
        let record = row.map(|row| row.record);
        let (record, cancellation) =
            Operation::cancel(record, now_ms, env.settings.kind, env.terms());
        env.note(format_args!("gate is to cancel {key}: {cancellation:?}"));
        match cancellation {
            Cancellation::Ask(asked) => {
                let inquiry = Inquiry {
                    key,
                    payload,
                    attempt: Some(asked.attempt),
                };
                ask(env, inquiry);
            }
            Cancellation::Decided => self.write_cancelled(env, key, payload, record),
        }
    }

    pub(super) fn cancel_heard(&mut self, env: &mut Env, inquiry: Inquiry, said: Outcome) {
        let Inquiry { key, payload, .. } = inquiry;
        let Some(attempt) = inquiry.attempt else {
            return;
        };
        let now_ms = self.now_ms(env);
        let record = self.rows.get(&key).map(|row| row.record.clone());
        let heard = Operation::hear(
            record,
            now_ms,
            env.settings.kind,
            env.terms(),
            attempt,
            said,
        );
        env.note(format_args!("gate hears of {key}: {said}"));
        if let Some(record) = heard {
            self.write_cancelled(env, key, payload, record);
            // Whoever waits for an attempt must not hear the answer of a later one.
            self.wake_waiters(env, key, None, Status::Unknown);
        }
    }

    fn write_cancelled(&mut self, env: &mut Env, key: KeyId, payload: Payload, record: Operation) {
        let old = self.rows.get(&key);
        let row = Row {
            record,
            payload: old.map_or(payload, |row| row.payload),
            answer: old.and_then(|row| row.answer.clone()),
        };
        self.write(env, key, row);
    }
}

fn ask(env: &mut Env, inquiry: Inquiry) {
    let hop = env.faults.origin.clone();
    let arrivals = hop.request(env);
    for wait_ms in [arrivals.first_ms, arrivals.copy_ms].into_iter().flatten() {
        env.after(wait_ms, Event::Origin(OriginEvent::Cancel(inquiry)));
    }
}
