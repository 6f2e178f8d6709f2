//! The keys that an issuer publishes, kept for a while.
//!
//! Invariant: a key that the issuer has withdrawn is believed for an hour at most, and a token with an
//! unknown key makes the issuer be asked once in half a minute, however many such tokens come.

use std::cell::RefCell;
use std::rc::Rc;

use oncegate_core::jwt::{Jwk, JwkSet, Unverified};
use oncegate_core::problem::{Code, Problem};
use worker::{Date, Fetch, Request, RequestInit, RequestRedirect, Response};

use super::not_believed;
use crate::log;
use crate::refusal::Refusal;
use crate::shards::within;

/// How long the issuer is waited for, in milliseconds.
const DEADLINE_MS: u64 = 5_000;
/// How long its keys are believed without asking again.
const FRESH_MS: u64 = 10 * 60 * 1_000;
/// How long they are believed while it does not answer.
const USABLE_MS: u64 = 60 * 60 * 1_000;
/// How long it is left alone after it was asked.
const PAUSE_MS: u64 = 30_000;
/// How long it is left alone if it did not answer, and nothing is known of it.
const PAUSE_AFTER_FAILURE_MS: u64 = 1_000;

#[derive(Clone, Default)]
struct Known {
    keys: Option<Rc<JwkSet>>,
    /// When the keys came.
    since_ms: u64,
    /// When the issuer was last asked, and whether it did not answer.
    asked_ms: u64,
    has_failed: bool,
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// The key of a token, asking the issuer if need be.
pub(super) async fn find(url: &str, token: &Unverified) -> Result<Jwk, Refusal> {
    let now_ms = Date::now().as_millis();
    let known = KNOWN.with_borrow(Clone::clone);
    let since_asked_ms = now_ms.saturating_sub(known.asked_ms);
    let age_ms = now_ms.saturating_sub(known.since_ms);
    let found = known.keys.as_ref().map(|keys| token.key(keys).cloned());
    match &found {
        Some(Ok(key)) if age_ms < FRESH_MS => return Ok(key.clone()),
        // Somebody is asking, or has just asked in vain.
        Some(Ok(key)) if age_ms < USABLE_MS && since_asked_ms < PAUSE_MS => return Ok(key.clone()),
        Some(_) if since_asked_ms < PAUSE_MS && known.has_failed => return Err(unavailable()),
        Some(Err(error)) if since_asked_ms < PAUSE_MS => return Err(not_believed(error)),
        None if since_asked_ms < PAUSE_AFTER_FAILURE_MS && known.has_failed => {
            return Err(unavailable());
        }
        _ => {}
    }
    match refresh(url, now_ms).await {
        Some(keys) => token
            .key(&keys)
            .cloned()
            .map_err(|error| not_believed(&error)),
        None => match found {
            Some(Ok(key)) if age_ms < USABLE_MS => Ok(key),
            // An unknown key may be a new one.
            _ => Err(unavailable()),
        },
    }
}

fn unavailable() -> Refusal {
    let problem = Problem::new(Code::GateUnavailable).because("the keys of tokens cannot be had");
    problem.retry_after(PAUSE_AFTER_FAILURE_MS).into()
}

async fn refresh(url: &str, now_ms: u64) -> Option<Rc<JwkSet>> {
    KNOWN.with_borrow_mut(|known| known.asked_ms = now_ms);
    let asked = within(DEADLINE_MS, ask(url)).await;
    match asked.unwrap_or_else(|| Err(format!("no answer within {DEADLINE_MS} ms"))) {
        Ok(keys) => {
            let keys = Rc::new(keys);
            KNOWN.set(Known {
                keys: Some(Rc::clone(&keys)),
                since_ms: now_ms,
                asked_ms: now_ms,
                has_failed: false,
            });
            Some(keys)
        }
        Err(reason) => {
            log::error("jwks").detail(reason).with("url", url).write();
            KNOWN.with_borrow_mut(|known| known.has_failed = true);
            None
        }
    }
}

async fn ask(url: &str) -> Result<JwkSet, String> {
    // A redirect is not followed: it could lead to where the keys can be changed on their way.
    let mut init = RequestInit::new();
    init.with_redirect(RequestRedirect::Manual);
    let request = Request::new_with_init(url, &init);
    let request = request.map_err(|error| error.to_string())?;
    let answer = Fetch::Request(request).send().await;
    let mut answer: Response = answer.map_err(|error| error.to_string())?;
    let status = answer.status_code();
    if status != 200 {
        return Err(format!("status {status}"));
    }
    let keys: JwkSet = answer.json().await.map_err(|error| error.to_string())?;
    // What makes nobody believed is an issuer in trouble, and no word about the keys that it had.
    let reason = "none of its keys is one for RS256, ES256 or EdDSA";
    keys.is_usable()
        .then_some(keys)
        .ok_or_else(|| reason.to_owned())
}
