//! What sdk/js says of the last act.

use oncegate_core::attempt::{Answer, Event, Problem};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::retry_after::{http_date, wait_ms};
use wasm_bindgen::JsValue;

use crate::object::{get, get_flag, get_number, get_text};

/// The event, and what an answer says of the key's lifetime.
pub(crate) fn read(said: &JsValue) -> (Event, Option<u64>) {
    let event = match get_text(said, "event").as_deref() {
        Some("aborted") => Event::Aborted,
        Some("answered") => return answered(said),
        Some("cancel") => Event::CancelWanted,
        Some("offline") => Event::Offline,
        Some("online") => Event::Online,
        Some("over") => Event::WaitOver,
        Some("timeout") => Event::TimedOut,
        _ => Event::NetworkError,
    };
    (event, None)
}

fn answered(said: &JsValue) -> (Event, Option<u64>) {
    let problem = get(said, "problem");
    let status = status(said);
    let lifetime_ms = lifetime_ms(said);
    let is_gates_own = get(&problem, "safe_new_key").as_bool().is_some();
    let answer = Answer {
        http_status: get_number(said, "http").unwrap_or_default() as u16,
        redirected: get_flag(said, "redirected"),
        status,
        retry_after_ms: get_number(&problem, "retry_after_ms").or_else(|| retry_after(said)),
        gate: status.is_some() || lifetime_ms.is_some() || is_gates_own,
        unnamed: get_flag(said, "unnamed"),
        problem: match get_flag(said, "foreign") {
            true => Problem::default(),
            false => hints(&problem),
        },
    };
    (Event::Answered(answer), lifetime_ms)
}

/// A word that is not known comes from a newer gate: it is no proof, and no absence either.
fn status(said: &JsValue) -> Option<Status> {
    let word = get_text(said, "status")?;
    Some(Status::parse(&word).unwrap_or(Status::Unknown))
}

/// Counted by the sender's clock where it can be read.
fn retry_after(said: &JsValue) -> Option<u64> {
    let here_ms = js_sys::Date::now() as u64;
    let sent_ms = get_text(said, "date").and_then(|date| http_date(&date, here_ms));
    wait_ms(&get_text(said, "retryAfter")?, sent_ms.unwrap_or(here_ms))
}

fn lifetime_ms(said: &JsValue) -> Option<u64> {
    let seconds: u64 = get_text(said, "lifetime")?.parse().ok()?;
    Some(seconds.saturating_mul(1_000))
}

fn hints(problem: &JsValue) -> Problem {
    Problem {
        // Of a token that has expired unused, too, nothing was taken up: the next key is this payload's.
        key_reused: match get_text(problem, "code").as_deref() {
            Some("key_reused") => true,
            Some("token_expired") => get_flag(problem, "safe_new_key"),
            _ => false,
        },
        state: get_text(problem, "state").and_then(|state| Outcome::parse(&state)),
        safe_new_key: get_flag(problem, "safe_new_key"),
        retryable: get(problem, "retryable").as_bool(),
    }
}
