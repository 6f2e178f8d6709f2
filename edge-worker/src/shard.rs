//! A shard decides and stores; it never calls an origin (architecture, decision 2).
//!
//! Atomicity: between reading a record and writing it back nothing is awaited, and the runtime holds
//! every message that leaves (the courier's call above all) until the write is durable (rule I2).
//! Nothing in memory is load-bearing: waiters and caches may be lost at any moment.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use futures_channel::oneshot;
use oncegate_core::identity::Identity;
use oncegate_core::operation::{Admission, Operation, Settling, State, View};
use oncegate_core::problem::Code;
use oncegate_core::{header, proof};
use worker::{
    Date, DurableObject, Env, Error, Request, RequestInit, Response, ResponseBuilder, Result,
    durable_object,
};

use crate::answer::{Answer, Mark};
use crate::config::Config;
use crate::courier::SUPERSEDED;
use crate::gate::{path_and_query, within};
use crate::headers;
use crate::message::{self, Claim, Completed, Completion, Dispatch, Look, Reply, Seen, ToShard};
use crate::store::Store;
use crate::waiters::{News, Waiters};

/// Below the gate's own prefix, so that it reaches the Worker whatever the assets are.
const COURIER_URL: &str = "https://courier/.oncegate/courier";

/// The Durable Object.
#[durable_object]
pub struct Shard(Rc<Inner>);

// A panic in one call leaves cells and tables as they are between two statements: nothing in memory
// is load-bearing, and the runtime rolls back what was not yet durable.
impl UnwindSafe for Shard {}
impl RefUnwindSafe for Shard {}

struct Inner {
    state: worker::State,
    env: Env,
    waiters: Waiters,
    /// Opened at the first call, so that an error is an answer and not a failed start.
    store: std::cell::OnceCell<Store>,
}

impl DurableObject for Shard {
    fn new(state: worker::State, env: Env) -> Self {
        Self(Rc::new(Inner {
            state,
            env,
            waiters: Waiters::default(),
            store: std::cell::OnceCell::new(),
        }))
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        match message::read(request.headers())? {
            ToShard::Claim(claim) => self.0.claim(&request, &claim).await,
            ToShard::Complete(completion) => {
                let answer = received(&mut request, &completion.reply).await?;
                let completed = self.0.complete(&completion, answer)?;
                ResponseBuilder::new().from_json(&completed)
            }
            ToShard::Look(look) => self.0.look(look),
        }
    }
}

impl Inner {
    async fn claim(self: &Rc<Self>, request: &Request, claim: &Claim) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&claim.operation)?;
        let record = self.store(now_ms)?.read(now_ms, &operation)?;
        let (record, admission) =
            Operation::arrive(record, now_ms, claim.kind, claim.terms, claim.fingerprint);
        match admission {
            Admission::Dispatch(attempt) => {
                self.store(now_ms)?.write(&operation, record, None)?;
                let answer = self.dispatch(request, claim, attempt)?;
                match within(claim.client_timeout_ms, answer).await {
                    Some(Ok(response)) if !response.headers().has(SUPERSEDED)? => Ok(response),
                    _ => self.record_answer(claim),
                }
            }
            Admission::Wait { lease_ends_ms } => {
                let wait_ms = claim.wait_ms.min(lease_ends_ms.saturating_sub(now_ms));
                let news = self.waiters.join(operation);
                match within(wait_ms, news).await {
                    Some(Ok(News::Answer(answer, status))) => mark(claim).again(&answer, status),
                    _ => self.record_answer(claim),
                }
            }
            Admission::Replay | Admission::Turn(_) => {
                self.answer(now_ms, claim, &operation, &record, admission)
            }
        }
    }

    /// Starts the courier. It lives on when this request is gone; its answer goes to `Receiver` if
    /// somebody still waits for it.
    fn dispatch(
        self: &Rc<Self>,
        request: &Request,
        claim: &Claim,
        attempt: u32,
    ) -> Result<oneshot::Receiver<Response>> {
        let courier = self.env.service("COURIER")?;
        let config = Config::load(&self.env).map_err(|error| Error::from(error.to_string()))?;
        let call = courier_request(request, claim, attempt, &config)?;
        let (sender, receiver) = oneshot::channel();
        let shard = Rc::clone(self);
        let operation = claim.operation.clone();
        self.state.wait_until(async move {
            match courier.fetch_request(call).await {
                // Nobody waits any more: the record has the answer.
                Ok(response) => drop(sender.send(response)),
                Err(error) => {
                    worker::console_error!("courier of {operation} attempt {attempt}: {error}");
                    let lost = Completion {
                        operation,
                        attempt,
                        reply: Reply::Lost,
                    };
                    if let Err(error) = shard.complete(&lost, None) {
                        worker::console_error!("completion: {error}");
                    }
                }
            }
        });
        Ok(receiver)
    }

    /// Settles an attempt, stores what it proves and tells those who wait.
    fn complete(&self, completion: &Completion, answer: Option<Answer>) -> Result<Completed> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&completion.operation)?;
        let store = self.store(now_ms)?;
        let record = store
            .read(now_ms, &operation)?
            .ok_or_else(|| Error::from("a completion without a record"))?;
        let settling = Settling {
            attempt: completion.attempt,
            reply: completion.reply.as_core(),
            storable: answer.is_some(),
        };
        let (record, settled) = record.settle(now_ms, settling);
        let view = record.view(now_ms);
        let stored = answer.as_ref().filter(|_| settled.store);
        store.write(&operation, record, stored)?;
        if view.state != State::Dispatched {
            let news = match answer {
                Some(answer) if !settled.superseded => {
                    News::Answer(Rc::new(answer), view.state.status())
                }
                _ => News::Record,
            };
            self.waiters.tell(&operation, &news);
        }
        Ok(Completed {
            view,
            superseded: settled.superseded,
        })
    }

    fn look(&self, look: Look) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&look.operation)?;
        let record = self.store(now_ms)?.read(now_ms, &operation)?;
        let record = record.filter(|record| !record.is_expired(now_ms));
        let seen = seen(look.operation, record.map(|record| record.view(now_ms)));
        ResponseBuilder::new()
            .with_header(header::OPERATION, &seen.operation)?
            .with_header("cache-control", "no-store")?
            .from_json(&seen)
    }

    /// The record's answer for a request that has waited. It never starts an attempt (rule I4).
    fn record_answer(&self, claim: &Claim) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&claim.operation)?;
        let record = self
            .store(now_ms)?
            .read(now_ms, &operation)?
            .ok_or_else(|| Error::from("an operation without a record"))?;
        let (_, admission) = record.clone().admit(now_ms, claim.fingerprint);
        self.answer(now_ms, claim, &operation, &record, admission)
    }

    fn answer(
        &self,
        now_ms: u64,
        claim: &Claim,
        operation: &Identity,
        record: &Operation,
        admission: Admission,
    ) -> Result<Response> {
        let view = record.view(now_ms);
        match admission {
            Admission::Dispatch(_) => mark(claim).problem(now_ms, Code::OutcomeUnknown, &view),
            Admission::Replay => {
                let answer = self.store(now_ms)?.answer(operation)?;
                mark(claim).again(&answer, view.state.status())
            }
            Admission::Turn(turn) => mark(claim).problem(now_ms, turn.into(), &view),
            Admission::Wait { .. } => mark(claim).problem(now_ms, Code::InProgress, &view),
        }
    }

    fn store(&self, now_ms: u64) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::open(self.state.storage().sql(), now_ms)?;
        Ok(self.store.get_or_init(|| store))
    }
}

impl Reply {
    fn as_core(&self) -> proof::Reply<'_> {
        match self {
            Self::Answered {
                status, outcome, ..
            } => proof::Reply::Answered {
                status: *status,
                outcome: outcome.as_deref(),
            },
            Self::Lost => proof::Reply::Lost,
        }
    }
}

fn mark(claim: &Claim) -> Mark<'_> {
    Mark {
        operation: &claim.operation,
        key_ttl_ms: claim.terms.key_ttl_ms,
    }
}

fn identity(reference: &str) -> Result<Identity> {
    Identity::parse(reference).ok_or_else(|| Error::from("a message without an operation"))
}

/// The answer that a completion carries, if it is to be stored.
async fn received(request: &mut Request, reply: &Reply) -> Result<Option<Answer>> {
    let Reply::Answered {
        status,
        storable: true,
        ..
    } = *reply
    else {
        return Ok(None);
    };
    let body = request.bytes().await?;
    Ok(Some(Answer {
        status,
        headers: headers::for_replay(request.headers())?,
        body,
    }))
}

/// The request for the origin, on its way to a courier: the body's stream is passed on unread.
fn courier_request(
    request: &Request,
    claim: &Claim,
    attempt: u32,
    config: &Config,
) -> Result<Request> {
    let headers = request.headers().clone();
    let url = request.inner().url();
    message::attach_sealed(
        &headers,
        &Dispatch {
            operation: claim.operation.clone(),
            key: claim.key.clone(),
            kind: claim.kind,
            fingerprint: claim.fingerprint,
            attempt,
            key_ttl_ms: claim.terms.key_ttl_ms,
            path_and_query: path_and_query(&url).to_owned(),
        },
        config,
    )?;
    let mut init = RequestInit::new();
    init.with_method(request.method())
        .with_headers(headers)
        .with_body(request.inner().body().map(Into::into));
    Request::new_with_init(COURIER_URL, &init)
}

fn seen(operation: String, view: Option<View>) -> Seen {
    match view {
        Some(view) => Seen {
            operation,
            state: view.state.as_str().to_owned(),
            executed: view.executed,
            safe_new_key: view.safe_new_key,
            attempts: view.attempts,
            unsettled: view.unsettled,
        },
        // Never seen is not "did not happen": a delayed copy may still arrive (rule I8).
        None => Seen {
            operation,
            state: "absent".to_owned(),
            executed: None,
            safe_new_key: false,
            attempts: 0,
            unsettled: 0,
        },
    }
}
