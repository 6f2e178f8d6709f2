//! The flows of a page, by number.
//!
//! Invariant: a number is a flow's from its begin to its finish, and nobody else's meanwhile.

use std::cell::RefCell;

use oncegate_core::attempt::budget::Budget;
use oncegate_core::attempt::flow::{Act, Flow, Moment, Order, Step, Wish};
use oncegate_core::attempt::record::Naming;
use oncegate_core::attempt::{Config, End};
use oncegate_core::intent::InstallSecret;
use wasm_bindgen::{JsError, JsValue};

use crate::object::{Fields, get, get_flag, get_number, get_text};
use crate::{event, record};

thread_local! {
    static FLOWS: RefCell<Vec<Option<Flow>>> = const { RefCell::new(Vec::new()) };
}

/// Begins a flow; what comes back has its number.
pub(crate) fn begin(order: &JsValue, said: &JsValue, secret: InstallSecret) -> Fields {
    let mut budget = budget(said);
    let (flow, step) = Flow::start(read_order(order, secret), moment(said, &mut budget));
    let told = tell(&flow, &step, budget);
    let is_over = matches!(step.act, Act::Finish { .. });
    FLOWS.with_borrow_mut(|flows| {
        let free = flows.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            flows.push(None);
            flows.len() - 1
        });
        if let Some(place) = flows.get_mut(number) {
            *place = (!is_over).then_some(flow);
        }
        told.set_number("flow", number as f64);
    });
    told
}

/// Goes on with a flow.
pub(crate) fn next(number: usize, said: &JsValue) -> Result<Fields, JsValue> {
    let taken = FLOWS.with_borrow_mut(|flows| flows.get_mut(number).and_then(Option::take));
    let flow = taken.ok_or_else(|| disorder("there is no such flow"))?;
    let mut budget = budget(said);
    let (event, lifetime_ms) = event::read(said);
    let (flow, step) = flow
        .next(event, lifetime_ms, moment(said, &mut budget))
        .map_err(|_| disorder("an event came out of order"))?;
    let told = tell(&flow, &step, budget);
    if !matches!(step.act, Act::Finish { .. }) {
        FLOWS.with_borrow_mut(|flows| {
            if let Some(place) = flows.get_mut(number) {
                *place = Some(flow);
            }
        });
    }
    Ok(told)
}

fn disorder(what: &str) -> JsValue {
    JsError::new(&["oncegate: ", what, "; please report this"].concat()).into()
}

fn read_order(order: &JsValue, secret: InstallSecret) -> Order {
    let number = |name| get_number(order, name).unwrap_or_default();
    Order {
        wish: match get_text(order, "wish").as_deref() {
            Some("cancel") => Wish::Cancel,
            Some("lookup") => Wish::LookUp,
            _ => Wish::Submit,
        },
        naming: naming(order, secret),
        digest: get_text(order, "digest").unwrap_or_default(),
        proven: get_flag(order, "proven"),
        config: Config {
            base_ms: number("baseMs"),
            cap_ms: number("capMs"),
            attempt_timeout_ms: number("attemptTimeoutMs"),
            deadline_ms: number("deadlineMs"),
            max_sends: number("maxAttempts") as u32,
        },
        seed: number("seed"),
    }
}

/// Without an intent, the secret is this call's own, and its first bytes are the randomness.
fn naming(order: &JsValue, secret: InstallSecret) -> Naming {
    match get_text(order, "intent") {
        Some(intent) => Naming::Derived { secret, intent },
        None => Naming::Drawn {
            random: secret.random(),
            wall_ms: js_sys::Date::now() as u64,
        },
    }
}

fn budget(said: &JsValue) -> Budget {
    Budget::new(get_number(said, "budget").unwrap_or_default())
}

fn moment<'a>(said: &JsValue, budget: &'a mut Budget) -> Moment<'a> {
    Moment {
        now_ms: get_number(said, "now").unwrap_or_default(),
        wall_ms: js_sys::Date::now() as u64,
        stored: record::read(&get(said, "stored")),
        budget,
    }
}

fn tell(flow: &Flow, step: &Step, budget: Budget) -> Fields {
    let told = Fields::new();
    told.set_text("key", &flow.record().key);
    told.set_number("sends", flow.record().sends.into());
    told.set_number("budget", budget.full_at_ms() as f64);
    if let Some(written) = &step.write {
        told.set("write", &record::to_object(written));
    }
    let act = match step.act {
        Act::Cancel { timeout_ms } => call(&told, "cancel", timeout_ms),
        Act::Look { timeout_ms } => call(&told, "lookup", timeout_ms),
        Act::Send { timeout_ms } => call(&told, "send", timeout_ms),
        Act::Wait { until_ms, online } => {
            told.set_number("untilMs", until_ms as f64);
            told.set_flag("online", online);
            "wait"
        }
        Act::Finish { end, answered } => {
            told.set_flag("answered", answered);
            tell_end(&told, end)
        }
    };
    told.set_text("act", act);
    told
}

fn call(told: &Fields, act: &'static str, timeout_ms: u64) -> &'static str {
    told.set_number("timeoutMs", timeout_ms as f64);
    act
}

fn tell_end(told: &Fields, end: End) -> &'static str {
    let (outcome, reason) = match end {
        End::Done { replayed, changed } => {
            told.set_flag("replayed", replayed);
            told.set_flag("changed", changed);
            ("done", None)
        }
        End::Failed(reason) => ("failed", Some(reason.as_str())),
        End::Unknown(why) => ("unknown", Some(why.as_str())),
    };
    if let Some(reason) = reason {
        told.set_text("reason", reason);
    }
    told.set_text("outcome", outcome);
    "finish"
}
