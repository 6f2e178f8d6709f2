//! The way to the shards. Every call has a deadline, and whatever fails here says nothing about an
//! operation.

use std::time::Duration;

use futures_util::future::{Either, select};
use js_sys::{ArrayBuffer, Reflect};
use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::metrics::ShardCall;
use oncegate_core::policy::STORE_DEADLINE_MS;
use oncegate_core::problem::{Code, Problem};
use wasm_bindgen::prelude::*;
use worker::{
    Delay, Env, EnvBinding, Error, Headers, Method, ObjectNamespace, Request, Response, Result,
    Stub,
};

use crate::config::Config;
use crate::fields::Fields;
use crate::message::{self, ToShard};
use crate::{answer, log, sealing, tally, wire};

/// How often a shard that fails is asked: a claim is the same however often it is made.
const TRIES: u32 = 2;

/// A request to a shard, which can be made more than once.
pub(crate) struct ShardRequest {
    pub(crate) path_and_query: String,
    pub(crate) method: Method,
    pub(crate) headers: Headers,
    pub(crate) body: Option<ArrayBuffer>,
}

impl ShardRequest {
    /// A message alone.
    pub(crate) fn message(message: &ToShard) -> Result<Self> {
        Self::new(message, Fields::default())
    }

    /// A message, and header fields with it.
    pub(crate) fn new(message: &ToShard, mut fields: Fields) -> Result<Self> {
        message::attach(&mut fields, message)?;
        Ok(Self {
            path_and_query: "/".to_owned(),
            method: Method::Post,
            headers: fields.to_headers()?,
            body: None,
        })
    }

    pub(crate) fn build(&self) -> Result<Request> {
        wire::request(
            &format!("https://shard{}", self.path_and_query),
            self.method.clone(),
            self.headers.clone(),
            self.body.clone().map(Into::into),
        )
    }
}

/// Asks the shard of `operation`.
pub(crate) async fn ask(
    env: &Env,
    config: &Config,
    operation: &Identity,
    question: &ToShard,
) -> Result<Response> {
    call(env, config, operation, &ShardRequest::message(question)?).await
}

/// Calls the shard of `operation`, and answers for it if it does not.
pub(crate) async fn call(
    env: &Env,
    config: &Config,
    operation: &Identity,
    request: &ShardRequest,
) -> Result<Response> {
    for _ in 0..TRIES {
        // A stub is of no use after an error: each try has its own.
        let stub = stub(env, config, operation)?;
        let called = within(
            STORE_DEADLINE_MS,
            wire::call(stub.into_rpc(), &request.build()?),
        )
        .await;
        count(operation, &called, |response| !is_fault(response));
        match called {
            Some(Ok(response)) if !is_fault(&response) => {
                return sealing::opened(response, operation, config).await;
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
    answer::problem(&Problem::new(Code::GateUnavailable).retry_after(1_000))
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
    !response.headers().has(header::OPERATION).unwrap_or(false)
}

/// The object that holds `operation`.
pub(crate) fn stub(env: &Env, config: &Config, operation: &Identity) -> Result<Stub> {
    let name = format!("shard-{}", operation.shard());
    object(env, config, "SHARDS", &name)
}

/// An object, where the configuration wants it.
pub(crate) fn object(env: &Env, config: &Config, binding: &str, name: &str) -> Result<Stub> {
    let objects = match &config.jurisdiction {
        Some(jurisdiction) => within_jurisdiction(env, binding, jurisdiction)?,
        None => env.durable_object(binding)?,
    };
    match &config.location_hint {
        Some(hint) => objects.get_by_name_with_location_hint(name, hint),
        None => objects.get_by_name(name),
    }
}

#[wasm_bindgen]
extern "C" {
    /// What worker 0.8.7 does not say of its namespaces.
    type Namespace;

    #[wasm_bindgen(method, catch)]
    fn jurisdiction(this: &Namespace, name: &str) -> std::result::Result<JsValue, JsValue>;
}

/// The objects of a binding that stay within a jurisdiction.
pub(crate) fn within_jurisdiction(env: &Env, binding: &str, name: &str) -> Result<ObjectNamespace> {
    let namespace: Namespace = Reflect::get(env, &binding.into())?.unchecked_into();
    ObjectNamespace::get(namespace.jurisdiction(name)?)
}

/// Waits for `future` at most `limit_ms`.
pub(crate) async fn within<T>(limit_ms: u64, future: impl Future<Output = T>) -> Option<T> {
    let delay = Delay::from(Duration::from_millis(limit_ms));
    match select(Box::pin(future), delay).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}
