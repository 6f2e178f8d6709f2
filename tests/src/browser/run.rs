//! One `submit`: does what the flow says, as `sdk/js/run.js` does.

use oncegate_core::attempt::budget::Budget;
use oncegate_core::attempt::flow::{Act, Flow, Moment, Order, Step, Wish};
use oncegate_core::attempt::record::Record;
use oncegate_core::attempt::{Config, End, Event as Happened};
use oncegate_core::problem::{Code, Problem};

use super::{Browser, Customer, INTENT, TabEvent};
use crate::env::{Env, Event};
use crate::model::{Call, Card, KeyId, Payload, Response, Ticket};
use crate::network::notice_ms;
use crate::plant::Plant;
use crate::shard::{CancelEvent, ShardEvent};
use crate::witness::Oracle;

/// The SDK's defaults.
const CONFIG: Config = Config {
    base_ms: 300,
    cap_ms: 10_000,
    attempt_timeout_ms: 25_000,
    deadline_ms: 90_000,
    max_sends: 12,
};

#[derive(Debug)]
pub(super) struct Run {
    pub(super) ticket: Ticket,
    flow: Flow,
    act: Act,
    payload: Payload,
    /// What came with the last answer to a send, unless a question was answered since.
    response: Option<Box<Response>>,
}

impl Run {
    pub(super) fn waits(&self) -> bool {
        matches!(self.act, Act::Wait { .. })
    }

    pub(super) fn keep(&mut self, response: Box<Response>) {
        self.response = matches!(self.act, Act::Send { .. }).then_some(response);
    }
}

impl Browser {
    /// While a run is open, a click gets the same promise.
    pub(super) fn click(&mut self, env: &mut Env, tab: usize, card: Card) {
        if self.tabs[tab].run.is_some() {
            return env.note(format_args!("tab {tab}: a click too many"));
        }
        let seed = env.random.bits();
        let ticket = Ticket {
            tab,
            run: env.id(),
            send: 0,
        };
        let this = &mut self.tabs[tab];
        this.card = card;
        this.clicked = true;
        this.end = None;
        let purchase = this.customer;
        let customer = &self.customers[purchase];
        let order = Order {
            wish: Wish::Submit,
            naming: customer.naming(),
            digest: card.to_string(),
            // Every server here executes a key once, and has shown it.
            proven: true,
            config: CONFIG,
            seed,
        };
        let (flow, step) = Flow::start(order, moment(env, customer, &mut this.budget));
        let key = customer.key(env, &flow.record().key);
        env.note(format_args!("tab {tab} pays with card {card} under {key}"));
        let run = Run {
            ticket,
            flow,
            act: step.act,
            payload: Payload { purchase, card },
            response: None,
        };
        self.obey(env, tab, run, step);
    }

    /// What came of the last act.
    pub(super) fn report(&mut self, env: &mut Env, tab: usize, event: Happened) {
        let this = &mut self.tabs[tab];
        let Some(run) = this.run.take() else {
            return;
        };
        let lifetime_ms = match event {
            Happened::Answered(answer) => answer.gate.then_some(env.settings.terms.key_ttl_ms),
            _ => None,
        };
        let moment = moment(env, &self.customers[this.customer], &mut this.budget);
        match run.flow.next(event, lifetime_ms, moment) {
            Ok((flow, step)) => self.obey(env, tab, Run { flow, ..run }, step),
            Err(error) => {
                env.witness
                    .expect(false, Oracle::MachinesAreObeyed, || error.to_string());
            }
        }
    }

    /// Writes, then does what the step says.
    fn obey(&mut self, env: &mut Env, tab: usize, mut run: Run, step: Step) {
        let customer = &mut self.customers[run.payload.purchase];
        if let Some(record) = step.write {
            customer.stored = Some(record);
        }
        let key = customer.key(env, &run.flow.record().key);
        run.act = step.act;
        match step.act {
            Act::Cancel { timeout_ms } => {
                env.note(format_args!("tab {tab} has {key} cancelled"));
                run.call(env, key, timeout_ms, |call| {
                    ShardEvent::Cancel(CancelEvent::Arrive(call))
                });
            }
            Act::Finish { end, answered } => return self.finish(env, tab, run, key, end, answered),
            Act::Look { timeout_ms } => {
                env.note(format_args!("tab {tab} looks up {key}"));
                run.call(env, key, timeout_ms, ShardEvent::Look);
            }
            Act::Send { timeout_ms } => {
                let key = match env.has(Plant::KeyChangedOnRetry) {
                    true => redrawn(env, customer, &run, key),
                    false => key,
                };
                let number = run.flow.record().sends;
                env.note(format_args!("tab {tab} sends {key} ({number})"));
                run.call(env, key, timeout_ms, ShardEvent::Arrive);
            }
            Act::Wait { until_ms, .. } => {
                let over = TabEvent::WaitOver(run.ticket);
                env.after(until_ms.saturating_sub(env.now_ms), Event::Tab(tab, over));
            }
        }
        self.tabs[tab].run = Some(run);
    }

    fn finish(
        &mut self,
        env: &mut Env,
        tab: usize,
        run: Run,
        key: KeyId,
        end: End,
        answered: bool,
    ) {
        let is_done = matches!(end, End::Done { .. });
        let response = run.response.filter(|_| is_done && answered);
        let text = response.as_ref().and_then(|response| response.text());
        env.note(format_args!("tab {tab} is told {end:?} of {key}"));
        env.witness.heard(key, run.payload, end, text);
        if is_done && env.has(Plant::EpochRaisedOnExecuted) {
            let stored = &mut self.customers[run.payload.purchase].stored;
            *stored = Record::closed(stored.as_ref(), run.flow.record().epoch);
        }
        self.tabs[tab].end = Some(end);
        self.react(env, tab, end);
    }
}

impl Run {
    fn call(&mut self, env: &mut Env, key: KeyId, timeout_ms: u64, arrive: fn(Call) -> ShardEvent) {
        self.ticket.send += 1;
        let (ticket, payload) = (self.ticket, self.payload);
        env.after(
            timeout_ms,
            Event::Tab(ticket.tab, TabEvent::TimedOut(ticket)),
        );
        transmit(env, ticket, key, payload, arrive);
    }
}

fn moment<'a>(env: &Env, customer: &Customer, budget: &'a mut Budget) -> Moment<'a> {
    Moment {
        now_ms: env.now_ms,
        wall_ms: env.now_ms,
        stored: customer.stored.clone(),
        budget,
    }
}

/// The planted bug: a key for every send but the first.
fn redrawn(env: &mut Env, customer: &Customer, run: &Run, key: KeyId) -> KeyId {
    let record = run.flow.record();
    if run.ticket.send == 0 {
        return key;
    }
    let other = customer
        .secret()
        .key(INTENT, record.epoch + u64::from(record.sends));
    customer.key(env, other.as_str())
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
