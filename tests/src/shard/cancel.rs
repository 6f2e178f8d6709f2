//! Cancelling at the gate: the record decides or the ledger is asked (section 7, rule L6).
//!
//! Invariant: asking changes nothing. Only what the ledger said is written, against the attempt that
//! was the newest one when it was asked.

use oncegate_core::key::KeyKind;
use oncegate_core::operation::{Cancellation, Hearing, Operation, State, View};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::problem::{Code, Problem};

use super::glue::{self, hint_ms};
use super::{CLIENT_TIMEOUT_MS, Row, Shard, ShardEvent, respond};
use crate::env::{Env, Event};
use crate::model::{Body, Call, KeyId, Payload, Response};
use crate::origin::{Inquiry, OriginEvent};

/// How long a ledger usually takes.
const LEDGER_MS: u64 = 500;

#[derive(Debug)]
pub(crate) enum CancelEvent {
    /// A client asks for it and waits for what becomes of the key.
    Arrive(Call),
    /// Somebody asks for it who does not wait.
    Ask(KeyId, Payload),
    /// The ledger's word.
    Heard(Inquiry, Outcome),
    /// The ledger has answered, or has had its time.
    Over(Call),
}

impl CancelEvent {
    pub(super) fn key(&self) -> KeyId {
        match self {
            Self::Arrive(call) | Self::Over(call) => call.key,
            Self::Ask(key, _) => *key,
            Self::Heard(inquiry, _) => inquiry.key,
        }
    }
}

impl Shard {
    pub(super) fn handle_cancel(&mut self, env: &mut Env, event: CancelEvent) {
        match event {
            CancelEvent::Arrive(call) => self.cancel_for(env, call),
            CancelEvent::Ask(key, payload) => self.cancel(env, key, payload),
            CancelEvent::Heard(inquiry, said) => self.cancel_heard(env, inquiry, said),
            CancelEvent::Over(call) => self.cancel_over(env, call),
        }
    }

    /// A client's request. On a route with generated keys, the header in it names an operation that
    /// does not exist; the SDK sees that the answer is about another one.
    fn cancel_for(&mut self, env: &mut Env, call: Call) {
        if env.settings.kind == KeyKind::Generated {
            return respond(env, call, about_another());
        }
        self.cancel(env, call.key, call.payload);
        let takes_ms = match env.random.chance(100) {
            true => CLIENT_TIMEOUT_MS,
            false => env.random.between(1, LEDGER_MS),
        };
        env.after(
            takes_ms,
            Event::Shard(ShardEvent::Cancel(CancelEvent::Over(call))),
        );
    }

    /// Answered, lost or late: what counts is in the record.
    fn cancel_over(&mut self, env: &mut Env, call: Call) {
        let now_ms = self.now_ms(env);
        let view = self.rows.get(&call.key).map(|row| row.record.view(now_ms));
        let code = match view.map(|view| view.state) {
            Some(State::Dispatched) => Code::InProgress,
            _ => Code::OutcomeUnknown,
        };
        let response = match view {
            Some(
                view @ View {
                    state: State::Cancelled | State::Executed | State::Refused,
                    ..
                },
            ) => Response {
                http: 200,
                status: None,
                body: Body::Seen(Some(view)),
            },
            Some(view) => {
                let wait_ms = hint_ms(env, now_ms, &view);
                let problem = Problem::about(code, "op_of_a_run", &view).retry_after(wait_ms);
                Response::problem(problem, Some(view.state.status()))
            }
            None => Response::problem(Problem::new(code), Some(Status::Unknown)),
        };
        respond(env, call, response);
    }

    fn cancel(&mut self, env: &mut Env, key: KeyId, payload: Payload) {
        if env.rows_are_newer {
            return;
        }
        let now_ms = self.now_ms(env);
        let row = self.rows.get(&key).cloned();
        let payload = row.as_ref().map_or(payload, |row| row.payload);
        let record = row.map(|row| row.record);
        let who = glue::principal(env, payload.purchase);
        let cancelled = Operation::cancel(record, now_ms, env.settings.kind, &env.terms(), who);
        let Ok((record, cancellation)) = cancelled else {
            return env.note(format_args!("{key} is not theirs to cancel"));
        };
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
            Cancellation::Cancelled => self.write_cancelled(env, key, payload, record),
            Cancellation::Decided => {}
        }
    }

    fn cancel_heard(&mut self, env: &mut Env, inquiry: Inquiry, said: Outcome) {
        let Inquiry { key, payload, .. } = inquiry;
        let Some(attempt) = inquiry.attempt.filter(|_| !env.rows_are_newer) else {
            return;
        };
        let now_ms = self.now_ms(env);
        let record = self.rows.get(&key).map(|row| row.record.clone());
        let hearing = Hearing {
            asked_attempt: attempt,
            // Only probes are judged by it.
            asked_ms: now_ms,
            said,
            // The simulated ledger says what became of the key and does not repeat its answer.
            storable: false,
            recorded: None,
        };
        let heard = Operation::hear(
            record,
            now_ms,
            env.settings.kind,
            &env.terms(),
            glue::principal(env, payload.purchase),
            hearing,
        );
        env.note(format_args!("gate hears of {key}: {said}"));
        if let Some((record, _)) = heard {
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
            who: old.map_or(payload.purchase, |row| row.who),
            answer: old.and_then(|row| row.answer.clone()),
        };
        self.write(env, key, row);
    }
}

/// What a client makes of an answer about an operation that it has not met: nothing.
pub(super) fn about_another() -> Response {
    Response {
        http: 200,
        status: None,
        body: Body::Text(None),
    }
}

fn ask(env: &mut Env, inquiry: Inquiry) {
    let hop = env.faults.origin.clone();
    let arrivals = hop.request(env);
    for wait_ms in [arrivals.first_ms, arrivals.copy_ms].into_iter().flatten() {
        env.after(wait_ms, Event::Origin(OriginEvent::Cancel(inquiry)));
    }
}
