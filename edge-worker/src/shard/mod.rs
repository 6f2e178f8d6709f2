//! A shard decides and stores; it never calls an origin (architecture, decision 2).
//!
//! Atomicity: between reading a record and writing it back nothing is awaited, and the runtime holds
//! every message that leaves (the courier's call above all) until the write is durable (rule I2).
//! Nothing in memory is load-bearing: waiters and caches may be lost at any moment.

mod admin;
mod alarm;
mod cancel;
mod claim;
mod complete;
mod dispatch;
mod limits;
mod look;
mod observe;
mod probe;
mod request;
mod row;
mod settle;

pub(crate) use self::request::Sendable;

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use worker::{
    DurableObject, Env, Error, Fetcher, Request, Response, ResponseBuilder, Result, durable_object,
};

use crate::answer::Answer;
use crate::config::Config;
use crate::fields::Fields;
use crate::message::{self, Reply, ToShard};
use crate::store::{self, Store};
use crate::waiters::Waiters;
use crate::{body, headers};

/// The Durable Object.
#[durable_object(alarm)]
pub struct Shard(Rc<Inner>);

// A panic leaves cells and rows as they are between two statements: nothing in memory is load-bearing,
// and each row is written by one statement.
impl UnwindSafe for Shard {}
impl RefUnwindSafe for Shard {}

struct Inner {
    state: worker::State,
    env: Env,
    waiters: Waiters,
    accounts: limits::Accounts,
    alarm: alarm::Alarm,
    noted: row::Noted,
    finishing: settle::Finishing,
    /// Opened at the first call, so that an error is an answer and not a failed start.
    store: std::cell::OnceCell<Store>,
}

impl DurableObject for Shard {
    fn new(state: worker::State, env: Env) -> Self {
        Self(Rc::new(Inner {
            state,
            env,
            waiters: Waiters::default(),
            accounts: limits::Accounts::default(),
            alarm: alarm::Alarm::default(),
            noted: row::Noted::default(),
            finishing: settle::Finishing::default(),
            store: std::cell::OnceCell::new(),
        }))
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        self.0.know_alarm().await?;
        match message::read(request.headers())? {
            ToShard::Claim(claim) => self.0.claim(&request, &claim).await,
            ToShard::Begin(head) => ResponseBuilder::new().from_json(&self.0.begin(&head)?),
            ToShard::Complete(completion) => {
                let answer = received(&request, &completion.reply).await?;
                let completed = self.0.complete(&completion, answer)?;
                ResponseBuilder::new().from_json(&completed)
            }
            ToShard::Cancel(cancel) => self.0.cancel(&cancel).await,
            ToShard::Hear(heard) => {
                let answer = received(&request, &heard.reply).await?;
                self.0.hear(&heard, answer)
            }
            ToShard::Observe(claim) => ResponseBuilder::new().from_json(&self.0.observe(&claim)?),
            ToShard::Observed(completion) => {
                ResponseBuilder::new().from_json(&self.0.observed(&completion)?)
            }
            ToShard::Inspect(inspect) => self.0.inspect(&inspect),
            ToShard::Resolve(resolve) => self.0.resolve(&resolve),
            ToShard::Erase(erase) => self.0.erase(&erase),
            ToShard::Probed(probed) => self.0.probed(&probed),
            ToShard::Look(look) => self.0.look(&look.operation, look.principal),
        }
    }

    async fn alarm(&self) -> Result<Response> {
        self.0.ring().await;
        Ok(ResponseBuilder::new().empty())
    }
}

impl Inner {
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
        let store = store::open(&self.state.storage(), now_ms)?;
        Ok(self.store.get_or_init(|| store))
    }
}

/// The answer that a completion carries, if it is to be stored.
async fn received(request: &Request, reply: &Reply) -> Result<Option<Answer>> {
    let Reply::Answered {
        status,
        storable: true,
        fields,
        ..
    } = reply
    else {
        return Ok(None);
    };
    let body = body::whole_message(request).await?;
    // A courier of version 0.1 does not name them.
    let received = Fields::of(request.headers())?;
    let kept = match fields.is_empty() {
        true => headers::for_replay(&received, &[]),
        false => headers::named(&received, fields.iter().map(String::as_str)),
    };
    Ok(Some(Answer {
        status: *status,
        headers: kept,
        body: (body.byte_length() > 0).then_some(body),
    }))
}
