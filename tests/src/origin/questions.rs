//! What the origin is asked: to cancel a key, or what became of it (L6).
//!
//! Invariant: a ledger cancels under the key's lock, as an attempt would commit.

use oncegate_core::ledger::State;
use oncegate_core::outcome::Outcome;
use oncegate_core::proof::Origin as Kind;

use super::{Delivery, Fate, Inquiry, Origin, Purpose};
use crate::env::{Env, Event};
use crate::model::{CourierId, KeyId};
use crate::shard::{CancelEvent, Probe, ShardEvent};

impl Origin {
    /// What the shop's books say of a key.
    pub(crate) fn has_executed(&self, key: KeyId) -> bool {
        self.books.contains(&key)
    }

    /// A ledger that has no row for the key says nothing: an attempt may be on its way (L6).
    pub(super) fn answer_probe(&self, env: &mut Env, probe: Probe) {
        if !self.is_up {
            return;
        }
        let settled = self.rows.settled(probe.key, probe.payload);
        let said = match (env.settings.terms.origin, settled) {
            (Kind::Ledger, Some(state)) => state.outcome(),
            (Kind::Ledger, None) => Outcome::Unknown,
            _ if self.has_executed(probe.key) => Outcome::Executed,
            _ => Outcome::NotExecuted,
        };
        let hop = env.faults.origin.clone();
        if let Some(travel_ms) = hop.answer_ms(env) {
            env.after(travel_ms, Event::Shard(ShardEvent::Probed(probe, said)));
        }
    }

    pub(super) fn cancel(&mut self, env: &mut Env, inquiry: Inquiry) {
        if env.settings.terms.origin != Kind::Ledger || !self.is_up {
            return;
        }
        let delivery = Delivery {
            courier: CourierId(0),
            key: inquiry.key,
            payload: inquiry.payload,
            is_copy: true,
        };
        let job = self.add(env, delivery, Fate::executed(), Purpose::Cancel(inquiry));
        self.begin(env, job);
    }

    pub(super) fn cancel_locked(&mut self, env: &mut Env, id: u64, inquiry: Inquiry) {
        let Inquiry { key, payload, .. } = inquiry;
        let settled = self.rows.settled(key, payload);
        if settled.is_none() {
            env.note(format_args!("origin cancels {key}"));
            self.rows.insert(key, payload, State::Cancelled, None);
        }
        self.jobs.remove(&id);
        self.unlock(env, key);
        let said = settled.unwrap_or(State::Cancelled).outcome();
        let hop = env.faults.origin.clone();
        if let Some(travel_ms) = hop.answer_ms(env) {
            let heard = ShardEvent::Cancel(CancelEvent::Heard(inquiry, said));
            env.after(travel_ms, Event::Shard(heard));
        }
    }
}
