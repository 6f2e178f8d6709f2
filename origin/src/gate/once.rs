//! What a handler does its work with, and what the answer says of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use oncegate_core::outcome::Outcome;

use super::Reply;
use super::reply::{FINGERPRINT, OUTCOME};
use crate::ledger::outside::{BoxError, ProviderKey};
use crate::ledger::{Answer, Call, Effect, Failure, Ledger, Verdict};
use crate::problem::Problem;
use crate::sql::Dialect;

/// The right to run one operation, once. A handler behind [`protect`](super::Gate::protect) takes it as an
/// argument; the answer that it gives is the one to return.
#[derive(Debug)]
pub struct Once<DB: Dialect> {
    ledger: Ledger<DB>,
    call: Call,
    said: Said,
}

impl<DB: Dialect> Clone for Once<DB> {
    fn clone(&self) -> Self {
        Self {
            ledger: self.ledger.clone(),
            call: self.call.clone(),
            said: self.said.clone(),
        }
    }
}

impl<DB: Dialect> Once<DB> {
    pub(super) fn new(ledger: Ledger<DB>, call: Call) -> (Self, Said) {
        let said = Said::default();
        let once = Self {
            ledger,
            call,
            said: said.clone(),
        };
        (once, said)
    }

    /// The operation: its key, what is asked for, who made the key.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// Runs the effect in one transaction with the key's row: [`Ledger::once`].
    pub async fn run<F>(self, effect: F) -> Response
    where
        F: AsyncFn(&mut DB::Connection) -> Result<Effect, Failure>,
    {
        self.said.begin();
        let ended = self.ledger.once(&self.call, effect).await;
        self.answer(ended)
    }

    /// Runs an effect outside the database and records it: [`Ledger::outside`].
    pub async fn outside<T, P, F>(self, memo: &[u8], provider: P, record: F) -> Response
    where
        P: AsyncFn(ProviderKey) -> Result<T, BoxError>,
        F: AsyncFn(&mut DB::Connection, &T) -> Result<Effect, Failure>,
    {
        self.said.begin();
        let ended = self.ledger.outside(&self.call, memo, provider, record);
        let ended = ended.await;
        self.answer(ended)
    }

    /// Stores a refusal without having tried anything, such as of a body that makes no sense: a late copy
    /// of the request finds it.
    pub async fn refuse(self, answer: Answer) -> Response {
        self.said.begin();
        let ended = self.ledger.refuse(&self.call, answer).await;
        self.answer(ended)
    }

    fn answer(&self, ended: Result<Verdict, Failure>) -> Response {
        let response = match ended {
            Ok(verdict) => Reply::from(verdict).into_response(),
            Err(failure) => Reply::from(failure).into_response(),
        };
        self.said.end(response.headers());
        response
    }
}

impl<DB: Dialect, S: Sync> FromRequestParts<S> for Once<DB> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        parts.extensions.get().cloned().ok_or_else(|| {
            let detail = "The route of this request is not protected by the gate, or by that of another database.";
            let problem = Problem::new(500, "not_protected", "The service is not set up", detail);
            Reply::from(problem).into_response()
        })
    }
}

/// What the ledger said of an attempt.
#[derive(Clone, Default)]
pub(super) struct Said(Arc<Mutex<Progress>>);

#[derive(Default)]
enum Progress {
    /// The handler has not come to its effect.
    #[default]
    Nothing,
    /// It is at it, or was cut off.
    Begun,
    Ended(HeaderMap),
}

impl Said {
    fn begin(&self) {
        self.set(Progress::Begun);
    }

    fn end(&self, headers: &HeaderMap) {
        let said = [OUTCOME, FINGERPRINT]
            .into_iter()
            .filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
        self.set(Progress::Ended(said.collect()));
    }

    fn set(&self, progress: Progress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    /// The handler's answer, with the ledger's word and no other.
    pub(super) fn put_on(self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        headers.remove(OUTCOME);
        headers.remove(FINGERPRINT);
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Progress::Nothing => {
                let nothing = HeaderValue::from_static(Outcome::NotExecuted.as_str());
                headers.insert(OUTCOME, nothing);
            }
            Progress::Begun => {}
            Progress::Ended(said) => headers.extend(said.clone()),
        }
        response
    }
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Said")
    }
}
