//! The flows of a page, by number.
//!
//! Invariant: a number is a flow's from its begin to its finish, and nobody else's meanwhile.

use std::cell::RefCell;

use oncegate_core::attempt::budget::Budget;
use oncegate_core::attempt::flow::{Act, Flow, Moment, Order, Step, Wish};
use oncegate_core::attempt::{Config, End};

use crate::fields::{Reader, Writer};
use crate::{event, naming, record};

thread_local! {
    static FLOWS: RefCell<Vec<Option<Flow>>> = const { RefCell::new(Vec::new()) };
}

/// Begins a flow; what is told begins with its number. `None` if there is no secret.
pub(crate) fn begin(said: &mut Reader<'_>, told: &mut Writer) -> Option<()> {
    let mut budget = Budget::default();
    let order = order(said)?;
    let (flow, step) = Flow::start(order, moment(said, &mut budget));
    FLOWS.with_borrow_mut(|flows| {
        let free = flows.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            flows.push(None);
            flows.len() - 1
        });
        tell(told, number, &flow, &step, budget);
        keep(flows, number, flow, &step);
    });
    Some(())
}

/// Goes on with a flow. `None` if there is none, or if that was not its last act: sdk/js is wrong.
pub(crate) fn next(said: &mut Reader<'_>, told: &mut Writer) -> Option<()> {
    let number = said.number()? as usize;
    let taken = FLOWS.with_borrow_mut(|flows| flows.get_mut(number).and_then(Option::take));
    let mut budget = Budget::default();
    let moment = moment(said, &mut budget);
    let (event, lifetime_ms) = event::read(said);
    let (flow, step) = taken?.next(event, lifetime_ms, moment).ok()?;
    tell(told, number, &flow, &step, budget);
    FLOWS.with_borrow_mut(|flows| keep(flows, number, flow, &step));
    Some(())
}

fn keep(flows: &mut [Option<Flow>], number: usize, flow: Flow, step: &Step) {
    let is_over = matches!(step.act, Act::Finish { .. });
    if let Some(place) = flows.get_mut(number) {
        *place = (!is_over).then_some(flow);
    }
}

fn order(said: &mut Reader<'_>) -> Option<Order> {
    Some(Order {
        naming: naming(said)?,
        wish: match said.text() {
            Some("cancel") => Wish::Cancel,
            Some("lookup") => Wish::LookUp,
            _ => Wish::Submit,
        },
        digest: said.text().unwrap_or_default().into(),
        proven: said.flag(),
        config: Config {
            base_ms: said.number().unwrap_or_default(),
            cap_ms: said.number().unwrap_or_default(),
            attempt_timeout_ms: said.number().unwrap_or_default(),
            deadline_ms: said.number().unwrap_or_default(),
            max_sends: said.number().unwrap_or_default() as u32,
        },
        seed: said.number().unwrap_or_default(),
    })
}

fn moment<'a>(said: &mut Reader<'_>, budget: &'a mut Budget) -> Moment<'a> {
    let now_ms = said.number().unwrap_or_default();
    *budget = Budget::new(said.number().unwrap_or_default());
    Moment {
        now_ms,
        wall_ms: js_sys::Date::now() as u64,
        stored: record::read(said),
        budget,
    }
}

fn tell(told: &mut Writer, number: usize, flow: &Flow, step: &Step, budget: Budget) {
    record::write(step.write.as_ref(), told);
    told.number(number as u64);
    told.text(&flow.record().key);
    told.number(flow.record().sends.into());
    told.number(budget.full_at_ms());
    match step.act {
        Act::Cancel { timeout_ms } => tell_call(told, "cancel", timeout_ms),
        Act::Look { timeout_ms } => tell_call(told, "lookup", timeout_ms),
        Act::Send { timeout_ms } => tell_call(told, "send", timeout_ms),
        Act::Wait { until_ms, online } => {
            told.text("wait");
            told.number(until_ms);
            told.flag(online);
        }
        Act::Finish { end, answered } => {
            told.text("finish");
            told.flag(answered);
            tell_end(told, end);
        }
    }
}

fn tell_call(told: &mut Writer, act: &str, timeout_ms: u64) {
    told.text(act);
    told.number(timeout_ms);
}

fn tell_end(told: &mut Writer, end: End) {
    let (outcome, reason) = match end {
        End::Done { replayed, changed } => {
            told.text("done");
            told.absent(1);
            told.flag(replayed);
            return told.flag(changed);
        }
        End::Failed(reason) => ("failed", reason.as_str()),
        End::Unknown(why) => ("unknown", why.as_str()),
    };
    told.text(outcome);
    told.text(reason);
}
