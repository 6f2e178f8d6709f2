//! The Durable Object of the Desk.

use std::cell::{OnceCell, RefCell};
use std::panic::{RefUnwindSafe, UnwindSafe};

use oncegate_core::metrics::{Exposition, Metrics};
use worker::{
    DurableObject, Env, Request, Response, ResponseBuilder, Result, State, durable_object,
};

use super::message::{Tallied, ToDesk};
use super::store::Store;

/// The name of the note with the counts.
const METRICS: &str = "metrics";

/// The Durable Object.
#[durable_object]
pub struct Desk {
    state: State,
    /// Opened at the first call, so that an error is an answer and not a failed start.
    store: OnceCell<Store>,
    /// What is noted, so that it need not be read for every tally.
    metrics: RefCell<Option<Metrics>>,
}

// Nothing in memory is load-bearing, and each message is written between two awaits.
impl UnwindSafe for Desk {}
impl RefUnwindSafe for Desk {}

impl DurableObject for Desk {
    fn new(state: State, _: Env) -> Self {
        Self {
            state,
            store: OnceCell::new(),
            metrics: RefCell::default(),
        }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let message = serde_json::from_str(&request.text().await?)?;
        let (store, answer) = (self.store()?, ResponseBuilder::new());
        match message {
            ToDesk::Trouble(report) => {
                store.report(&report)?;
                Ok(answer.empty())
            }
            ToDesk::List => answer.from_json(&store.list()?),
            ToDesk::Tally(tallied) => {
                self.add(tallied)?;
                Ok(answer.empty())
            }
            ToDesk::Metrics => answer.ok(self.page()?),
            ToDesk::Events { after } => answer.from_json(&store.events(after)?),
        }
    }
}

impl Desk {
    fn add(&self, tallied: Tallied) -> Result<()> {
        let mut metrics = self.metrics()?;
        metrics.merge(tallied.metrics);
        let store = self.store()?;
        store.set_note(METRICS, &metrics)?;
        store.add_events(&tallied.events)?;
        self.metrics.replace(Some(metrics));
        Ok(())
    }

    fn page(&self) -> Result<String> {
        let mut page = Exposition::default();
        self.metrics()?.write(&mut page);
        page.gauge(
            "oncegate_operations_in_trouble",
            "Operations that do not settle by themselves.",
        );
        for troubles in self.store()?.troubles()? {
            let labels = [
                ("route", troubles.route.as_str()),
                ("state", &troubles.state),
            ];
            page.sample(&labels, troubles.operations);
        }
        Ok(page.into_text())
    }

    /// The counts so far; taken out of memory, so that a failure in between leads back to the note.
    fn metrics(&self) -> Result<Metrics> {
        match self.metrics.take() {
            Some(metrics) => Ok(metrics),
            None => Ok(self.store()?.note(METRICS)?.unwrap_or_default()),
        }
    }

    fn store(&self) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::open(&self.state.storage())?;
        Ok(self.store.get_or_init(|| store))
    }
}
