//! One call of an endpoint, and its answer.
//!
//! Invariant: an answer is the gate's only if it is JSON that says what was asked for, or a problem with
//! a code. What a proxy says in between is no answer.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::error::{Error, Problem};

/// A call, until it is sent.
pub(crate) struct Call {
    request: RequestBuilder,
    /// What is being done, for errors.
    doing: String,
}

/// What the gate answered.
pub(crate) struct Answer {
    #[expect(
        dead_code,
        reason = "the endpoints that answer in header fields come next"
    )]
    pub(crate) headers: HeaderMap,
    body: Vec<u8>,
    doing: String,
}

impl Call {
    pub(crate) fn new(client: &Client, method: Method, segments: &[&str], doing: String) -> Self {
        let request = client.http().request(method, client.endpoint(segments));
        Self { request, doing }
    }

    #[expect(dead_code, reason = "the endpoints that take header fields come next")]
    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        let request = self.request.header(name, value);
        Self { request, ..self }
    }

    #[expect(dead_code, reason = "the endpoints that take bodies come next")]
    pub(crate) fn json(self, body: &impl Serialize) -> Self {
        let request = self.request.json(body);
        Self { request, ..self }
    }

    /// Sends it and waits for the answer at most `patience`.
    pub(crate) async fn send(self, patience: Duration) -> Result<Answer, Error> {
        let Self { request, doing } = self;
        let failed = |error| Error::no_answer(&doing, &error);
        let response = request.timeout(patience).send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(failed)?.to_vec();
        let answer = Answer {
            headers,
            body,
            doing,
        };
        match status.is_success() {
            true => Ok(answer),
            false => Err(answer.into_error(status)),
        }
    }
}

impl Answer {
    /// What the answer says.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::NoAnswer {
            doing: self.doing.clone(),
            reason: format!("what came is not what this gate says: {error}"),
        })
    }

    fn into_error(self, status: StatusCode) -> Error {
        let doing = self.doing;
        match serde_json::from_slice::<Problem>(&self.body) {
            Ok(problem) => Error::Refused { doing, problem },
            Err(_) => Error::NoAnswer {
                doing,
                reason: format!("somebody in between answered with {status}"),
            },
        }
    }
}
