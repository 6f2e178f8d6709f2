//! A small blocking HTTP client for the tiers on this machine. Invariant: every call ends, and no proxy sees it.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    headers: ureq::http::HeaderMap,
    body: String,
}

impl Answer {
    /// A header's value, if it is there and text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// A client that waits at most that long for a whole answer.
pub(crate) fn client(timeout: Duration) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .max_redirects(0);
    config.timeout_global(Some(timeout)).build().into()
}

/// Reads a resource.
pub(crate) fn get(client: &Agent, url: &str) -> Result<Answer> {
    read(client.get(url).call(), url)
}

/// Puts a JSON value.
pub(crate) fn put(client: &Agent, url: &str, body: &Value) -> Result<Answer> {
    read(
        client
            .put(url)
            .header("content-type", "application/json")
            .send(body.to_string()),
        url,
    )
}

/// Posts a JSON text under an idempotency key.
pub(crate) fn post(client: &Agent, url: &str, key: &str, body: &str) -> Result<Answer> {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("idempotency-key", key);
    read(request.send(body), url)
}

fn read(response: Result<Response<ureq::Body>, ureq::Error>, url: &str) -> Result<Answer> {
    let mut response = response.with_context(|| format!("no answer from {url}"))?;
    let body = response
        .body_mut()
        .read_to_string()
        .with_context(|| format!("the answer from {url} broke off"))?;
    Ok(Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body,
    })
}
