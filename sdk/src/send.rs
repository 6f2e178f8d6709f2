//! One send or cancellation, and one wait: what can end them, and what is left running.
//!
//! Invariant: both end by their own timer at the latest, whatever `fetch` does. That holds for a
//! page that the browser froze and brought back, too: timers go on there, requests may not.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use gloo_timers::future::TimeoutFuture;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, AbortSignal, Response};

use crate::answer::{Received, receive};
use crate::host::Job;

/// What came of a call.
pub(crate) enum Sent {
    Aborted,
    Answered(Received),
    Failed(JsValue),
    TimedOut,
}

/// What ended a wait.
pub(crate) enum Waited {
    Aborted,
    Over,
}

/// Sends the job's request as it stands, or has its gate cancel the key. The time covers the body of
/// the answer.
pub(crate) async fn send(
    job: &Job,
    cancels: bool,
    aborted: &mut JsFuture,
    timeout_ms: u64,
) -> Sent {
    let Ok(controller) = AbortController::new() else {
        return Sent::Failed(JsValue::UNDEFINED);
    };
    let signal = controller.signal();
    let answered = async {
        exchange(job, cancels, &signal)
            .await
            .map_or_else(Sent::Failed, Sent::Answered)
    };
    let interrupted = async {
        match wait(aborted, timeout_ms).await {
            Waited::Aborted => Sent::Aborted,
            Waited::Over => Sent::TimedOut,
        }
    };
    let sent = race(answered, interrupted).await;
    if !matches!(sent, Sent::Answered(_)) {
        controller.abort();
    }
    sent
}

async fn exchange(job: &Job, cancels: bool, signal: &AbortSignal) -> Result<Received, JsValue> {
    let response = JsFuture::from(job.fetch(cancels, signal)?).await?;
    // A page gets its answer unread; what a cancellation says is for us.
    let media = if cancels {
        "application/"
    } else {
        "application/problem+json"
    };
    receive(response.unchecked_into::<Response>(), media).await
}

/// Waits, unless the user gives up.
pub(crate) async fn wait(aborted: &mut JsFuture, wait_ms: u64) -> Waited {
    // The longest time that a timer takes; the machine asks again if it was too short.
    let wait_ms = i32::try_from(wait_ms).unwrap_or(i32::MAX).unsigned_abs();
    let over = async {
        TimeoutFuture::new(wait_ms).await;
        Waited::Over
    };
    let aborted = async {
        let _ = aborted.await;
        Waited::Aborted
    };
    race(aborted, over).await
}

/// The output of the future that is ready first; the other one is dropped.
async fn race<T>(first: impl Future<Output = T>, second: impl Future<Output = T>) -> T {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Pending => second.as_mut().poll(context),
        ready => ready,
    })
    .await
}
