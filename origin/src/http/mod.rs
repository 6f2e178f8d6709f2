//! Routes and handlers.
//!
//! **Invariant: every answer to an operation says what became of it (`Idempotency-Outcome`), or is
//! not sure.** That is the one header the gate believes.

mod reply;
mod signed;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use oncegate_core::key::Key;
use oncegate_core::ledger::State as Became;
use oncegate_core::outcome::Outcome;
use oncegate_core::signature::Secrets;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

pub(crate) use self::reply::Reply;
pub(crate) use self::signed::Signed;
use crate::clock::now_ms;
use crate::faults::{self, Fault};
use crate::ledger::{Effect, Failure, Ledger, Verdict};
use crate::log::log;
use crate::problem::Problem;
use crate::shop::{self, Order, Product, Shown};
use crate::sql::{self, Database, Dialect};

/// The largest body of a request. An order with the longest cart has about 2 KB.
const MAX_BODY: usize = 64 * 1024;

/// What handlers share.
pub(crate) struct Context<DB: Dialect> {
    pub(crate) database: Database<DB>,
    pub(crate) ledger: Ledger<DB>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) tasks: TaskTracker,
}

impl<DB: Dialect> Clone for Context<DB> {
    fn clone(&self) -> Self {
        Self {
            database: self.database.clone(),
            ledger: self.ledger.clone(),
            secrets: self.secrets.clone(),
            tasks: self.tasks.clone(),
        }
    }
}

/// The whole origin.
pub(crate) fn router<DB: Dialect>(context: Context<DB>, with_faults: bool) -> Router {
    let mut orders = post(place_order::<DB>).get(list_orders::<DB>);
    let mut router = Router::new();
    if with_faults {
        let queue = faults::Queue::default();
        let state = (queue.clone(), context.clone());
        orders = orders.layer(middleware::from_fn_with_state(state, faults::apply::<DB>));
        router = router.merge(faults::routes(queue));
    }
    router
        .route("/orders", orders)
        .route("/orders/{id}", get(show_order::<DB>))
        .route("/catalog", get(catalog::<DB>))
        .route("/health", get(health))
        .route("/.oncegate/ledger/probe", post(probe::<DB>))
        .route("/.oncegate/ledger/cancel", post(cancel::<DB>))
        .fallback(not_found)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(context)
}

/// Places an order, once.
async fn place_order<DB: Dialect>(
    State(context): State<Context<DB>>,
    signed: Signed,
    fault: Option<Extension<Fault>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Reply, Reply> {
    let call = signed.attempt()?;
    let body = body.map_err(|rejection| Reply::did_nothing(body_problem(&rejection)))?;
    let fault = fault.map_or(Fault::None, |Extension(fault)| fault);
    // As a task of its own: when the gate's connection closes, this handler is dropped, but the
    // operation goes on, commits, and its answer is found by the next attempt. Stopping it would be
    // safe as well (it rolls back), but would turn each lost connection into work to be repeated.
    let Context { ledger, tasks, .. } = context;
    let work = tasks.spawn(async move {
        let key = call.key.clone();
        ledger
            .once(&call, async move |connection: &mut DB::Connection| {
                place::<DB>(connection, &key, &body, fault).await
            })
            .await
    });
    let verdict = work
        .await
        .map_err(|error| Failure::Unknown(error.into()))??;
    Ok(verdict.into())
}

/// The effect of an order, and of the fault it met.
async fn place<DB: Dialect>(
    connection: &mut DB::Connection,
    key: &Key,
    body: &[u8],
    fault: Fault,
) -> Result<Effect, Failure> {
    let effect = shop::place::<DB>(connection, key, body, now_ms()).await?;
    match fault {
        Fault::DelayWithin(ms) => tokio::time::sleep(std::time::Duration::from_millis(ms)).await,
        Fault::Fail => return Err(Failure::Unknown("a fault was asked for".into())),
        Fault::Refuse => return Ok(shop::card_declined()),
        _ => {}
    }
    Ok(effect)
}

async fn probe<DB: Dialect>(
    State(context): State<Context<DB>>,
    signed: Signed,
) -> Result<Reply, Reply> {
    let call = signed.question()?;
    let state = context.ledger.probe(&call).await?;
    // Nothing is settled: an attempt may be open, or on its way. Only a cancel can rule that out.
    Ok(Reply::of_state(
        state.map_or(Outcome::Unknown, Became::outcome),
    ))
}

async fn cancel<DB: Dialect>(
    State(context): State<Context<DB>>,
    signed: Signed,
) -> Result<Reply, Reply> {
    let call = signed.question()?;
    let ledger = context.ledger;
    let work = context
        .tasks
        .spawn(async move { ledger.cancel(&call).await });
    let verdict = work
        .await
        .unwrap_or_else(|error| Err(Failure::Unknown(error.into())));
    match verdict {
        Ok(Verdict::Cancelled) => Ok(Reply::of_state(Outcome::Cancelled)),
        // It comes too late, and hears what an attempt would hear.
        Ok(verdict) => Ok(verdict.into()),
        // A cancel that fails says nothing about the operation, least of all *not executed*.
        Err(failure) => Err(Reply::from(failure).with_outcome(Outcome::Unknown)),
    }
}

#[derive(Serialize)]
struct Catalog {
    currency: &'static str,
    products: Vec<Product>,
}

async fn catalog<DB: Dialect>(State(context): State<Context<DB>>) -> Result<Json<Catalog>, Reply> {
    let products = sql::shop::products(&context.database)
        .await
        .map_err(unreadable)?;
    Ok(Json(Catalog {
        currency: shop::CURRENCY,
        products,
    }))
}

#[derive(Serialize)]
struct Orders {
    orders: Vec<Order>,
}

#[derive(Deserialize)]
struct Filter {
    request_id: Option<String>,
}

async fn list_orders<DB: Dialect>(
    State(context): State<Context<DB>>,
    Query(filter): Query<Filter>,
) -> Result<Json<Orders>, Reply> {
    let orders = sql::shop::orders(&context.database, filter.request_id.as_deref())
        .await
        .map_err(unreadable)?;
    Ok(Json(Orders { orders }))
}

async fn show_order<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(id): Path<String>,
) -> Result<Response, Reply> {
    let order = sql::shop::order(&context.database, &id)
        .await
        .map_err(unreadable)?;
    match &order {
        Some(order) => Ok(Json(Shown { order }).into_response()),
        None => {
            let detail = "There is no order of this id.";
            Err(Problem::new(404, "order_not_found", "No such order", detail).into())
        }
    }
}

async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

async fn not_found() -> Reply {
    Problem::new(
        404,
        "not_found",
        "Nothing here",
        "There is nothing at this address.",
    )
    .into()
}

/// What is wrong with a body that was not read whole.
pub(crate) fn body_problem(rejection: &BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let detail = format!("The body is larger than {MAX_BODY} bytes. Send a smaller one.");
        return Problem::new(413, "request_too_large", "The body is too large", detail);
    }
    let detail = "The body ended early. Send the same request again.";
    Problem::new(400, "body_incomplete", "The body is incomplete", detail)
}

/// For questions that concern no operation.
fn unreadable(error: sqlx::Error) -> Reply {
    log(&error);
    let detail = "The shop's database cannot be read at the moment.";
    Problem::new(503, "unreadable", "Not available", detail).into()
}

impl From<Verdict> for Reply {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Cancelled => Self::from(Problem::new(
                410,
                "operation_cancelled",
                "The operation was cancelled",
                "It was cancelled before it had an effect. Begin a new one with a new key.",
            ))
            .with_outcome(Outcome::Cancelled),
            Verdict::Executed(answer) => Self::from(answer).with_outcome(Outcome::Executed),
            Verdict::OtherFingerprint(recorded) => Self::from(Problem::new(
                422,
                "key_reused",
                "The key belongs to another request",
                format!(
                    "An operation with this key asked for something else and was {}.",
                    recorded.state.as_str()
                ),
            ))
            .with_recorded(recorded),
            Verdict::Refused(answer) => Self::from(answer).with_outcome(Outcome::Refused),
        }
    }
}
