//! A shard decides and stores; it never calls an origin (architecture, decision 2).
//!
//! Atomicity: between reading a record and writing it back nothing is awaited, and the runtime holds
//! every message that leaves (the courier's call above all) until the write is durable (rule I2).
//! Nothing in memory is load-bearing: waiters and caches may be lost at any moment.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use futures_channel::oneshot;
use oncegate_core::identity::Identity;
use oncegate_core::operation::{Admission, Cancellation, Hearing, Operation, Settling, State};
use oncegate_core::outcome::Outcome;
use oncegate_core::problem::Code;
use oncegate_core::{header, proof};
use worker::{
    Date, DurableObject, Env, Error, Fetcher, Request, Response, ResponseBuilder, Result,
    durable_object,
};

use crate::answer::{Answer, Mark};
use crate::config::Config;
use crate::courier::SUPERSEDED;
use crate::errand;
use crate::headers;
use crate::message::{self, Cancel, Claim, Completed, Completion, Heard, Reply, Seen, ToShard};
use crate::shards::within;
use crate::store::Store;
use crate::waiters::{News, Waiters};

/// The Durable Object.
#[durable_object]
pub struct Shard(Rc<Inner>);

// A panic leaves cells and rows as they are between two statements: nothing in memory is load-bearing,
// and each row is written by one statement.
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
            ToShard::Cancel(cancel) => self.0.cancel(&cancel).await,
            ToShard::Hear(heard) => {
                let answer = received(&mut request, &heard.reply).await?;
                self.0.hear(&heard, answer)
            }
            ToShard::Look(look) => self.0.look(look.operation),
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
                // What can fail comes before the write: a row that says "dispatched" must be true.
                let (courier, config) = (self.courier()?, self.config()?);
                let call = errand::attempt(request, claim, attempt, record.terms(), &config)?;
                self.store(now_ms)?.write(&operation, record, None)?;
                let answer = self.dispatch(courier, call, claim, attempt);
                match within(claim.client_timeout_ms, answer).await {
                    Some(Ok(response)) => Ok(response),
                    _ => self.record_answer(claim, Asker::First),
                }
            }
            Admission::Wait { lease_ends_ms } => {
                let wait_ms = claim.wait_ms.min(lease_ends_ms.saturating_sub(now_ms));
                let mark = Mark::new(&claim.operation, record.terms());
                let news = self.waiters.join(operation, claim.fingerprint);
                match within(wait_ms, news).await {
                    Some(Ok(News::Answer(_, answer, status))) => mark.again(&answer, status),
                    _ => self.record_answer(claim, Asker::Waiter),
                }
            }
            Admission::Replay | Admission::Turn(_) => {
                self.answer(now_ms, claim, &operation, &record, admission, Asker::Waiter)
            }
        }
    }

    /// Starts the courier of an attempt. Its answer goes to the receiver, if somebody still waits and
    /// it is the one that counts.
    fn dispatch(
        self: &Rc<Self>,
        courier: Fetcher,
        call: Request,
        claim: &Claim,
        attempt: u32,
    ) -> oneshot::Receiver<Response> {
        let (sender, receiver) = oneshot::channel();
        let shard = Rc::clone(self);
        let lost = Completion {
            operation: claim.operation.clone(),
            attempt,
            reply: Reply::Lost,
        };
        self.state.wait_until(async move {
            match courier.fetch_request(call).await {
                Ok(response) if says_see_record(&response) => {}
                // Nobody may wait any more: the record has the answer.
                Ok(response) if is_marked(&response) => drop(sender.send(response)),
                answered => {
                    let fault = answered.map(|response| response.status_code());
                    worker::console_error!("{} attempt {attempt}: {fault:?}", lost.operation);
                    if let Err(error) = shard.complete(&lost, None) {
                        worker::console_error!("completion: {error}");
                    }
                }
            }
        });
        receiver
    }

    /// Makes a key dead, unless it is too late; says what became of it.
    async fn cancel(self: &Rc<Self>, cancel: &Cancel) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&cancel.operation)?;
        let record = self.store(now_ms)?.read(now_ms, &operation)?;
        let (record, cancellation) = Operation::cancel(record, now_ms, cancel.kind, cancel.terms);
        match cancellation {
            Cancellation::Decided => self.store(now_ms)?.write(&operation, record, None)?,
            Cancellation::Ask(inquiry) => {
                let config = self.config()?;
                let call = errand::cancel(cancel, inquiry, &config)?;
                self.ask_ledger(self.courier()?, call, cancel.client_timeout_ms)
                    .await;
            }
        }
        self.cancelled(cancel, &operation)
    }

    /// Sends a courier to the ledger and waits for it. Answered, lost or late: what counts is in the
    /// record.
    async fn ask_ledger(&self, courier: Fetcher, call: Request, limit_ms: u64) {
        let (sender, receiver) = oneshot::channel();
        self.state.wait_until(async move {
            if let Err(error) = courier.fetch_request(call).await {
                worker::console_error!("courier of a cancellation: {error}");
            }
            // Who has given up hears nothing.
            let _ = sender.send(());
        });
        within(limit_ms, receiver).await;
    }

    /// What is said to who wanted to cancel: the operation if it is closed, else that it is open.
    fn cancelled(&self, cancel: &Cancel, operation: &Identity) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let record = self.store(now_ms)?.read(now_ms, operation)?;
        let mark = Mark::new(&cancel.operation, &cancel.terms);
        let view = record.map(|record| record.view(now_ms));
        let code = match view.map(|view| view.state) {
            Some(State::Cancelled | State::Executed | State::Refused) => {
                return self.look(cancel.operation.clone());
            }
            Some(State::Dispatched) => Code::InProgress,
            Some(State::Released | State::Unknown) | None => Code::OutcomeUnknown,
        };
        match view {
            Some(view) => mark.problem(now_ms, code, &view),
            None => mark.problem_of_absent(code),
        }
    }

    /// Takes what a ledger said to a cancellation, and the answer that it gave with it.
    fn hear(&self, heard: &Heard, answer: Option<Answer>) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&heard.operation)?;
        let store = self.store(now_ms)?;
        let record = store.read(now_ms, &operation)?;
        let hearing = heard.hearing(answer.is_some());
        let closed = Operation::hear(record, now_ms, heard.kind, heard.terms, hearing);
        if let Some((record, keeps_answer)) = closed {
            let stored = answer.as_ref().filter(|_| keeps_answer);
            store.write(&operation, record, stored)?;
            self.waiters.tell(&operation, &News::Record);
        }
        Ok(ResponseBuilder::new().empty())
    }

    /// Settles an attempt, stores what it proves and tells those who wait.
    fn complete(&self, completion: &Completion, answer: Option<Answer>) -> Result<Completed> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&completion.operation)?;
        let store = self.store(now_ms)?;
        let record = store
            .read(now_ms, &operation)?
            .ok_or_else(|| Error::from("a completion without a record"))?;
        let settling = completion.settling(answer.is_some());
        let (record, settled) = record.settle(now_ms, settling);
        let (view, fingerprint) = (record.view(now_ms), record.fingerprint());
        if view.disputed {
            let reference = &completion.operation;
            worker::console_error!("{reference}: executed, although it was said not to be");
        }
        let stored = answer.as_ref().filter(|_| settled.store);
        store.write(&operation, record, stored)?;
        if view.state != State::Dispatched {
            let news = match (answer, fingerprint) {
                (Some(answer), Some(fingerprint)) if settled.share => {
                    News::Answer(fingerprint, Rc::new(answer), view.state.status())
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

    fn look(&self, reference: String) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&reference)?;
        let record = self.store(now_ms)?.read(now_ms, &operation)?;
        let record = record.filter(|record| !record.is_expired(now_ms));
        let seen = Seen::new(reference, record.map(|record| record.view(now_ms)));
        ResponseBuilder::new()
            .with_header(header::OPERATION, &seen.operation)?
            .with_header("cache-control", "no-store")?
            .from_json(&seen)
    }

    /// The record's answer for a request that has waited. It never starts an attempt (rule I4).
    fn record_answer(&self, claim: &Claim, asker: Asker) -> Result<Response> {
        let now_ms = Date::now().as_millis();
        let operation = identity(&claim.operation)?;
        let record = self
            .store(now_ms)?
            .read(now_ms, &operation)?
            .ok_or_else(|| Error::from("an operation without a record"))?;
        let (_, admission) = record.clone().admit(now_ms, claim.fingerprint);
        self.answer(now_ms, claim, &operation, &record, admission, asker)
    }

    fn answer(
        &self,
        now_ms: u64,
        claim: &Claim,
        operation: &Identity,
        record: &Operation,
        admission: Admission,
        asker: Asker,
    ) -> Result<Response> {
        let mark = Mark::new(&claim.operation, record.terms());
        let view = record.view(now_ms);
        let code = match admission {
            // What is on record may be another request's: of this one nothing is known.
            Admission::Dispatch(_) => {
                let unsent = view.of_unsent();
                return mark.problem(now_ms, Code::OutcomeUnknown, &unsent);
            }
            Admission::Replay => {
                let answer = self.store(now_ms)?.answer(operation)?;
                return mark.again(&answer, view.state.status());
            }
            Admission::Turn(turn) => Code::from(turn),
            Admission::Wait { .. } => Code::InProgress,
        };
        match (code, asker) {
            (Code::OutcomeUnknown, Asker::First) => mark.lost(now_ms, 502, &view),
            _ => mark.problem(now_ms, code, &view),
        }
    }

    fn courier(&self) -> Result<Fetcher> {
        self.env.service("COURIER")
    }

    fn config(&self) -> Result<Rc<Config>> {
        Config::load(&self.env).map_err(|error| Error::from(error.to_string()))
    }

    fn store(&self, now_ms: u64) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::open(&self.state.storage(), now_ms)?;
        Ok(self.store.get_or_init(|| store))
    }
}

/// Who is answered: the request whose attempt it is, or another one.
#[derive(Clone, Copy)]
enum Asker {
    First,
    Waiter,
}

impl Completion {
    fn settling(&self, storable: bool) -> Settling<'_> {
        let (reply, recorded) = match &self.reply {
            Reply::Answered {
                status,
                outcome,
                recorded,
                ..
            } => {
                let (status, outcome) = (*status, outcome.as_deref());
                (proof::Reply::Answered { status, outcome }, *recorded)
            }
            Reply::Lost => (proof::Reply::Lost, None),
        };
        Settling {
            attempt: self.attempt,
            reply,
            storable,
            recorded,
        }
    }
}

impl Heard {
    fn hearing(&self, storable: bool) -> Hearing {
        let (said, recorded) = match &self.reply {
            Reply::Answered {
                outcome, recorded, ..
            } => (outcome.as_deref(), *recorded),
            Reply::Lost => (None, None),
        };
        Hearing {
            asked_attempt: self.asked_attempt,
            said: said.and_then(Outcome::parse).unwrap_or(Outcome::Unknown),
            storable,
            recorded,
        }
    }
}

fn says_see_record(response: &Response) -> bool {
    response.headers().has(SUPERSEDED).unwrap_or(false)
}

/// A courier marks its answers with the operation; nobody else who may answer in its place does.
fn is_marked(response: &Response) -> bool {
    response.headers().has(header::OPERATION).unwrap_or(false)
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
