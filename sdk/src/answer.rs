//! Reads a response, body included, for the machine that decides.

use js_sys::JSON;
use oncegate_core::attempt::{Answer, Problem};
use oncegate_core::header::{IDEMPOTENCY_KEY_LIFETIME, IDEMPOTENCY_STATUS, OPERATION};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::retry_after::{http_date, wait_ms};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Headers, Response};

use crate::host::wall_ms;
use crate::object::{get, get_number, get_text};

/// A response that has arrived completely.
pub(crate) struct Received {
    pub(crate) answer: Answer,
    pub(crate) response: Response,
    /// The parsed body, or `undefined`.
    pub(crate) problem: JsValue,
    pub(crate) lifetime_ms: Option<u64>,
}

/// Waits for the body's last byte: an answer that breaks off is none. The page gets the response
/// unread. A body is parsed if its type begins with `media`.
pub(crate) async fn receive(response: Response, media: &str) -> Result<Received, JsValue> {
    let headers = response.headers();
    let problem = read_body(&response.clone()?, media).await?;
    Ok(Received {
        answer: Answer {
            http_status: response.status(),
            redirected: response.redirected(),
            status: status(&headers),
            retry_after_ms: get_number(&problem, "retry_after_ms")
                .or_else(|| retry_after(&headers)),
            problem: hints(&problem),
        },
        response,
        problem,
        lifetime_ms: lifetime_ms(&headers),
    })
}

/// The operation that an answer is about.
pub(crate) fn operation_of(response: &Response) -> Option<String> {
    header(&response.headers(), OPERATION)
}

async fn read_body(copy: &Response, media: &str) -> Result<JsValue, JsValue> {
    let content_type = header(&copy.headers(), "content-type").unwrap_or_default();
    if content_type.starts_with(media) {
        let text = JsFuture::from(copy.text()?).await?;
        return Ok(JSON::parse(&text.as_string().unwrap_or_default()).unwrap_or_default());
    }
    JsFuture::from(copy.array_buffer()?).await?;
    Ok(JsValue::UNDEFINED)
}

/// A word that is not known comes from a newer gate: it is no proof, and no absence either.
fn status(headers: &Headers) -> Option<Status> {
    let word = header(headers, IDEMPOTENCY_STATUS)?;
    Some(Status::parse(&word).unwrap_or(Status::Unknown))
}

/// Counted by the sender's clock where it can be read.
fn retry_after(headers: &Headers) -> Option<u64> {
    let here_ms = wall_ms();
    let sent_ms = header(headers, "date").and_then(|date| http_date(&date, here_ms));
    wait_ms(&header(headers, "retry-after")?, sent_ms.unwrap_or(here_ms))
}

fn lifetime_ms(headers: &Headers) -> Option<u64> {
    let seconds: u64 = header(headers, IDEMPOTENCY_KEY_LIFETIME)?.parse().ok()?;
    Some(seconds.saturating_mul(1_000))
}

fn hints(problem: &JsValue) -> Problem {
    Problem {
        key_reused: get_text(problem, "code").is_some_and(|code| code == "key_reused"),
        state: get_text(problem, "state").and_then(|state| Outcome::parse(&state)),
        safe_new_key: get(problem, "safe_new_key").is_truthy(),
        retryable: get(problem, "retryable").as_bool(),
    }
}

fn header(headers: &Headers, name: &str) -> Option<String> {
    headers.get(name).ok()?
}
