//! A shard decides and stores; it never calls an origin (architecture, decision 2).
//!
//! Atomicity: between reading a record and writing it back nothing is awaited, and the runtime holds
//! every message that leaves (the courier's call above all) until the write is durable (rule I2).
//! Nothing in memory is load-bearing: waiters and caches may be lost at any moment.

mod admin;
mod alarm;
mod cancel;
mod claim;
mod claims;
mod complete;
mod dispatch;
mod limits;
mod look;
mod observe;
mod probe;
mod request;
mod row;
mod settle;
mod token;

pub(crate) use self::request::Sendable;

use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use worker::worker_sys::DurableObjectState;
use worker::{Env, Error, Result};

use crate::answer::Answer;
use crate::config::Config;
use crate::message::{self, Reply, ToShard};
use crate::platform::{self, Service};
use crate::store::{self, Store};
use crate::waiters::Waiters;
use crate::wire::{Response, Told};
use crate::{body, headers};

/// The Durable Object. Written out, because the attribute of the `worker` crate makes copies of the
/// platform's requests and answers.
#[wasm_bindgen]
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

#[wasm_bindgen(js_sys = js_sys, wasm_bindgen_futures = js_sys::futures)]
impl Shard {
    /// Called by the platform, as are the others.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(state: DurableObjectState, env: Env) -> Self {
        Self(Rc::new(Inner {
            state: state.into(),
            env,
            waiters: Waiters::default(),
            accounts: limits::Accounts::default(),
            alarm: alarm::Alarm::default(),
            noted: row::Noted::default(),
            finishing: settle::Finishing::default(),
            store: std::cell::OnceCell::new(),
        }))
    }

    /// Answers a message.
    ///
    /// # Errors
    /// If there is none, or the store fails: then nothing is said of the operation.
    pub async fn fetch(
        &self,
        request: web_sys::Request,
    ) -> std::result::Result<web_sys::Response, JsValue> {
        let answer = AssertUnwindSafe(self.0.answer(request)).await?;
        Ok(answer.into_inner())
    }

    /// Sees to what is due.
    pub async fn alarm(&self) {
        AssertUnwindSafe(self.0.ring()).await;
    }
}

impl Inner {
    async fn answer(self: &Rc<Self>, request: web_sys::Request) -> Result<Response> {
        self.know_alarm().await?;
        let told = Told::read(request)?;
        match message::understood(&told.message)? {
            ToShard::Claim(claim) => self.claim(told, &claim).await,
            ToShard::Claims => self.claims(&told.request).await,
            ToShard::Begin(head) => Response::json(&self.begin(&head)?),
            ToShard::Complete(completion) => {
                let answer = received(&told, &completion.reply).await?;
                Response::json(&self.complete(&completion, answer)?)
            }
            ToShard::Hear(heard) => {
                let answer = received(&told, &heard.reply).await?;
                Ok(self.hear(&heard, answer)?.into())
            }
            ToShard::Observe(claim) => Response::json(&self.observe(&claim)?),
            ToShard::Observed(completion) => Response::json(&self.observed(&completion)?),
            ToShard::Cancel(cancel) => Ok(self.cancel(&cancel).await?.into()),
            ToShard::Inspect(inspect) => Ok(self.inspect(&inspect)?.into()),
            ToShard::Resolve(resolve) => Ok(self.resolve(&resolve)?.into()),
            ToShard::Erase(erase) => Ok(self.erase(&erase)?.into()),
            ToShard::Probed(probed) => Ok(self.probed(&probed)?.into()),
            ToShard::Look(look) => Ok(self.look(&look.operation, look.principal)?.into()),
        }
    }
}

impl Inner {
    fn courier(&self) -> Result<Service> {
        Ok(platform::bound(&self.env, "COURIER")?)
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
async fn received(told: &Told, reply: &Reply) -> Result<Option<Answer>> {
    let Reply::Answered {
        status,
        storable: true,
        fields,
        ..
    } = reply
    else {
        return Ok(None);
    };
    let body = body::whole_message(&told.request).await?;
    let received = told.fields()?;
    // A courier of version 0.1 does not name them.
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
