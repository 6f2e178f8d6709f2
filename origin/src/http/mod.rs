//! Routes and handlers.
//!
//! **Invariant: every answer to an operation says what became of it (`Idempotency-Outcome`), or is
//! not sure.** That is the one header the gate believes.

mod admin;
mod callback;
mod lab;
mod pay;
mod scenarios;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Extension, FromRequestParts, Path, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use oncegate_core::key::Key;
use oncegate_core::signature::Secrets;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::admin::Admin;
use crate::clock::now_ms;
use crate::faults::{self, Fault};
use crate::gate::{Gate, Reply, Signed};
use crate::id::Id;
use crate::job::Settings;
use crate::lab::Lab;
use crate::ledger::{Effect, Failure};
use crate::log;
use crate::problem::Problem;
use crate::provider::client::Client;
use crate::shop::callback::CallbackSecret;
use crate::shop::{self, Order, Product, Shown};
use crate::sql::{self, Database, Dialect};

/// The largest body of a request. An order with the longest cart has about 2 KB.
const MAX_BODY: usize = 64 * 1024;

/// What handlers share.
pub(crate) struct Context<DB: Dialect> {
    pub(crate) database: Database<DB>,
    pub(crate) gate: Gate<DB>,
    pub(crate) admin_secrets: Option<Secrets>,
    pub(crate) callback_secret: Option<CallbackSecret>,
    pub(crate) provider: Option<Client>,
    pub(crate) settlement: Settings,
    pub(crate) lab: Lab,
}

impl<DB: Dialect> Clone for Context<DB> {
    fn clone(&self) -> Self {
        Self {
            database: self.database.clone(),
            gate: self.gate.clone(),
            admin_secrets: self.admin_secrets.clone(),
            callback_secret: self.callback_secret.clone(),
            provider: self.provider.clone(),
            settlement: self.settlement,
            lab: self.lab.clone(),
        }
    }
}

/// The whole origin.
pub(crate) fn router<DB: Dialect>(context: Context<DB>, with_faults: bool) -> Router {
    let mut orders = post(place_order::<DB>).get(list_orders::<DB>);
    let mut messages = post(scenarios::message::<DB>);
    let mut router = Router::new();
    if with_faults {
        let [of_orders, of_messages] = [faults::Queue::default(), faults::Queue::default()];
        let layer = |queue: &faults::Queue| {
            let state = (queue.clone(), context.clone());
            middleware::from_fn_with_state(state, faults::apply::<DB>)
        };
        orders = orders.layer(layer(&of_orders));
        messages = messages.layer(layer(&of_messages));
        router = router.merge(faults::routes(of_orders, of_messages));
        router = router.merge(lab::routes());
    }
    router
        .route("/orders", orders)
        .route("/messages", messages)
        .route("/orders/{id}", get(show_order::<DB>))
        .route("/catalog", get(catalog::<DB>))
        .route("/health", get(health))
        .merge(context.gate.questions())
        .merge(scenarios::routes())
        .merge(admin::routes())
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
    let body = body.map_err(|rejection| Reply::did_nothing(body_problem(&rejection)))?;
    let fault = fault.map_or(Fault::None, |Extension(fault)| fault);
    place_once(context, signed, body, fault).await
}

/// Places the order that a body asks for, once.
async fn place_once<DB: Dialect>(
    context: Context<DB>,
    signed: Signed,
    body: Bytes,
    fault: Fault,
) -> Result<Reply, Reply> {
    let call = signed.attempt()?;
    // As a task of its own: when the gate's connection closes, this handler is dropped, but the
    // operation goes on, commits, and its answer is found by the next attempt. Stopping it would be
    // safe as well (it rolls back), but would turn each lost connection into work to be repeated.
    let ledger = context.gate.ledger().clone();
    let work = context.gate.tasks().spawn(async move {
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

/// The orders of one key for whoever knows the key, all of them for the shop's own people. No order shown has an address or
/// a card.
async fn list_orders<DB: Dialect>(
    State(context): State<Context<DB>>,
    Query(filter): Query<Filter>,
    admin: Result<Admin, Reply>,
) -> Result<Json<Orders>, Reply> {
    let key = filter.request_id.as_deref();
    if key.is_none() {
        admin?;
    }
    let orders = match key.map(Id::parse) {
        // No key is like that.
        Some(Err(_)) => Vec::new(),
        _ => sql::shop::orders(&context.database, key)
            .await
            .map_err(unreadable)?,
    };
    Ok(Json(Orders { orders }))
}

/// An order for whoever knows its id, which cannot be guessed.
async fn show_order<DB: Dialect>(
    State(context): State<Context<DB>>,
    Path(id): Path<String>,
) -> Result<Response, Reply> {
    let order = match Id::parse(&id) {
        Ok(_) => sql::shop::order(&context.database, &id)
            .await
            .map_err(unreadable)?,
        Err(_) => None,
    };
    match &order {
        Some(order) => Ok(Json(Shown { order }).into_response()),
        None => {
            let detail = "There is no order of this id.";
            Err(Problem::new(404, "order_not_found", "No such order", detail).into())
        }
    }
}

impl<DB: Dialect> FromRequestParts<Context<DB>> for Signed {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, context: &Context<DB>) -> Result<Self, Reply> {
        context.gate.verify(parts)
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
    log::error("unreadable", &error);
    let detail = "The shop's database cannot be read at the moment.";
    Problem::new(503, "unreadable", "Not available", detail).into()
}
