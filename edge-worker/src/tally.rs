//! What this isolate has counted, and the Desk does not know yet.
//!
//! Invariant: nothing here is waited for by a request. What is counted goes to the Desk behind an
//! answer, at most once in ten seconds, or as soon as many decisions have come together.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use oncegate_core::metrics::{Decision, Metrics, ShardCall};
use worker::{Context, Delay, Env};

use crate::answer::DISPATCHED;
use crate::claims::message::Told;
use crate::config::Config;
use crate::desk::message::{Event, Tallied, ToDesk};
use crate::platform::now_ms;
use crate::wire::Response;
use crate::{desk, log};

const USUAL_PAUSE_MS: u64 = 10_000;

/// Under load a tally is full long before the usual pause is over.
const SHORTEST_PAUSE_MS: u64 = 1_000;

/// How many decisions a tally holds. Of more, the oldest are counted and not shown.
const EVENTS: usize = 200;

/// A promised tally that is this much too late was lost with its request.
const GRACE_MS: u64 = 5_000;

thread_local! {
    static TALLY: RefCell<Tally> = RefCell::default();
}

#[derive(Default)]
struct Tally {
    metrics: Metrics,
    events: VecDeque<Event>,
    told_ms: u64,
    /// When the next one is promised.
    due_ms: Option<u64>,
}

impl Tally {
    /// How long to wait with the next one; `None` if there is nothing to tell, or another request has
    /// promised it.
    fn promise(&mut self, now_ms: u64) -> Option<u64> {
        if self.metrics == Metrics::default() {
            return None;
        }
        let pause_ms = match self.events.len() < EVENTS {
            true => USUAL_PAUSE_MS,
            false => SHORTEST_PAUSE_MS,
        };
        let due_ms = now_ms.max(self.told_ms + pause_ms);
        if self
            .due_ms
            .is_some_and(|promised_ms| promised_ms <= due_ms && now_ms <= promised_ms + GRACE_MS)
        {
            return None;
        }
        self.due_ms = Some(due_ms);
        Some(due_ms - now_ms)
    }

    /// What there is to tell.
    fn take(&mut self, now_ms: u64) -> Option<Tallied> {
        self.due_ms = None;
        if self.metrics == Metrics::default() {
            return None;
        }
        self.told_ms = now_ms;
        Some(Tallied {
            metrics: std::mem::take(&mut self.metrics),
            events: std::mem::take(&mut self.events).into(),
        })
    }
}

/// Counts what a request of a protected route was answered.
pub(crate) fn decided(route: &str, mode: &str, response: &Response, began_ms: u64) {
    let marks = response.marks();
    let unsaid = match marks.operation {
        Some(_) => DISPATCHED,
        None => "passed",
    };
    let at_ms = now_ms();
    add(Event {
        at_ms,
        route: route.to_owned(),
        mode: mode.to_owned(),
        decision: marks.decision.as_deref().unwrap_or(unsaid).to_owned(),
        state: marks.state.clone(),
        operation: marks.operation.clone(),
        status: response.status_code(),
        took_ms: at_ms.saturating_sub(began_ms),
    });
}

/// Counts what an item of a call about claims was answered.
pub(crate) fn claimed(told: &Told, began_ms: u64) {
    let at_ms = now_ms();
    add(Event {
        at_ms,
        route: oncegate_core::claim::ROUTE.to_owned(),
        mode: "enforce".to_owned(),
        decision: told.code.as_ref().unwrap_or(&told.answer).clone(),
        state: None,
        operation: told.operation.clone(),
        status: 200,
        took_ms: at_ms.saturating_sub(began_ms),
    });
}

/// Counts what would have been decided about a request that has passed, and logs it.
pub(crate) fn observed(event: Event) {
    log::info("observed")
        .with("operation", &event.operation)
        .with("route", &event.route)
        .with("decision", &event.decision)
        .with("state", &event.state)
        .with("status", event.status)
        .with("took_ms", event.took_ms)
        .write();
    add(event);
}

fn add(event: Event) {
    let decision = Decision {
        route: event.route.clone(),
        mode: event.mode.clone(),
        decision: event.decision.clone(),
        state: event.state.clone().unwrap_or_default(),
    };
    TALLY.with_borrow_mut(|tally| {
        tally.metrics.decided(decision, event.took_ms);
        if tally.events.len() == EVENTS {
            tally.events.pop_front();
        }
        tally.events.push_back(event);
    });
}

/// Counts a call to a shard.
pub(crate) fn shard_called(shard: u16, ended: ShardCall) {
    TALLY.with_borrow_mut(|tally| tally.metrics.shard_called(shard, ended));
}

/// Counts rows that a shard says it has written.
pub(crate) fn rows_written(rows: u64) {
    TALLY.with_borrow_mut(|tally| tally.metrics.rows_written(rows));
}

/// Tells the Desk when it is time, behind the answer to a request.
pub(crate) fn tell_later(env: &Env, config: &Rc<Config>, context: &Context) {
    let Some(wait_ms) = promise() else {
        return;
    };
    let (env, config) = (env.clone(), Rc::clone(config));
    context.wait_until(async move { tell_after(wait_ms, &env, &config).await });
}

/// Tells the Desk when it is time: for who is behind an answer already.
pub(crate) async fn tell_when_due(env: &Env, config: &Config) {
    if let Some(wait_ms) = promise() {
        tell_after(wait_ms, env, config).await;
    }
}

fn promise() -> Option<u64> {
    let now_ms = now_ms();
    TALLY.with_borrow_mut(|tally| tally.promise(now_ms))
}

async fn tell_after(wait_ms: u64, env: &Env, config: &Config) {
    if wait_ms > 0 {
        Delay::from(Duration::from_millis(wait_ms)).await;
    }
    tell(env, config).await;
}

/// Tells the Desk now.
pub(crate) async fn tell(env: &Env, config: &Config) {
    let now_ms = now_ms();
    let Some(tallied) = TALLY.with_borrow_mut(|tally| tally.take(now_ms)) else {
        return;
    };
    if let Err(error) = desk::tell(env, config, &ToDesk::Tally(tallied)).await {
        log::warn("tally_lost").detail(error).write();
        TALLY.with_borrow_mut(|tally| tally.metrics.report_lost());
    }
}
