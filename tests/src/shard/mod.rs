//! The shard, after `edge-worker/src/shard.rs` (and the part of `gate.rs` that asks it twice).
//!
//! Invariant: between reading a record and writing it back nothing else happens. Rows survive an
//! eviction; waiters, owners and everything else in memory do not.

mod cancel;
mod glue;

use std::collections::BTreeMap;

use oncegate_core::operation::{Admission, Operation, State, View};
use oncegate_core::outcome::Status;
use oncegate_core::problem::{Code, Problem};

pub(crate) use self::cancel::CancelEvent;
pub(crate) use self::glue::lost_problem;
use self::glue::{hint_ms, replayed, reread, settle};
use crate::browser::TabEvent;
use crate::courier::{Completed, CourierEvent, Dispatch};
use crate::env::{Env, Event};
use crate::model::{Answered, Body, Call, CallId, CourierId, KeyId, Payload, Reply, Response};
use crate::network::notice_ms;
use crate::plant::Plant;

const WAIT_MS: u64 = 10_000;
const CLIENT_TIMEOUT_MS: u64 = 20_000;
/// How often the gate asks a shard that fails.
const TRIES: u32 = 2;

#[derive(Debug)]
pub(crate) enum ShardEvent {
    Arrive(Call),
    Cancel(CancelEvent),
    Carried(CallId, u64, Carried),
    ClientTimeout(CallId),
    Complete(Completion, Option<CourierId>),
    CourierLost(Dispatch),
    WaitOver(CallId),
    /// A planted bug: the row follows its dispatch.
    WriteLate(u64, KeyId, Box<Row>),
}

/// What a courier brings.
#[derive(Clone, Debug)]
pub(crate) enum Carried {
    Answered(Response),
    Superseded,
}

#[derive(Clone, Debug)]
pub(crate) struct Completion {
    pub(crate) key: KeyId,
    pub(crate) attempt: u32,
    pub(crate) reply: Reply,
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    record: Operation,
    payload: Payload,
    answer: Option<Answered>,
}

/// A request that waits for the answer of an attempt; with `waits`, of one that another started.
#[derive(Clone, Copy, Debug)]
struct Pending {
    call: Call,
    waits: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Shard {
    rows: BTreeMap<KeyId, Row>,
    pending: BTreeMap<CallId, Pending>,
    clock_ahead_ms: i64,
}

impl Shard {
    pub(crate) fn handle(&mut self, env: &mut Env, event: ShardEvent) {
        match event {
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
            ShardEvent::WaitOver(call) => self.wait_over(env, call),
            ShardEvent::WriteLate(instance, key, row) if instance == env.instance => {
                self.rows.entry(key).or_insert(*row);
            }
            ShardEvent::WriteLate(..) => {}
        }
    }

    /// The instance is replaced. Rows come back from storage as text.
    pub(crate) fn evict(&mut self, env: &mut Env) {
        env.note(format_args!("shard is evicted"));
        env.instance += 1;
        if env.has(Plant::RecordLostOnEviction) {
            self.rows.retain(|_, row| row.record.is_settled());
        }
        for row in self.rows.values_mut() {
            row.record = reread(&row.record);
        }
        for pending in std::mem::take(&mut self.pending).into_values() {
            ask_again(env, pending.call);
        }
    }

    pub(crate) fn jump(&mut self, env: &mut Env, by_ms: i64) {
        env.note(format_args!("the shard's clock jumps by {by_ms} ms"));
        self.clock_ahead_ms += by_ms;
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
        let Call { key, payload, .. } = call;
        let record = self.rows.get(&key).map(|row| row.record.clone());
        let (record, admission) = glue::arrive(env, record, now_ms, payload);
        let id = CallId(env.id());
        env.note(format_args!(
            "gate gets {key} from tab {}: {admission:?}",
            call.ticket.tab
        ));
        match admission {
            Admission::Dispatch(attempt) => {
                self.write_claim(env, key, record, payload);
                self.dispatch(env, id, call, attempt);
            }
            Admission::Wait { lease_ends_ms } => {
                let wait_ms = WAIT_MS.min(lease_ends_ms.saturating_sub(now_ms));
                self.pending.insert(id, Pending { call, waits: true });
                env.after(wait_ms, Event::Shard(ShardEvent::WaitOver(id)));
            }
            Admission::Replay | Admission::Turn(_) => self.answer(env, call, admission),
        }
    }

    /// The claim is the dispatch record. An earlier answer stays in its columns, as in the store;
    /// the record says that it has none.
    fn write_claim(&mut self, env: &mut Env, key: KeyId, record: Operation, payload: Payload) {
        let row = Row {
            record,
            payload,
            answer: self.rows.get(&key).and_then(|row| row.answer.clone()),
        };
        if env.has(Plant::ClaimAfterDispatch) {
            let late_ms = env.random.between(5, 200);
            let late = ShardEvent::WriteLate(env.instance, key, Box::new(row));
            return env.after(late_ms, Event::Shard(late));
        }
        self.write(env, key, row);
    }

    fn write(&mut self, env: &mut Env, key: KeyId, row: Row) {
        let view = row.record.view(self.now_ms(env));
        env.witness.stated(key, row.record.fingerprint(), &view);
        self.rows.insert(key, row);
    }

    fn dispatch(&mut self, env: &mut Env, owner: CallId, call: Call, attempt: u32) {
        self.pending.insert(owner, Pending { call, waits: false });
        env.after(
            CLIENT_TIMEOUT_MS,
            Event::Shard(ShardEvent::ClientTimeout(owner)),
        );
        let dispatch = Dispatch {
            key: call.key,
            payload: call.payload,
            attempt,
            owner,
            instance: env.instance,
        };
        let courier = CourierId(env.id());
        let start_ms = env.random.between(0, 3);
        env.after(
            start_ms,
            Event::Courier(courier, CourierEvent::Start(dispatch)),
        );
    }

    fn carried(&mut self, env: &mut Env, id: CallId, instance: u64, carried: Carried) {
        if instance != env.instance {
            return;
        }
        match carried {
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
        if dispatch.instance != env.instance {
            return;
        }
        let completion = Completion {
            key: dispatch.key,
            attempt: dispatch.attempt,
            reply: Reply::Broken,
        };
        self.complete(env, &completion, None);
        self.answer_from_record(env, dispatch.owner);
    }

    /// Settles an attempt, stores what it proves and tells those who wait.
    fn complete(&mut self, env: &mut Env, completion: &Completion, courier: Option<CourierId>) {
        let key = completion.key;
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
            payload: row.payload,
            answer: stored.or(row.answer),
        };
        self.write(env, key, row);
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

    fn waiters(&self, key: KeyId) -> Vec<CallId> {
        let waits = |pending: &Pending| pending.waits && pending.call.key == key;
        self.pending
            .iter()
            .filter(|(_, pending)| waits(pending))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Those who asked for what was answered get the answer, the others read the record.
    fn wake_waiters(
        &mut self,
        env: &mut Env,
        key: KeyId,
        answer: Option<&Answered>,
        status: Status,
    ) {
        let asked = self.rows[&key].record.fingerprint();
        for id in self.waiters(key) {
            let call = self.pending[&id].call;
            match answer.filter(|_| asked == Some(call.payload.fingerprint())) {
                Some(answer) => {
                    self.pending.remove(&id);
                    respond(env, call, replayed(answer, status));
                }
                None => self.answer_from_record(env, id),
            }
        }
    }

    fn wait_over(&mut self, env: &mut Env, id: CallId) {
        if env.has(Plant::WaiterDispatches)
            && let Some(Pending { call, waits: true }) = self.pending.get(&id).copied()
        {
            let attempt = self.rows[&call.key].record.view(self.now_ms(env)).attempts;
            return self.dispatch(env, id, call, attempt);
        }
        self.answer_from_record(env, id);
    }

    /// The record's answer for a request that has waited. It never starts an attempt (rule I4).
    fn answer_from_record(&mut self, env: &mut Env, id: CallId) {
        let Some(Pending { call, .. }) = self.pending.remove(&id) else {
            return;
        };
        let Some(row) = self.rows.get(&call.key) else {
            return ask_again(env, call);
        };
        let now_ms = self.now_ms(env);
        let record = Some(row.record.clone());
        let (_, admission) = glue::arrive(env, record, now_ms, call.payload);
        self.answer(env, call, admission);
    }

    fn answer(&mut self, env: &mut Env, call: Call, admission: Admission) {
        let now_ms = self.now_ms(env);
        let Some(row) = self.rows.get(&call.key) else {
            return ask_again(env, call);
        };
        let recorded = row.record.view(now_ms);
        let view = match admission {
            Admission::Dispatch(_) => recorded.of_unsent(),
            _ => recorded,
        };
        let code = match admission {
            Admission::Dispatch(_) => Code::OutcomeUnknown,
            Admission::Replay => match &row.answer {
                Some(answer) => return respond(env, call, replayed(answer, view.state.status())),
                // The worker's store calls this an error: the gate asks again, then says 503.
                None => return ask_again(env, call),
            },
            Admission::Turn(turn) => turn.into(),
            Admission::Wait { .. } => Code::InProgress,
        };
        let wait_ms = hint_ms(env, now_ms, &view);
        let problem = Problem::about(code, "op_of_a_run", &view).retry_after(wait_ms);
        respond(
            env,
            call,
            Response::problem(problem, Some(view.state.status())),
        );
    }
}

/// The shard failed under a request: the gate takes it there once more.
fn ask_again(env: &mut Env, call: Call) {
    if call.tries < TRIES {
        let call = Call {
            tries: call.tries + 1,
            ..call
        };
        let pause_ms = env.random.between(1, 50);
        return env.after(pause_ms, Event::Shard(ShardEvent::Arrive(call)));
    }
    let problem = Problem::new(Code::GateUnavailable).retry_after(1_000);
    respond(env, call, Response::problem(problem, None));
}

/// The way back to the browser.
fn respond(env: &mut Env, call: Call, response: Response) {
    env.witness.answered(call.key, call.payload, &response);
    let hop = env.faults.browser.clone();
    let bare = env.strikes(hop.bare_status);
    let response = match bare {
        true => Response {
            http: env.random.pick(&[429, 500, 502, 503, 504]),
            status: None,
            body: Body::Text(None),
        },
        false => response,
    };
    match hop.answer_ms(env) {
        Some(travel_ms) => {
            let answered = TabEvent::Answered(call.ticket, Box::new(response));
            env.after(travel_ms, Event::Tab(call.ticket.tab, answered));
        }
        None => {
            let notice_ms = notice_ms(env);
            env.after(
                notice_ms,
                Event::Tab(call.ticket.tab, TabEvent::Broken(call.ticket)),
            );
        }
    }
}
