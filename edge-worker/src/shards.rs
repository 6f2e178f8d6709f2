//! The way to the shards. Every call has a deadline, and whatever fails here says nothing about an
//! operation.

use std::time::Duration;

use futures_util::future::{Either, select};
use js_sys::{ArrayBuffer, Reflect};
use oncegate_core::identity::Identity;
use oncegate_core::metrics::ShardCall;
use oncegate_core::policy::STORE_DEADLINE_MS;
use oncegate_core::problem::{Code, Problem};
use wasm_bindgen::prelude::*;
use worker::{Delay, Env, Error, Result};

use crate::config::Config;
use crate::fields::Fields;
use crate::message::{self, ToShard};
use crate::platform::{self, Service};
use crate::wire::{self, Call, Response};
use crate::{answer, log, recent, tally};

/// How often a shard that fails is asked: a claim is the same however often it is made.
const TRIES: u32 = 2;

/// A request to a shard, which can be made more than once.
pub(crate) struct ShardRequest {
    pub(crate) path_and_query: String,
    pub(crate) method: String,
    pub(crate) header: Fields,
    pub(crate) body: Option<ArrayBuffer>,
}

impl ShardRequest {
    /// A message alone.
    pub(crate) fn message(message: &ToShard) -> Result<Self> {
        Self::new(message, &Fields::default())
    }

    /// A message, and header fields with it.
    pub(crate) fn new(message: &ToShard, fields: &Fields) -> Result<Self> {
        Ok(Self {
            path_and_query: "/".to_owned(),
            method: "POST".to_owned(),
            header: message::to_shard(message, fields)?,
            body: None,
        })
    }

    pub(crate) fn build(&self) -> Result<Call> {
        let url = format!("https://shard{}", self.path_and_query);
        let body = self.body.clone().map(Into::into);
        Call::new(url, &self.method, &self.header, body)
    }
}

/// Asks the shard of `operation`.
pub(crate) async fn ask(
    env: &Env,
    config: &Config,
    operation: &Identity,
    question: &ToShard,
) -> Result<worker::Response> {
    let request = ShardRequest::message(question)?;
    let answer = call(env, config, operation, &request).await?;
    // What is asked beside a claim may have changed what a claim hears.
    recent::forget(operation);
    Ok(answer.into())
}

/// Calls the shard of `operation`, and answers for it if it does not.
pub(crate) async fn call(
    env: &Env,
    config: &Config,
    operation: &Identity,
    request: &ShardRequest,
) -> Result<Response> {
    let request = request.build()?;
    for _ in 0..TRIES {
        // A stub is of no use after an error: each try has its own.
        let stub = stub(env, config, operation)?;
        let called = wire::call_within(STORE_DEADLINE_MS, &stub, &request).await;
        count(operation, &called, |response| !is_fault(response));
        match called {
            Some(Ok(response)) if !is_fault(&response) => {
                return Ok(response);
            }
            fault => {
                let line = log::error("shard_call").operation(&operation.reference());
                line.detail(why(&fault)).write();
                if fault.is_none() {
                    break;
                }
            }
        }
    }
    Ok(answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))?.into())
}

/// Why a call has brought no answer, for the log.
pub(crate) fn why(called: &Option<Result<Response>>) -> String {
    match called {
        Some(Ok(response)) => format!("status {}", response.status_code()),
        Some(Err(error)) => error.to_string(),
        None => format!("no answer within {STORE_DEADLINE_MS} ms"),
    }
}

/// Counts a call.
pub(crate) fn count(
    operation: &Identity,
    called: &Option<Result<Response>>,
    is_answer: impl Fn(&Response) -> bool,
) {
    let ended = match called {
        Some(Ok(response)) if is_answer(response) => ShardCall::Answered,
        Some(Err(Error::UnknownJsError { original, .. })) if is_overloaded(original) => {
            ShardCall::Overloaded
        }
        Some(_) => ShardCall::Failed,
        None => ShardCall::TimedOut,
    };
    tally::shard_called(operation.shard(), ended);
}

fn is_overloaded(error: &JsValue) -> bool {
    let overloaded = Reflect::get(error, &"overloaded".into());
    overloaded.is_ok_and(|overloaded| overloaded.is_truthy())
}

/// A shard marks each of its answers with the operation; a runtime's error page has no mark.
fn is_fault(response: &Response) -> bool {
    response.marks().operation.is_none()
}

/// The object that holds `operation`.
pub(crate) fn stub(env: &Env, config: &Config, operation: &Identity) -> Result<Service> {
    let name = format!("shard-{}", operation.shard());
    object(env, config, "SHARDS", &name)
}

/// An object, where the configuration wants it.
pub(crate) fn object(env: &Env, config: &Config, binding: &str, name: &str) -> Result<Service> {
    let (jurisdiction, hint) = (&config.jurisdiction, &config.location_hint);
    let object = platform::object(env, binding, name, jurisdiction.as_deref(), hint.as_deref());
    Ok(object?)
}

/// Asks the platform whether it knows a jurisdiction.
pub(crate) fn check_jurisdiction(env: &Env, name: &str) -> Result<()> {
    platform::object(env, "SHARDS", "shard-0", Some(name), None)?;
    Ok(())
}

/// Waits for `future` at most `limit_ms`.
pub(crate) async fn within<T>(limit_ms: u64, future: impl Future<Output = T>) -> Option<T> {
    let delay = Delay::from(Duration::from_millis(limit_ms));
    match select(Box::pin(future), delay).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}
