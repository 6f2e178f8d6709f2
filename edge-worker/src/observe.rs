//! Observing a route: its requests pass untouched and unprotected, and behind them the gate decides
//! what it would have done.
//!
//! Invariant: the request, its answer and the time it takes are those of a route that is not protected.
//! What would have been decided is recorded in objects of its own, under identities of their own, so
//! that a route which is enforced later begins without it.

use std::rc::Rc;

use futures_channel::oneshot;
use oncegate_core::fingerprint::Fingerprint;
use oncegate_core::header;
use oncegate_core::identity::Identity;
use oncegate_core::outcome::Outcome;
use oncegate_core::policy::{Route, STORE_DEADLINE_MS};
use worker::{Context, Date, Env, Error, Result};

use crate::arrived::Arrived;
use crate::config::Config;
use crate::desk::message::Event;
use crate::message::{Completion, Observed, Reply, ToShard};
use crate::protect::{self, Checked};
use crate::refusal::Refusal;
use crate::shards::{self, ShardRequest};
use crate::wire::{self, Incoming, Response};
use crate::{body, log, proxy, tally};

/// What came of the request.
struct Passed {
    status: u16,
    reply: Reply,
    at_ms: u64,
}

/// What would have been decided.
struct Decided {
    decision: String,
    state: Option<String>,
    operation: Option<Identity>,
    /// The attempt that would have been started.
    attempt: Option<u32>,
}

/// Passes a request on, and lets the gate look at a copy of it.
pub(crate) async fn pass(
    arrived: &Arrived,
    route: &Route,
    env: &Env,
    config: &Rc<Config>,
    context: &Context,
) -> Result<Response> {
    let began_ms = Date::now().as_millis();
    let (sender, passed) = oneshot::channel();
    if let Some(copy) = Arrived::read(Incoming::read(arrived.request.clone()?)?)? {
        let watcher = Watcher {
            copy,
            route: route.name.clone(),
            env: env.clone(),
            config: Rc::clone(config),
        };
        context.wait_until(async move {
            if let Err(error) = watcher.watch(began_ms, passed).await {
                let line = log::error("observe").with("route", &watcher.route);
                line.detail(error).write();
            }
            tally::tell_when_due(&watcher.env, &watcher.config).await;
        });
    }
    let body = arrived.request.body();
    let response = proxy::pass(arrived, body.map(Into::into), env, config).await?;
    // A watcher that has failed has said so.
    let _ = sender.send(Passed {
        status: response.status_code(),
        reply: reply(&response)?,
        at_ms: Date::now().as_millis(),
    });
    Ok(response)
}

/// What the answer says. Its body passes unread, so a rule about the body finds nothing in it.
fn reply(response: &Response) -> Result<Reply> {
    let fields = response.fields()?;
    // The gate's own problem: nothing came from the origin.
    if fields.get(header::DECISION).is_some() {
        return Ok(Reply::Lost);
    }
    let outcome = fields.get(header::IDEMPOTENCY_OUTCOME);
    let recorded = fields.get(header::FINGERPRINT);
    Ok(Reply::Answered {
        status: response.status_code(),
        outcome: outcome.map(|outcome| {
            let outcome = Outcome::parse(outcome).unwrap_or(Outcome::Unknown);
            outcome.as_str().to_owned()
        }),
        value: None,
        recorded: recorded.and_then(Fingerprint::parse),
        // No byte of it is stored; that it could be decides what duplicates would hear.
        storable: true,
        fields: Vec::new(),
    })
}

struct Watcher {
    copy: Arrived,
    route: String,
    env: Env,
    config: Rc<Config>,
}

impl Watcher {
    async fn watch(&self, began_ms: u64, passed: oneshot::Receiver<Passed>) -> Result<()> {
        let decided = self.decide().await;
        body::discard(&self.copy.request);
        let mut decided = decided?;
        let passed = passed.await.unwrap_or_else(|_| Passed {
            status: 0,
            reply: Reply::Lost,
            at_ms: Date::now().as_millis(),
        });
        let (status, at_ms) = (passed.status, passed.at_ms);
        if let (Some(operation), Some(attempt)) = (&decided.operation, decided.attempt) {
            let completion = Completion {
                operation: operation.reference(),
                attempt,
                reply: passed.reply,
            };
            let settled = self.tell(operation, &ToShard::Observed(completion)).await?;
            decided.state = settled.state;
        }
        tally::observed(Event {
            at_ms,
            route: self.route.clone(),
            mode: "observe".to_owned(),
            decision: decided.decision,
            state: decided.state,
            operation: decided.operation.map(|operation| operation.reference()),
            status,
            took_ms: at_ms.saturating_sub(began_ms),
        });
        Ok(())
    }

    async fn decide(&self) -> Result<Decided> {
        let config = &self.config;
        let route = config.policy.route(Some(&self.route));
        let route = route.ok_or_else(|| Error::from("a route that is gone"))?;
        let without_record = |decision: &str| Decided {
            decision: decision.to_owned(),
            state: None,
            operation: None,
            attempt: None,
        };
        let claiming = match protect::check(&self.copy, route, config).await {
            Ok(Checked::Claim(claiming)) => claiming,
            Ok(Checked::Unkeyed(_)) => return Ok(without_record("passed")),
            Err(Refusal::Problem(problem)) => return Ok(without_record(problem.code.as_str())),
            Err(Refusal::Fault(error)) => return Err(error),
        };
        let mut claim = claiming.claim(false, route, config).await;
        let secret = config.identity_secret.as_bytes();
        let operation = Identity::of_observed(secret, &claiming.asked.operation);
        claim.operation = operation.reference();
        let observed = self.tell(&operation, &ToShard::Observe(claim)).await?;
        Ok(Decided {
            decision: observed.decision,
            state: observed.state,
            operation: Some(operation),
            attempt: observed.attempt,
        })
    }

    async fn tell(&self, operation: &Identity, message: &ToShard) -> Result<Observed> {
        let name = format!("observed-{}", operation.shard());
        let stub = shards::object(&self.env, &self.config, "SHARDS", &name)?;
        let request = ShardRequest::message(message)?.build()?;
        let called = wire::call_within(STORE_DEADLINE_MS, &stub, &request).await;
        match called {
            Some(Ok(response)) if response.status_code() == 200 => {
                let observed: Observed = response.read().await?;
                tally::rows_written(observed.rows_written);
                Ok(observed)
            }
            Some(Ok(response)) => Err(Error::from(format!("status {}", response.status_code()))),
            Some(Err(error)) => Err(error),
            None => Err(Error::from("the shard did not answer in time")),
        }
    }
}
