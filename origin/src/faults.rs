//! Switches that break things on purpose, to show and to test that nothing is charged twice.
//!
//! A queue: each `POST /orders` that arrives takes the first entry, before anything else is done
//! with it; and a second one for `POST /messages`. The routes and the layer exist only with `--faults`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, FromRequest, FromRequestParts, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get};
use axum::{Json, Router};
use oncegate_core::outcome::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;

use crate::gate::{Reply, Signed};
use crate::http::{Context, body_problem};
use crate::ledger::Failure;
use crate::problem::Problem;
use crate::server::HangUp;
use crate::sql::{self, Dialect, Patience};

/// What goes wrong. Durations are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// Sleep after the commit, before the answer.
    DelayAfter(u64),
    /// Sleep before the transaction begins.
    DelayBefore(u64),
    /// Sleep inside the transaction, with the effect done and nothing committed.
    DelayWithin(u64),
    /// Close the connection without an answer, after the commit.
    DropAfterCommit,
    /// Close the connection before anything is done.
    DropBefore,
    /// Fail after the effect was done: rolled back, and answered without an outcome.
    Fail,
    /// Nothing.
    None,
    /// Decline the card, whichever it is.
    Refuse,
    /// Say 503, do nothing, and say so.
    Unavailable,
    /// Do it, then say 503 without an outcome, as a proxy in front would.
    UnavailableAfterCommit,
}

impl Fault {
    /// Whether it is in the doing of an order, so that it is nothing to a message.
    fn is_of_an_order(self) -> bool {
        matches!(self, Self::DelayWithin(_) | Self::Fail | Self::Refuse)
    }
}

/// The faults to come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(Arc<Mutex<VecDeque<Fault>>>);

impl Queue {
    fn take(&self) -> Fault {
        self.with(|faults| faults.pop_front().unwrap_or(Fault::None))
    }

    fn replace(&self, new: Vec<Fault>) {
        self.with(|faults| *faults = new.into());
    }

    fn list(&self) -> Vec<Fault> {
        self.with(|faults| faults.iter().copied().collect())
    }

    fn with<T>(&self, act: impl FnOnce(&mut VecDeque<Fault>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The routes that set the switches.
pub(crate) fn routes<DB: Dialect>(of_orders: Queue, of_messages: Queue) -> Router<Context<DB>> {
    Router::new()
        .route("/faults", switches(of_orders, |_| true))
        .route(
            "/faults/messages",
            switches(of_messages, |fault| !fault.is_of_an_order()),
        )
        .route("/shop", delete(clear::<DB>))
}

/// Those that would do nothing here are refused.
fn switches<DB: Dialect>(queue: Queue, fits: fn(Fault) -> bool) -> MethodRouter<Context<DB>> {
    let set = async move |State(queue): State<Queue>, body: Bytes| {
        let faults = read(&body, fits).map_err(not_faults)?;
        queue.replace(faults);
        Ok::<_, Reply>(StatusCode::NO_CONTENT)
    };
    let list = async |State(queue): State<Queue>| Json(queue.list());
    get(list).put(set).with_state(queue)
}

/// The layer that applies them.
pub(crate) async fn apply<DB: Dialect>(
    State((queue, context)): State<(Queue, Context<DB>)>,
    Extension(hang_up): Extension<HangUp>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let fault = queue.take();
    match fault {
        Fault::DropBefore => return hang_up.now().await,
        Fault::Unavailable => {
            return unavailable()
                .with_outcome(Outcome::NotExecuted)
                .into_response();
        }
        _ => {}
    }
    let request = match whole(request, fault, &context).await {
        Ok(request) => request,
        Err(reply) => return reply.into_response(),
    };
    // As a task: an attempt that is delayed arrives late even if its caller has left by then.
    let work = context.gate.tasks().spawn(async move {
        if let Fault::DelayBefore(ms) = fault {
            sleep(Duration::from_millis(ms)).await;
        }
        let response = next.run(request).await;
        if let Fault::DelayAfter(ms) = fault {
            sleep(Duration::from_millis(ms)).await;
        }
        response
    });
    let response = work.await;
    match (fault, response) {
        (Fault::DropAfterCommit, _) => hang_up.now().await,
        (Fault::UnavailableAfterCommit, _) => unavailable().into_response(),
        (_, Ok(response)) => response,
        (_, Err(error)) => Reply::from(Failure::Unknown(error.into())).into_response(),
    }
}

/// The request with its whole body, so that it no longer depends on its connection.
async fn whole<DB: Dialect>(
    request: Request,
    fault: Fault,
    context: &Context<DB>,
) -> Result<Request, Reply> {
    let (mut parts, body) = request.into_parts();
    let request = Request::from_parts(parts.clone(), body);
    let body = match Bytes::from_request(request, &()).await {
        Ok(body) => body,
        // Only the gate is told what became of an attempt, with this layer as without it.
        Err(rejection) => {
            let signed = Signed::from_request_parts(&mut parts, context).await?;
            signed.attempt()?;
            return Err(Reply::did_nothing(body_problem(&rejection)));
        }
    };
    parts.extensions.insert(fault);
    Ok(Request::from_parts(parts, Body::from(body)))
}

async fn clear<DB: Dialect>(State(context): State<Context<DB>>) -> Result<StatusCode, Reply> {
    let clear = async {
        let mut transaction = context.database.begin(&mut Patience::default()).await?;
        sql::shop::clear::<DB>(&mut transaction).await?;
        sql::ledger::clear::<DB>(&mut transaction).await?;
        transaction.commit().await?;
        Ok(StatusCode::NO_CONTENT)
    };
    clear
        .await
        .map_err(|error| Reply::from(Failure::Unknown(error)))
}

fn unavailable() -> Reply {
    let detail = "The shop is not available at the moment. Send the same request again.";
    Reply::from(Problem::new(503, "unavailable", "Not available", detail)).with_retry_after(1)
}

fn read(body: &[u8], fits: fn(Fault) -> bool) -> Result<Vec<Fault>, String> {
    let faults: Vec<Fault> = serde_json::from_slice(body)
        .map_err(|error| format!("The body is not a list of faults: {error}."))?;
    match faults.iter().find(|fault| !fits(**fault)) {
        Some(fault) => Err(format!(
            "{} does nothing to a message: set it at /faults.",
            json!(fault)
        )),
        None => Ok(faults),
    }
}

fn not_faults(detail: String) -> Reply {
    Reply::from(Problem::new(
        400,
        "faults_invalid",
        "Such faults cannot be set",
        detail,
    ))
}
