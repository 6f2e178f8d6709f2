//! Keys that end soon: said in the log while they are used, and in the metrics always.

use std::cell::RefCell;
use std::collections::BTreeMap;

use oncegate_core::metrics::Exposition;
use oncegate_core::webhook::keys::Keys;

use crate::config::Config;
use crate::log;
use crate::platform::now_ms;

/// How often one isolate says it, in milliseconds.
const PAUSE_MS: u64 = 60 * 60 * 1_000;

thread_local! {
    static GIVEN: RefCell<BTreeMap<String, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Says that the keys of a route end soon, if they do.
pub(super) fn give(route: &str, keys: &Keys, now_ms: u64) {
    let Some(end_ms) = keys.end_ms(now_ms).filter(|_| keys.end_soon(now_ms)) else {
        return;
    };
    let is_due = GIVEN.with_borrow_mut(|given| {
        let before = given.insert(route.to_owned(), now_ms);
        let is_due = before.is_none_or(|before| before + PAUSE_MS <= now_ms);
        if let (false, Some(before)) = (is_due, before) {
            given.insert(route.to_owned(), before);
        }
        is_due
    });
    if is_due {
        let days = end_ms.saturating_sub(now_ms) / (24 * 60 * 60 * 1_000);
        let line = log::warn("webhook_keys_end").with("route", route);
        line.with("days", days)
            .detail("after that its events are refused; add the next key to WEBHOOK_SECRETS")
            .write();
    }
}

/// When the keys of each route end, for Prometheus.
pub(crate) fn metrics(config: &Config) -> String {
    let (ends, now_ms) = (config.webhook_keys.iter(), now_ms());
    let mut ends = ends
        .filter_map(|(route, keys)| Some((route, keys.end_ms(now_ms)?)))
        .peekable();
    let mut page = Exposition::default();
    if ends.peek().is_some() {
        page.gauge(
            "oncegate_webhook_keys_end_seconds",
            "When the last key of a webhook ends, in seconds since 1970.",
        );
    }
    for (route, end_ms) in ends {
        page.sample(&[("route", route)], end_ms / 1_000);
    }
    page.into_text()
}
