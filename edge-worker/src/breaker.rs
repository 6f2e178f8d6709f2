//! Whether an origin can be reached at all (rule A5): asked before anything is claimed.
//!
//! What is known is this isolate's own. Losing it costs a few failures until the next test.
//!
//! An origin is unreachable if it takes no TCP connection and answers no HTTP request either. The
//! second question is there because the platform refuses connections of its own accord (to its own
//! addresses, to some ports), with an error that does not say so: that must never count against an
//! origin that answers. `HEAD /` has no effect anywhere.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use oncegate_core::breaker::{Advice, Breaker, LONGEST_TEST_MS};
use oncegate_core::policy::Place;
use worker::{Delay, Result, Socket, Url};

use crate::fields::Fields;
use crate::log;
use crate::platform::now_ms;
use crate::shards::within;
use crate::wire::{self, Call, Response};

/// How long each of the two questions may take, in milliseconds. Somebody waits for the answer.
const TEST_MS: u64 = LONGEST_TEST_MS / 2;

/// How often who waits for another request's test looks for its word. A promise of another request's
/// must not be waited for: it ends with that request.
const LOOK_AGAIN_MS: u64 = 25;

thread_local! {
    static BREAKERS: RefCell<BTreeMap<String, Breaker>> = const { RefCell::new(BTreeMap::new()) };
}

/// Takes note of how a call to an origin went.
pub(crate) fn heard(place: &Place, answered: &Result<Response>) {
    let Place::Url(origin) = place else { return };
    let is_answer = answered.as_ref().is_ok_and(is_origins);
    // Nothing to remember of an origin of which nothing bad is known.
    let is_known = BREAKERS.with_borrow(|breakers| breakers.contains_key(origin));
    match is_answer {
        true if !is_known => {}
        true => change(origin, Breaker::answered),
        false => change(origin, |breaker| breaker.failed(now_ms())),
    }
}

/// Whether nothing may be claimed for this origin, because it cannot be reached. Another Worker always
/// can.
pub(crate) async fn is_unreachable(place: &Place) -> bool {
    let Place::Url(origin) = place else {
        return false;
    };
    loop {
        let breaker = BREAKERS.with_borrow(|breakers| breakers.get(origin).copied());
        match breaker.unwrap_or_default().advise(now_ms()) {
            Advice::Pass => return false,
            Advice::Refuse => return true,
            Advice::Test => return !test(origin).await,
            Advice::Wait => Delay::from(Duration::from_millis(LOOK_AGAIN_MS)).await,
        }
    }
}

/// Whether the origin can be reached now.
async fn test(origin: &str) -> bool {
    let began_ms = now_ms();
    change(origin, |breaker| breaker.begins_test(began_ms));
    let is_reached = takes_connection(origin).await || answers(origin).await;
    let tested_ms = now_ms();
    change(origin, |breaker| breaker.tested(tested_ms, is_reached));
    let line = log::warn("origin_tested").with("origin", origin);
    line.with("is_reached", is_reached).write();
    is_reached
}

fn change(origin: &str, to: impl FnOnce(Breaker) -> Breaker) {
    BREAKERS.with_borrow_mut(|breakers| {
        let breaker = breakers.entry(origin.to_owned()).or_default();
        *breaker = to(*breaker);
    });
}

async fn takes_connection(origin: &str) -> bool {
    let Some((host, port)) = address(origin) else {
        return false;
    };
    let Ok(mut socket) = Socket::builder().connect(host, port) else {
        return false;
    };
    let is_opened = matches!(within(TEST_MS, socket.opened()).await, Some(Ok(_)));
    // Closed or not: nothing is sent over it.
    let _ = socket.close().await;
    is_opened
}

async fn answers(origin: &str) -> bool {
    let call = async {
        let call = Call::new(format!("{origin}/"), "HEAD", &Fields::default(), None)?;
        wire::fetch(&call).await
    };
    matches!(within(TEST_MS, call).await, Some(Ok(response)) if is_origins(&response))
}

/// Whether it is the origin that answers, and not the platform in its place.
fn is_origins(response: &Response) -> bool {
    !matches!(response.status_code(), 520..=527 | 530)
}

fn address(origin: &str) -> Option<(String, u16)> {
    let url = Url::parse(origin).ok()?;
    Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
}
