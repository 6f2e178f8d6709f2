//! How long the attempts of each route have taken lately (rule P2).
//!
//! In memory only: an instance that has just started asks for a second.

use std::cell::RefCell;
use std::collections::HashMap;

use oncegate_core::operation::Pace;

thread_local! {
    static ROUTES: RefCell<HashMap<String, Pace>> = RefCell::default();
}

/// Takes in how long an attempt of a route took.
pub(crate) fn took(route: &str, took_ms: u64) {
    ROUTES.with_borrow_mut(|routes| match routes.get_mut(route) {
        Some(pace) => pace.took(took_ms),
        None => routes.entry(route.to_owned()).or_default().took(took_ms),
    });
}

/// How long an attempt of a route usually takes.
pub(crate) fn median_ms(route: &str) -> Option<u64> {
    ROUTES.with_borrow(|routes| routes.get(route).and_then(Pace::median_ms))
}
