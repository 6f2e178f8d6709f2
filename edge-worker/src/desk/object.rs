//! The Durable Object of the Desk.

use std::cell::{Cell, OnceCell, RefCell};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use oncegate_core::metrics::{Exposition, Metrics};
use oncegate_core::switch::Switch;
use worker::{
    Date, DurableObject, Env, Error, Request, Response, ResponseBuilder, Result, State, Storage,
    durable_object,
};

use super::message::{Set, Tallied, ToDesk};
use super::store::Store;
use crate::config::Config;
use crate::log;
use crate::message::understood;

/// How long after a fault of its own the alarm comes again.
const AFTER_A_FAULT_MS: i64 = 60_000;

/// The names of notes.
const METRICS: &str = "metrics";
const SWITCH: &str = "switch";

/// The Durable Object.
#[durable_object(alarm)]
pub struct Desk {
    state: State,
    env: Env,
    /// Whether the alarm was set since this object has begun: alerts may have been configured since.
    armed: Cell<bool>,
    /// Opened at the first call, so that an error is an answer and not a failed start.
    store: OnceCell<Store>,
    /// What is noted, so that it need not be read for every tally.
    metrics: RefCell<Option<Metrics>>,
}

// Nothing in memory is load-bearing, and each message is written between two awaits.
impl UnwindSafe for Desk {}
impl RefUnwindSafe for Desk {}

impl DurableObject for Desk {
    fn new(state: State, env: Env) -> Self {
        Self {
            state,
            env,
            armed: Cell::new(false),
            store: OnceCell::new(),
            metrics: RefCell::default(),
        }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let message = understood(&request.text().await?)?;
        if matches!(message, ToDesk::Trouble(_)) || !self.armed.get() {
            let answer = self.answer(message)?;
            self.arm().await?;
            self.armed.set(true);
            return Ok(answer);
        }
        self.answer(message)
    }

    /// It throws only if not even the next time can be written down: the runtime would try again a few
    /// times and then give up.
    async fn alarm(&self) -> Result<Response> {
        if let Err(error) = self.alert().await {
            log::error("alert_fault").detail(error).write();
            self.storage().set_alarm(AFTER_A_FAULT_MS).await?;
        }
        Ok(ResponseBuilder::new().empty())
    }
}

impl Desk {
    fn answer(&self, message: ToDesk) -> Result<Response> {
        let (store, answer) = (self.store()?, ResponseBuilder::new());
        match message {
            ToDesk::Trouble(report) => {
                answer.from_json(&store.report(&report, Date::now().as_millis())?)
            }
            ToDesk::List => answer.from_json(&store.list()?),
            ToDesk::Switch => answer.from_json(&self.switch()?),
            ToDesk::SetSwitch(Set { route, position }) => {
                let mut switch = self.switch()?;
                switch.set(route, position);
                store.set_note(SWITCH, &switch)?;
                answer.from_json(&switch)
            }
            ToDesk::Tally(tallied) => {
                self.add(tallied)?;
                Ok(answer.empty())
            }
            ToDesk::Metrics => answer.ok(self.page()?),
            ToDesk::Events { after } => answer.from_json(&store.events(after)?),
        }
    }

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
        page.gauge(
            "oncegate_switch_set_timestamp_seconds",
            "When the switch was set, by route (empty for all) and mode.",
        );
        for (route, position) in self.switch()?.positions() {
            let labels = [
                ("route", route.unwrap_or_default()),
                ("mode", position.mode.as_str()),
            ];
            page.sample(&labels, position.since_ms / 1_000);
        }
        Ok(page.into_text())
    }

    fn switch(&self) -> Result<Switch> {
        Ok(self.store()?.note(SWITCH)?.unwrap_or_default())
    }

    /// The counts so far; taken out of memory, so that a failure in between leads back to the note.
    fn metrics(&self) -> Result<Metrics> {
        match self.metrics.take() {
            Some(metrics) => Ok(metrics),
            None => Ok(self.store()?.note(METRICS)?.unwrap_or_default()),
        }
    }

    pub(super) fn config(&self) -> Result<Rc<Config>> {
        Config::load(&self.env).map_err(|error| Error::from(error.to_string()))
    }

    pub(super) fn storage(&self) -> Storage {
        self.state.storage()
    }

    pub(super) fn store(&self) -> Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::open(&self.state.storage())?;
        Ok(self.store.get_or_init(|| store))
    }
}
