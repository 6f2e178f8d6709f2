//! What leaves the shard: the record's answers, and what is said when it fails.
//!
//! Invariant: whoever waited is answered once, from the record, and starts nothing (I4).

use oncegate_core::operation::{Admission, Turn};
use oncegate_core::problem::{Code, Problem};

use super::glue::{self, hint_ms, replayed};
use super::{Pending, Shard, ShardEvent};
use crate::browser::TabEvent;
use crate::courier::CourierEvent;
use crate::env::{Env, Event};
use crate::model::{Body, Call, CallId, CourierId, Response};
use crate::network::notice_ms;

/// How often the gate asks a shard that fails.
const TRIES: u32 = 2;

impl Shard {
    /// The record's answer for a request that has waited. It never starts an attempt (rule I4).
    pub(super) fn answer_from_record(&mut self, env: &mut Env, id: CallId) {
        let Some(Pending { call, .. }) = self.pending.remove(&id) else {
            return;
        };
        let Some(row) = self.rows.get(&call.key) else {
            return ask_again(env, call);
        };
        let now_ms = self.now_ms(env);
        let record = Some(row.record.clone());
        let (_, admission) = glue::arrive(env, record, now_ms, call);
        self.answer(env, call, admission);
    }

    pub(super) fn answer(&mut self, env: &mut Env, call: Call, admission: Admission) {
        let now_ms = self.now_ms(env);
        let Some(row) = self.rows.get(&call.key) else {
            return ask_again(env, call);
        };
        let recorded = row.record.view(now_ms);
        let view = match admission {
            Admission::Dispatch(_) => recorded.of_unsent(),
            _ => recorded,
        };
        if admission == Admission::Turn(Turn::PrincipalMismatch) {
            let problem = Problem::new(Code::PrincipalMismatch);
            return respond(env, call, Response::problem(problem, None));
        }
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
pub(super) fn ask_again(env: &mut Env, call: Call) {
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

/// The shard failed under a completion: the courier will tell it once more.
pub(super) fn tell_again(env: &mut Env, courier: Option<CourierId>) {
    if let Some(courier) = courier {
        let pause_ms = env.random.between(1, 2_000);
        env.after(pause_ms, Event::Courier(courier, CourierEvent::Tell));
    }
}

/// The way back to the browser.
pub(super) fn respond(env: &mut Env, call: Call, response: Response) {
    if env.settings.binds && call.who != call.payload.purchase {
        return env.witness.told_a_stranger(call.key, &response);
    }
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
        None => break_off(env, call),
    }
}

/// The caller notices that no whole answer comes.
pub(super) fn break_off(env: &mut Env, call: Call) {
    let notice_ms = notice_ms(env);
    let broken = TabEvent::Broken(call.ticket);
    env.after(notice_ms, Event::Tab(call.ticket.tab, broken));
}
