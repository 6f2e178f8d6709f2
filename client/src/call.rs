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
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    doing: String,
}

impl Call {
    pub(crate) fn new(client: &Client, method: Method, segments: &[&str], doing: String) -> Self {
        let request = client.http().request(method, client.endpoint(segments));
        Self { request, doing }
    }

    /// A question, with what it asks for in the query.
    pub(crate) fn asking(
        client: &Client,
        segments: &[&str],
        query: &[(&str, &str)],
        doing: String,
    ) -> Self {
        let mut url = client.endpoint(segments);
        url.query_pairs_mut().extend_pairs(query);
        let request = client.http().get(url);
        Self { request, doing }
    }

    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        let request = self.request.header(name, value);
        Self { request, ..self }
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Self {
        let request = self.request.json(body);
        Self { request, ..self }
    }

    /// Sends it and waits for the answer at most `patience`.
    pub(crate) async fn send(self, patience: Duration) -> Result<Answer, Error> {
        let answer = self.answer(patience).await?;
        match answer.status.is_success() {
            true => Ok(answer),
            false => Err(answer.into_error()),
        }
    }

    /// The same; a no comes with the value of a header field of it.
    pub(crate) async fn send_with_header(
        self,
        patience: Duration,
        name: &str,
    ) -> Result<Answer, (Error, Option<String>)> {
        let answer = self.answer(patience).await.map_err(|error| (error, None))?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let value = answer
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok());
        let value = value.map(str::to_owned);
        Err((answer.into_error(), value))
    }

    async fn answer(self, patience: Duration) -> Result<Answer, Error> {
        let Self { request, doing } = self;
        let failed = |error| Error::no_answer(&doing, &error);
        let response = request.timeout(patience).send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(failed)?.to_vec();
        Ok(Answer {
            status,
            headers,
            body,
            doing,
        })
    }

    /// Sends it behind the caller's back, if there is a runtime for it. What becomes of it nobody hears.
    pub(crate) fn send_behind(self, patience: Duration) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(self.send(patience)));
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

    fn into_error(self) -> Error {
        let (doing, status) = (self.doing, self.status);
        match serde_json::from_slice::<Problem>(&self.body) {
            Ok(problem) => Error::Refused { doing, problem },
            Err(_) => Error::NoAnswer {
                doing,
                reason: format!("somebody in between answered with {status}"),
            },
        }
    }
}
