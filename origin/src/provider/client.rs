//! The shop's side of a payment provider.
//!
//! **Invariant: only what the provider said is taken for what happened.** A call without an answer
//! is [`NoAnswer`], whatever its error was: the charge may have been made. Calling again under the
//! same key is always safe.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, StatusCode, Uri};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use oncegate_core::header::IDEMPOTENCY_KEY;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

/// The largest answer of a provider that is read.
const MAX_ANSWER: usize = 64 * 1024;

/// Where a provider is, and how long it is waited for.
#[derive(Clone, Debug)]
pub struct Client {
    charges: Uri,
    patience: Duration,
    pool: Pool<HttpConnector, Body>,
}

/// What is asked for. The card is on the wire only.
#[derive(Clone, Debug, Serialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a payment consists of these parts"
)]
pub struct Payment {
    /// How much.
    pub amount_cents: i64,
    /// Of what.
    pub currency: String,
    /// From where.
    pub card: String,
}

/// What the provider said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a provider charges or it does not")]
pub enum Paid {
    /// The money is there, under this number of the provider's.
    Charged(String),
    /// The bank said no.
    Declined,
}

/// The provider said nothing that settles the call.
#[derive(Debug)]
pub struct NoAnswer(String);

#[derive(Deserialize)]
struct Answer {
    id: String,
    outcome: String,
}

impl Client {
    /// A provider at `http://host:port`. `patience` is how long an answer is waited for.
    ///
    /// # Errors
    ///
    /// It is no such address.
    pub fn new(address: &str, patience: Duration) -> Result<Self, String> {
        let charges: Uri = format!("{}/charges", address.trim_end_matches('/'))
            .parse()
            .map_err(|error| format!("{address} is no address of a provider: {error}"))?;
        if charges.scheme_str() != Some("http") || charges.authority().is_none() {
            return Err(format!(
                "{address} is no address of a provider: it begins with http:// and a host"
            ));
        }
        let pool = Pool::builder(TokioExecutor::new()).build_http();
        Ok(Self {
            charges,
            patience,
            pool,
        })
    }

    /// How long an answer is waited for.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Asks for a payment, under a key that is the same whenever this payment is asked for.
    ///
    /// # Errors
    ///
    /// Nobody knows what happened: ask again under the same key.
    pub async fn charge(&self, key: &str, payment: &Payment) -> Result<Paid, NoAnswer> {
        let body = serde_json::to_vec(payment).map_err(no_answer)?;
        let request = Request::post(&self.charges)
            .header(CONTENT_TYPE, "application/json")
            .header(IDEMPOTENCY_KEY, key)
            .body(Body::from(body))
            .map_err(no_answer)?;
        let (status, body) = self.exchange(request).await?;
        read(status, &body)
    }

    /// Asks what became of a payment, without the card. `None`: the provider has never heard of it.
    ///
    /// # Errors
    ///
    /// The provider did not say.
    pub async fn find(&self, key: &str) -> Result<Option<Paid>, NoAnswer> {
        let request = Request::get(format!("{}/{key}", self.charges));
        let request = request.body(Body::empty()).map_err(no_answer)?;
        match self.exchange(request).await? {
            (StatusCode::NOT_FOUND, _) => Ok(None),
            (status, body) => read(status, &body).map(Some),
        }
    }

    async fn exchange(&self, request: Request<Body>) -> Result<(StatusCode, Bytes), NoAnswer> {
        let asking = async {
            let response = self.pool.request(request).await.map_err(no_answer)?;
            let status = response.status();
            let body = Body::new(response.into_body());
            let body = axum::body::to_bytes(body, MAX_ANSWER).await;
            Ok((status, body.map_err(no_answer)?))
        };
        timeout(self.patience, asking).await.map_err(no_answer)?
    }
}

fn read(status: StatusCode, body: &[u8]) -> Result<Paid, NoAnswer> {
    if status != StatusCode::OK {
        return Err(no_answer(format!("it answered {status}")));
    }
    let answer: Answer = serde_json::from_slice(body).map_err(no_answer)?;
    match answer.outcome.as_str() {
        "charged" => Ok(Paid::Charged(answer.id)),
        "declined" => Ok(Paid::Declined),
        other => Err(no_answer(format!("it answered with the outcome {other}"))),
    }
}

fn no_answer(cause: impl fmt::Display) -> NoAnswer {
    NoAnswer(cause.to_string())
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(cause) = self;
        write!(f, "no answer of the payment provider: {cause}")
    }
}

impl Error for NoAnswer {}
