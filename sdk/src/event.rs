//! What sdk/js says of the last act.

use oncegate_core::attempt::{Answer, Event, Problem};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::retry_after::{http_date, wait_ms};

use crate::fields::{Reader, whole_number};

/// The event, and what an answer says of the key's lifetime.
pub(crate) fn read(said: &mut Reader<'_>) -> (Event, Option<u64>) {
    let event = match said.text() {
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

fn answered(said: &mut Reader<'_>) -> (Event, Option<u64>) {
    let http_status = said.number().unwrap_or_default() as u16;
    let redirected = said.flag();
    let status = said.text().map(status);
    let lifetime_ms = said.text().and_then(lifetime_ms);
    let from_header = retry_after(said.text(), said.text());
    let is_foreign = said.flag();
    let unnamed = said.flag();
    let retry_after_ms = said.number().or(from_header);
    let safe_new_key = said.choice();
    let answer = Answer {
        http_status,
        redirected,
        status,
        retry_after_ms,
        gate: status.is_some() || lifetime_ms.is_some() || safe_new_key.is_some(),
        unnamed,
        problem: match is_foreign {
            true => Problem::default(),
            false => hints(said, safe_new_key),
        },
    };
    (Event::Answered(answer), lifetime_ms)
}

/// A word that is not known comes from a newer gate: it is no proof, and no absence either.
fn status(word: &str) -> Status {
    Status::parse(word).unwrap_or(Status::Unknown)
}

/// Counted by the sender's clock where it can be read.
fn retry_after(wait: Option<&str>, date: Option<&str>) -> Option<u64> {
    let here_ms = js_sys::Date::now() as u64;
    let sent_ms = date.and_then(|date| http_date(date, here_ms));
    wait_ms(wait?, sent_ms.unwrap_or(here_ms))
}

fn lifetime_ms(seconds: &str) -> Option<u64> {
    Some(whole_number(seconds)?.saturating_mul(1_000))
}

fn hints(said: &mut Reader<'_>, safe_new_key: Option<bool>) -> Problem {
    Problem {
        safe_new_key: safe_new_key == Some(true),
        retryable: said.choice(),
        // Of a token that has expired unused, too, nothing was taken up: the next key is this payload's.
        key_reused: match said.text() {
            Some("key_reused") => true,
            Some("token_expired") => safe_new_key == Some(true),
            _ => false,
        },
        state: said.text().and_then(Outcome::parse),
    }
}
