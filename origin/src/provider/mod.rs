//! A stand-in for a payment provider: a process of its own, with books of its own.
//!
//! **Invariant: under one key there is at most one charge, whatever happens to the answer.** A
//! charge is committed to the provider's file before anything else goes wrong on purpose, and a
//! repeated call hears what the first one came to. The atomicity comes from the primary key of
//! `charges`.
//!
//! It can be slow, lose answers and crash: faults are taken from a queue, one for each charge
//! that arrives. What calls it is [`client`].

pub mod client;
mod store;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::abort;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use oncegate_core::header::IDEMPOTENCY_KEY;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::store::{Books, Charge, Stored};
use crate::server::{HangUp, accept};

/// The card that this provider declines.
const DECLINED_CARD: &str = "4000000000000002";

/// What a provider needs to start.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a setting left out must be a compile error"
)]
pub struct Config {
    /// Where to listen. Port 0 takes any free one.
    pub listen: SocketAddr,
    /// Its books, a SQLite file, made if there is none.
    pub file: PathBuf,
}

/// What goes wrong with a charge. Durations are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Fault {
    /// Ends the process after the charge was committed, before the answer.
    Crash,
    /// Ends the process before anything was done.
    CrashBefore,
    /// Commits the charge and closes the connection without an answer.
    LoseAnswer,
    /// Nothing.
    None,
    /// Answers this much later than the charge.
    Slow(u64),
    /// Says 503 and does nothing.
    Unavailable,
}

/// What a caller asks for; the key is in the header.
#[derive(Clone, Debug, Deserialize)]
struct Asked {
    amount_cents: i64,
    currency: String,
    card: String,
}

#[derive(Clone)]
struct Shared {
    books: Books,
    faults: Arc<Mutex<VecDeque<Fault>>>,
}

/// A provider that listens.
#[derive(Debug)]
pub struct Provider {
    listener: TcpListener,
    router: Router,
}

impl Provider {
    /// Opens the books and starts to listen.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or the address cannot be listened on.
    pub async fn bind(config: &Config) -> io::Result<Self> {
        let books = Books::open(&config.file).await.map_err(|error| {
            let file = config.file.display();
            io::Error::other(format!("cannot open the provider's books {file}: {error}"))
        })?;
        let listener = TcpListener::bind(config.listen).await?;
        let router = router(Shared {
            books,
            faults: Arc::default(),
        });
        Ok(Self { listener, router })
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// The socket has no address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` resolves. What is open then is dropped, as in a crash: callers of a
    /// provider have to live with that.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        tokio::select! {
            () = accept(self.listener, self.router, &tasks, &stopping) => {}
            () = shutdown => {}
        }
    }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/charges", post(charge).get(list))
        .route("/charges/{key}", get(show))
        .route("/faults", get(list_faults).put(set_faults))
        .route("/health", get(async || Json(json!({ "status": "ok" }))))
        .with_state(shared)
}

async fn charge(
    State(shared): State<Shared>,
    Extension(hang_up): Extension<HangUp>,
    headers: HeaderMap,
    Json(asked): Json<Asked>,
) -> Response {
    let key = headers
        .get(IDEMPOTENCY_KEY)
        .and_then(|key| key.to_str().ok());
    let Some(key) = key else {
        return problem(StatusCode::BAD_REQUEST, "there is no Idempotency-Key");
    };
    let fault = shared.next_fault();
    match fault {
        Fault::CrashBefore => abort(),
        Fault::Unavailable => return problem(StatusCode::SERVICE_UNAVAILABLE, "not available"),
        _ => {}
    }
    let is_declined = asked.card == DECLINED_CARD;
    let wanted = Charge::new(key, asked.amount_cents, &asked.currency, is_declined);
    let stored = match shared.books.charge_once(&wanted).await {
        Ok(stored) => stored,
        Err(error) => return problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    };
    match fault {
        Fault::Crash => abort(),
        Fault::LoseAnswer => return hang_up.now().await,
        Fault::Slow(ms) => sleep(Duration::from_millis(ms)).await,
        _ => {}
    }
    match stored {
        Stored::Is(charge) => Json(charge).into_response(),
        Stored::OtherAmount => problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "the key belongs to a charge of another amount",
        ),
    }
}

async fn list(State(shared): State<Shared>) -> Response {
    found(shared.books.charges().await)
}

async fn show(State(shared): State<Shared>, Path(key): Path<String>) -> Response {
    match shared.books.find(&key).await {
        Ok(None) => problem(StatusCode::NOT_FOUND, "there is no charge under this key"),
        other => found(other),
    }
}

async fn list_faults(State(shared): State<Shared>) -> Json<VecDeque<Fault>> {
    Json(shared.with_faults(|faults| faults.clone()))
}

async fn set_faults(State(shared): State<Shared>, Json(new): Json<VecDeque<Fault>>) -> StatusCode {
    shared.with_faults(|faults| *faults = new);
    StatusCode::NO_CONTENT
}

fn found<T: Serialize>(result: Result<T, sqlx::Error>) -> Response {
    match result {
        Ok(value) => Json(value).into_response(),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn problem(status: StatusCode, detail: &str) -> Response {
    (status, Json(json!({ "detail": detail }))).into_response()
}

impl Shared {
    fn next_fault(&self) -> Fault {
        self.with_faults(|faults| faults.pop_front().unwrap_or(Fault::None))
    }

    fn with_faults<T>(&self, act: impl FnOnce(&mut VecDeque<Fault>) -> T) -> T {
        act(&mut self.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
