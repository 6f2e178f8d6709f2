//! An axum service that becomes a ledger origin (rules L1, L2, L6 and L8).
//!
//! **Invariant: an answer says what became of the operation, or nothing that could be taken for it.**
//! The outcome that goes out is the ledger's own; a handler cannot write another one. Where a handler
//! was cut off in the middle, the answer has none.
//!
//! ```no_run
//! # use axum::{Json, Router, response::Response, routing::post};
//! # use oncegate_core::signature::Secrets;
//! # use oncegate_origin::gate::{Gate, Once};
//! # use oncegate_origin::ledger::{Answer, Effect, Ledger};
//! # use sqlx::{PgConnection, PgPool, Postgres};
//! async fn app(pool: PgPool, secrets: Secrets) -> Router {
//!     Gate::new(Ledger::new(pool), secrets).protect(Router::new().route("/payments", post(pay)))
//! }
//!
//! async fn pay(once: Once<Postgres>, Json(order): Json<String>) -> Response {
//!     once.run(async move |transaction: &mut PgConnection| {
//!         let insert = sqlx::query("INSERT INTO payments (order_no) VALUES ($1)");
//!         insert.bind(&order).execute(&mut *transaction).await?;
//!         Ok(Effect::Executed(Answer::json(201, &order)?))
//!     })
//!     .await
//! }
//! ```
//!
//! # Timeouts
//!
//! A timeout layer answers, often with 408, while the work goes on or after it was cut off. Outside
//! [`protect`](Gate::protect), its answer has no outcome and proves nothing, and the operation goes on to its
//! end, as it does when the caller leaves. Inside, the handler is dropped: its transaction rolls back,
//! unless the commit was under way already, so that answer has no outcome either.

mod once;
mod questions;
mod reply;
mod signed;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use oncegate_core::signature::Secrets;
use tokio_util::task::TaskTracker;

pub use self::once::Once;
pub(crate) use self::reply::Reply;
pub(crate) use self::signed::Signed;
use crate::ledger::{Failure, Ledger};
use crate::sql::Dialect;

/// The gate, as a service behind it sees it: who may call, and the ledger of what they called for.
#[derive(Debug)]
pub struct Gate<DB: Dialect> {
    ledger: Ledger<DB>,
    secrets: Arc<Secrets>,
    tasks: TaskTracker,
}

impl<DB: Dialect> Clone for Gate<DB> {
    fn clone(&self) -> Self {
        Self {
            ledger: self.ledger.clone(),
            secrets: Arc::clone(&self.secrets),
            tasks: self.tasks.clone(),
        }
    }
}

impl<DB: Dialect> Gate<DB> {
    /// A gate that signs with one of these secrets.
    pub fn new(ledger: Ledger<DB>, secrets: Secrets) -> Self {
        Self {
            ledger,
            secrets: Arc::new(secrets),
            tasks: TaskTracker::new(),
        }
    }

    /// Counts the operations that are under way here, for a service that waits for them when it ends.
    #[must_use]
    pub fn with_tasks(self, tasks: TaskTracker) -> Self {
        Self { tasks, ..self }
    }

    /// The operations that are under way. They go on when their callers leave.
    pub fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger<DB> {
        &self.ledger
    }

    /// Lets only the gate through to these routes, answers for operations that are known before a handler
    /// sees their requests, and puts the outcome on every answer. Handlers take a [`Once`]. Probe
    /// and cancel are added.
    pub fn protect<S>(&self, routes: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        routes
            .route_layer(from_fn_with_state(self.clone(), protected::<DB>))
            .merge(self.questions())
    }

    /// Checks the signature of a request (L1).
    pub(crate) fn verify(&self, parts: &Parts) -> Result<Signed, Reply> {
        Signed::verify(parts, &self.secrets)
    }
}

async fn protected<DB: Dialect>(
    State(gate): State<Gate<DB>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let call = match gate.verify(&parts).and_then(Signed::attempt) {
        Ok(call) => call,
        Err(reply) => return reply.into_response(),
    };
    match gate.ledger.look_up(&call).await {
        Ok(Some(verdict)) => return Reply::from(verdict).into_response(),
        Ok(None) => {}
        Err(failure) => return Reply::from(failure).into_response(),
    }
    let (once, said) = Once::new(gate.ledger, call);
    let mut request = Request::from_parts(parts, body);
    request.extensions_mut().insert(once);
    // As a task of its own: a caller that leaves does not stop the operation half-way.
    let response = match gate.tasks.spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) => Reply::from(Failure::Unknown(error.into())).into_response(),
    };
    said.put_on(response)
}
