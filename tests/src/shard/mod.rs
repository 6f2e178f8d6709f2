//! The shard, after `edge-worker/src/shard` (and the part of `gate.rs` that asks it twice).
//!
//! Invariant: between reading a record and writing it back nothing else happens. Rows survive an
//! eviction; waiters, owners and everything else in memory do not.

mod answers;
mod cancel;
mod events;
mod glue;
mod looking;
mod settling;
mod waiting;

use std::collections::BTreeMap;

use oncegate_core::operation::{Admission, Operation, State, View};

use self::answers::{ask_again, break_off, respond, tell_again};
pub(crate) use self::cancel::CancelEvent;
pub(crate) use self::events::{Carried, Completion, Row, ShardEvent};
pub(crate) use self::glue::lost_problem;
use self::glue::{reread, settle};
pub(crate) use self::settling::Probe;
use crate::courier::{Completed, CourierEvent, Dispatch};
use crate::env::{Env, Event};
use crate::model::{Call, CallId, CourierId, KeyId, Payload};
use crate::plant::Plant;

const WAIT_MS: u64 = 10_000;
const CLIENT_TIMEOUT_MS: u64 = 20_000;

/// A request that waits for the answer of an attempt; with `waits`, of one that another started.
#[derive(Clone, Copy, Debug)]
struct Pending {
    call: Call,
    waits: bool,
}

#[derive(Debug)]
pub(crate) struct Shard {
    number: usize,
    rows: BTreeMap<KeyId, Row>,
    pending: BTreeMap<CallId, Pending>,
    clock_ahead_ms: i64,
    /// Another instance has taken over: this one is stopped when it next writes.
    is_replaced: bool,
    alarm_is_set: bool,
}

impl Shard {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            rows: BTreeMap::new(),
            pending: BTreeMap::new(),
            clock_ahead_ms: 0,
            is_replaced: false,
            alarm_is_set: false,
        }
    }

    pub(crate) fn handle(&mut self, env: &mut Env, event: ShardEvent) {
        match event {
            ShardEvent::Alarm(_) => self.alarm(env),
            ShardEvent::Arrive(call) => self.claim(env, call),
            ShardEvent::Cancel(event) => self.handle_cancel(env, event),
            ShardEvent::Carried(call, instance, carried) => {
                self.carried(env, call, instance, carried);
            }
            ShardEvent::ClientTimeout(call) => self.answer_from_record(env, call),
            ShardEvent::Complete(completion, courier) => {
                self.complete(env, &completion, courier);
            }
            ShardEvent::CourierLost(dispatch) => self.courier_lost(env, dispatch),
            ShardEvent::Head(completion, courier) => self.head(env, &completion, courier),
            ShardEvent::Look(call) => self.look_up_for(env, call),
            ShardEvent::Probed(probe, said) => self.probed(env, probe, said),
            ShardEvent::WaitOver(call) => self.wait_over(env, call),
            ShardEvent::WriteLate(instance, key, row) if instance == self.instance(env) => {
                self.rows.entry(key).or_insert(*row);
            }
            ShardEvent::WriteLate(..) => {}
        }
    }

    /// The instance is replaced. Rows come back from storage as text.
    pub(crate) fn evict(&mut self, env: &mut Env) {
        env.note(format_args!("shard {} is evicted", self.number));
        env.instances[self.number] += 1;
        self.is_replaced = false;
        // Alarms are stored, and a new instance sets the one that was due.
        self.set_alarm(env);
        if env.has(Plant::RecordLostOnEviction) {
            self.rows.retain(|_, row| row.record.is_settled());
        }
        for row in self.rows.values_mut() {
            row.record = reread(env, &row.record);
        }
        for pending in std::mem::take(&mut self.pending).into_values() {
            ask_again(env, pending.call);
        }
    }

    pub(crate) fn jump(&mut self, env: &mut Env, by_ms: i64) {
        env.note(format_args!("the shard's clock jumps by {by_ms} ms"));
        self.clock_ahead_ms += by_ms;
    }

    /// The instance is replaced, and learns it when it next writes.
    pub(crate) fn replace(&mut self, env: &mut Env) {
        env.note(format_args!("shard {} is replaced", self.number));
        self.is_replaced = true;
    }

    /// Drops what need not be kept.
    pub(crate) fn turn_tables(&mut self, env: &mut Env) {
        let now_ms = self.now_ms(env);
        let drops_open = env.has(Plant::OpenRowsDropped);
        self.rows.retain(|_, row| match row.record.keep_until_ms() {
            Some(until_ms) => until_ms > now_ms,
            None => !drops_open,
        });
    }

    fn instance(&self, env: &Env) -> u64 {
        env.instances[self.number]
    }

    /// Storage stops an instance that was replaced; and any instance may stop where it awaits.
    fn stops(&mut self, env: &mut Env) -> bool {
        let rate = env.faults.rates.crash;
        let stops = self.is_replaced || env.strikes(rate);
        if stops {
            self.evict(env);
        }
        stops
    }

    /// The operation that was claimed last.
    pub(crate) fn newest(&self) -> Option<(KeyId, Payload)> {
        let (key, row) = self.rows.last_key_value()?;
        Some((*key, row.payload))
    }

    /// What a look-up would say in `later_ms`, of every record.
    pub(crate) fn look(&self, env: &Env, later_ms: u64) -> Vec<(KeyId, View, bool)> {
        let now_ms = self.now_ms(env) + later_ms;
        let rows = self.rows.iter();
        rows.map(|(key, row)| (*key, row.record.view(now_ms), row.record.is_expired(now_ms)))
            .collect()
    }

    fn now_ms(&self, env: &Env) -> u64 {
        // The clocks of a gate show the time since 1970, and no run lasts that long.
        const START_MS: u64 = 1_700_000_000_000;
        (START_MS + env.now_ms).saturating_add_signed(self.clock_ahead_ms)
    }

    fn claim(&mut self, env: &mut Env, call: Call) {
        let now_ms = self.now_ms(env);
        let call = glue::identified(env, call);
        let Call { key, payload, .. } = call;
        let record = self.rows.get(&key).map(|row| row.record.clone());
        let is_unreadable = record.is_some() && env.rows_are_newer;
        if is_unreadable && !env.has(Plant::UnknownVersionIsAbsent) {
            return ask_again(env, call);
        }
        let record = record.filter(|record| !is_unreadable && !glue::forgets(env, record, now_ms));
        let (record, admission) = glue::arrive(env, record, now_ms, call);
        if matches!(admission, Admission::Dispatch(_)) && self.stops(env) {
            return ask_again(env, call);
        }
        let id = CallId {
            number: env.id(),
            shard: self.number,
        };
        env.note(format_args!(
            "gate gets {key} from tab {}: {admission:?}",
            call.ticket.tab
        ));
        match admission {
            Admission::Dispatch(attempt) => {
                self.write_claim(env, call, record);
                self.set_alarm(env);
                if self.stops(env) {
                    return ask_again(env, call);
                }
                self.pending.insert(id, Pending { call, waits: false });
                let timeout = Event::Shard(ShardEvent::ClientTimeout(id));
                env.after(CLIENT_TIMEOUT_MS, timeout);
                self.dispatch(env, Some(id), key, payload, attempt);
            }
            Admission::Wait { lease_ends_ms } => {
                let wait_ms = WAIT_MS.min(lease_ends_ms.saturating_sub(now_ms));
                self.pending.insert(id, Pending { call, waits: true });
                env.after(wait_ms, Event::Shard(ShardEvent::WaitOver(id)));
            }
            Admission::Replay | Admission::Turn(_) => self.answer(env, call, admission),
        }
        self.meet_a_stranger(env, call);
    }

    /// Somebody else asks the same under the same key, which he has seen.
    fn meet_a_stranger(&mut self, env: &mut Env, call: Call) {
        let rate = env.faults.rates.stranger;
        let now_ms = self.now_ms(env);
        let state = self
            .rows
            .get(&call.key)
            .map(|row| row.record.view(now_ms).state);
        // Who is released is nobody's (the contract's table), and an unknown key is the first one's.
        let is_bound = !matches!(state, None | Some(State::Released));
        if env.settings.binds && is_bound && call.who == call.payload.purchase && env.strikes(rate)
        {
            let who = usize::MAX;
            self.claim(env, Call { who, ..call });
        }
    }

    /// The claim is the dispatch record. An earlier answer stays in its columns, as in the store;
    /// the record says that it has none.
    fn write_claim(&mut self, env: &mut Env, call: Call, record: Operation) {
        let Call { key, payload, .. } = call;
        let row = Row {
            record,
            payload,
            who: call.who,
            answer: self.rows.get(&key).and_then(|row| row.answer.clone()),
        };
        if env.has(Plant::ClaimAfterDispatch) {
            let late_ms = env.random.between(5, 200);
            let late = ShardEvent::WriteLate(self.instance(env), key, Box::new(row));
            return env.after(late_ms, Event::Shard(late));
        }
        self.write(env, key, row);
    }

    fn write(&mut self, env: &mut Env, key: KeyId, row: Row) {
        let view = row.record.view(self.now_ms(env));
        env.witness.stated(key, row.record.fingerprint(), &view);
        self.rows.insert(key, row);
    }

    fn dispatch(
        &self,
        env: &mut Env,
        owner: Option<CallId>,
        key: KeyId,
        payload: Payload,
        attempt: u32,
    ) {
        let dispatch = Dispatch {
            key,
            payload,
            attempt,
            owner,
            instance: self.instance(env),
        };
        let courier = CourierId(env.id());
        let start_ms = env.random.between(0, 3);
        env.after(
            start_ms,
            Event::Courier(courier, CourierEvent::Start(dispatch)),
        );
    }

    fn carried(&mut self, env: &mut Env, id: CallId, instance: u64, carried: Carried) {
        if instance != self.instance(env) {
            return;
        }
        match carried {
            Carried::Broken => {
                if let Some(pending) = self.pending.remove(&id) {
                    break_off(env, pending.call);
                }
            }
            Carried::Superseded => self.answer_from_record(env, id),
            Carried::Answered(response) => {
                if let Some(pending) = self.pending.remove(&id) {
                    respond(env, pending.call, response);
                }
            }
        }
    }

    /// The platform tells the instance that called a courier that it is gone.
    fn courier_lost(&mut self, env: &mut Env, dispatch: Dispatch) {
        if dispatch.instance != self.instance(env) {
            return;
        }
        let completion = Completion {
            key: dispatch.key,
            attempt: dispatch.attempt,
            reply: glue::lost(env),
            streamed: false,
        };
        self.complete(env, &completion, None);
        if let Some(owner) = dispatch.owner {
            self.answer_from_record(env, owner);
        }
    }

    /// Marks the row before the first byte is passed on.
    fn head(&mut self, env: &mut Env, completion: &Completion, courier: CourierId) {
        if env.rows_are_newer || self.stops(env) {
            return tell_again(env, Some(courier));
        }
        let Some(row) = self.rows.get(&completion.key).cloned() else {
            return tell_again(env, Some(courier));
        };
        let now_ms = self.now_ms(env);
        let (record, streaming) = glue::begin_streaming(env, row.record, now_ms, completion);
        let view = record.view(now_ms);
        self.write(env, completion.key, Row { record, ..row });
        if view.state != State::Dispatched {
            self.wake_waiters(env, completion.key, None, view.state.status());
        }
        env.after(1, Event::Courier(courier, CourierEvent::Passes(streaming)));
    }

    /// Settles an attempt, stores what it proves and tells those who wait.
    fn complete(&mut self, env: &mut Env, completion: &Completion, courier: Option<CourierId>) {
        let key = completion.key;
        if env.rows_are_newer || self.stops(env) {
            return tell_again(env, courier);
        }
        let Some(row) = self.rows.get(&key).cloned() else {
            return env.note(format_args!("a completion of {key} finds no record"));
        };
        let now_ms = self.now_ms(env);
        let (record, settled, answer) = settle(env, row.record, now_ms, completion);
        let view = record.view(now_ms);
        env.note(format_args!(
            "shard settles attempt {} of {key}: {}, {} unsettled",
            completion.attempt,
            view.state.as_str(),
            view.unsettled
        ));
        let stored = answer.clone().filter(|_| settled.store);
        let row = Row {
            record,
            answer: stored.or(row.answer),
            ..row
        };
        self.write(env, key, row);
        let proves = glue::proves_execution(env, completion);
        env.witness.taken_in(key, proves, &view);
        if self.stops(env) {
            return tell_again(env, courier);
        }
        if view.state != State::Dispatched {
            let shared = answer.filter(|_| settled.share);
            self.wake_waiters(env, key, shared.as_ref(), view.state.status());
        }
        if let Some(courier) = courier {
            let completed = Completed {
                view,
                superseded: settled.superseded,
            };
            env.after(1, Event::Courier(courier, CourierEvent::Told(completed)));
        }
    }
}
