//! The Durable Object of the Desk.

use std::panic::{RefUnwindSafe, UnwindSafe};

use worker::{
    DurableObject, Env, Request, Response, ResponseBuilder, Result, State, durable_object,
};

use super::message::ToDesk;
use super::store::Store;

/// The Durable Object.
#[durable_object]
pub struct Desk {
    state: State,
    /// Opened at the first call, so that an error is an answer and not a failed start.
    store: std::cell::OnceCell<Store>,
}

// Nothing in memory is load-bearing, and each message is written between two awaits.
impl UnwindSafe for Desk {}
impl RefUnwindSafe for Desk {}

impl DurableObject for Desk {
    fn new(state: State, _: Env) -> Self {
        Self {
            state,
            store: std::cell::OnceCell::new(),
        }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let message = serde_json::from_str(&request.text().await?)?;
        let store = self.store()?;
        match message {
            ToDesk::Trouble(report) => {
                store.report(&report)?;
                Ok(ResponseBuilder::new().empty())
            }
            ToDesk::List => ResponseBuilder::new().from_json(&store.list()?),
        }
    }
}

impl Desk {
    fn store(&self) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::open(&self.state.storage())?;
        Ok(self.store.get_or_init(|| store))
    }
}
