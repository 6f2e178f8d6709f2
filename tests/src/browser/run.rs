//! One `submit`: carries out what the machine says, after [`oncegate_core::attempt::flow`].

use oncegate_core::attempt::{Action, Attempt, Config, End, KeyChoice, Why};
use oncegate_core::problem::{Code, Problem};

use super::{Browser, TabEvent, storage};
use crate::browser::storage::Record;
use crate::env::{Env, Event};
use crate::model::{Call, KeyId, Payload, Response, Ticket};
use crate::network::notice_ms;
use crate::plant::Plant;
use crate::shard::{CancelEvent, ShardEvent};

/// How often the stored answer of an executed intent is asked for: it is done in any case.
const SENDS_FOR_A_REPLAY: u32 = 2;

#[derive(Debug)]
pub(super) struct Run {
    pub(super) ticket: Ticket,
    pub(super) machine: Attempt,
    pub(super) record: Record,
    pub(super) payload: Payload,
    pub(super) is_executed: bool,
    pub(super) waits: bool,
    pub(super) response: Option<Box<Response>>,
}

/// The SDK's defaults.
pub(super) fn config(is_executed: bool) -> Config {
    Config {
        base_ms: 300,
        cap_ms: 10_000,
        attempt_timeout_ms: 25_000,
        deadline_ms: 90_000,
        max_sends: if is_executed { SENDS_FOR_A_REPLAY } else { 12 },
    }
}

impl Browser {
    pub(super) fn perform(&mut self, env: &mut Env, tab: usize, action: Action) {
        let Some(run) = self.tabs[tab].run.as_mut() else {
            return;
        };
        match action {
            Action::Finish(end) => self.finish(env, tab, end),
            Action::Cancel { .. }
            | Action::Send {
                key: KeyChoice::Next,
                ..
            } if run.is_executed => self.finish(env, tab, End::Unknown(Why::NotUnderstood)),
            Action::Cancel { timeout_ms } => self.cancel_other(env, tab, timeout_ms),
            Action::Send {
                timeout_ms,
                key,
                number,
            } => self.send(env, tab, timeout_ms, key, number),
            Action::Look { .. } => {
                unreachable!("every server here has proven that it executes a key once")
            }
            Action::Wait { until_ms, .. } => {
                run.waits = true;
                let over = TabEvent::WaitOver(run.ticket);
                env.after(until_ms.saturating_sub(env.now_ms), Event::Tab(tab, over));
            }
        }
    }

    fn send(&mut self, env: &mut Env, tab: usize, timeout_ms: u64, choice: KeyChoice, number: u32) {
        let Some(run) = self.tabs[tab].run.as_mut() else {
            return;
        };
        let customer = &mut self.customers[run.payload.purchase];
        if choice == KeyChoice::Next {
            storage::close(env, customer, run.record.epoch);
            run.record = storage::current(env, customer);
        }
        if env.has(Plant::KeyChangedOnRetry) && number > 1 {
            let epoch = run.record.epoch + u64::from(number);
            run.record.key = storage::key(env, &customer.secret, epoch);
        }
        storage::before_send(customer, &mut run.record, run.payload.card);
        run.waits = false;
        run.ticket.send = number;
        run.response = None;
        let (ticket, key, payload) = (run.ticket, run.record.key, run.payload);
        env.note(format_args!("tab {tab} sends {key} ({number})"));
        env.after(timeout_ms, Event::Tab(tab, TabEvent::TimedOut(ticket)));
        transmit(env, ticket, key, payload, ShardEvent::Arrive);
    }

    /// Has the gate cancel the key that another payload has.
    fn cancel_other(&mut self, env: &mut Env, tab: usize, timeout_ms: u64) {
        let Some(run) = self.tabs[tab].run.as_mut() else {
            return;
        };
        run.waits = false;
        run.ticket.send += 1;
        run.response = None;
        let (ticket, key, payload) = (run.ticket, run.record.key, run.payload);
        env.note(format_args!("tab {tab} has {key} cancelled"));
        env.after(timeout_ms, Event::Tab(tab, TabEvent::TimedOut(ticket)));
        transmit(env, ticket, key, payload, |call| {
            ShardEvent::Cancel(CancelEvent::Arrive(call))
        });
    }
}

fn transmit(
    env: &mut Env,
    ticket: Ticket,
    key: KeyId,
    payload: Payload,
    arrive: fn(Call) -> ShardEvent,
) {
    let hop = env.faults.browser.clone();
    let arrivals = hop.request(env);
    let truncated = env.strikes(hop.truncate);
    for wait_ms in [arrivals.first_ms, arrivals.copy_ms].into_iter().flatten() {
        let call = Call {
            ticket,
            key,
            payload,
            who: payload.purchase,
            tries: 1,
        };
        if truncated {
            let problem = Problem::new(Code::BodyIncomplete);
            let response = Box::new(Response::problem(problem, None));
            let answered = TabEvent::Answered(ticket, response);
            env.after(wait_ms, Event::Tab(ticket.tab, answered));
            continue;
        }
        env.after(wait_ms, Event::Shard(arrive(call)));
    }
    // A broken connection is noticed, or the time runs out.
    if arrivals.first_ms.is_none() && env.random.chance(500) {
        let notice_ms = notice_ms(env);
        env.after(notice_ms, Event::Tab(ticket.tab, TabEvent::Broken(ticket)));
    }
}
