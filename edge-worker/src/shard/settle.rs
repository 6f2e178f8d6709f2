//! Settling by alarm (rules A6, A7), and telling the Desk what is in trouble.
//!
//! Invariant: when an operation is due again is written before anything is sent for it, so that an
//! object that dies half-way does not begin anew at once. A run never fails: what goes wrong with one
//! operation is logged and keeps none of the others.

use std::cell::Cell;
use std::rc::Rc;

use oncegate_core::identity::Identity;
use oncegate_core::operation::{Operation, Step, Trouble};
use oncegate_store::{Attention, Written};
use worker::{Date, Error, Result};

use super::Inner;
use super::dispatch::Attempt;
use super::request::Sendable;
use super::row::{Found, Row};
use crate::config::NO_ORIGIN;
use crate::desk::message::{Heard, Report, ToDesk, Troubled};
use crate::errand;
use crate::log;
use crate::sealing;

/// How many operations one run sees to.
const MOST_AT_ONCE: u64 = 40;

/// The pause before the first try, doubled with each one up to the last.
const FIRST_PAUSE_MS: u64 = 5_000;
const LAST_PAUSE_MS: u64 = 60 * 60 * 1_000;

/// When the Desk is told again what it has not heard.
const TELL_AGAIN_MS: u64 = 30_000;

/// When an operation that nothing can be done about is looked at again: it may have become one that
/// only a person can settle.
const LOOK_AGAIN_MS: u64 = 6 * 60 * 60 * 1_000;

/// After a run that failed.
const AFTER_FAULT_MS: u64 = 60_000;

/// How many operations one run looks at when it searches for open ones, and when it goes on.
const MOST_LOOKED_AT: u64 = 10_000;
const SEARCH_ON_MS: u64 = 1_000;

/// Never, for a number that JavaScript keeps exactly.
const NEVER_MS: u64 = (1 << 53) - 1;

/// What an instance knows of attempts that it must see to if they are lost.
#[derive(Default)]
pub(super) struct Finishing {
    search: Cell<Search>,
    under_way: Cell<u32>,
    /// When the lease of the latest one ends.
    until_ms: Cell<u64>,
    /// When the Desk was told last: reports are in order, whatever the clock does.
    reported_ms: Cell<u64>,
}

/// How far those of earlier instances were searched for.
#[derive(Clone, Copy)]
enum Search {
    After(Option<Identity>),
    Done,
}

impl Default for Search {
    fn default() -> Self {
        Self::After(None)
    }
}

/// What the Desk is to hear of an operation.
struct News {
    operation: Identity,
    route: String,
    trouble: Option<Trouble>,
    due_ms: u64,
}

impl Inner {
    /// One run of the alarm.
    pub(super) async fn ring(self: &Rc<Self>) {
        let now_ms = Date::now().as_millis();
        self.alarm.rings();
        match self.see_to_due(now_ms) {
            Ok(news) if news.is_empty() => {}
            Ok(news) => {
                if let Err(error) = self.tell_desk(now_ms, &news).await {
                    log::warn("desk_not_told").detail(error).write();
                }
            }
            Err(error) => {
                log::error("alarm_failed").detail(error).write();
                if let Err(error) = self.wake_at(now_ms, now_ms + AFTER_FAULT_MS) {
                    log::error("alarm_not_set").detail(error).write();
                }
            }
        }
    }

    /// An attempt of an operation that the gate has to finish is under way.
    pub(super) fn finishes(&self, now_ms: u64, lease_ends_ms: u64) -> Result<()> {
        let finishing = &self.finishing;
        finishing.under_way.set(finishing.under_way.get() + 1);
        finishing
            .until_ms
            .set(finishing.until_ms.get().max(lease_ends_ms));
        self.wake_at(now_ms, lease_ends_ms)
    }

    /// It has ended, or its lease has, and the list has it.
    pub(super) fn finished(&self) {
        let under_way = self.finishing.under_way.get();
        self.finishing.under_way.set(under_way.saturating_sub(1));
    }

    /// Everything up to the first await: writes and what leaves after them.
    fn see_to_due(self: &Rc<Self>, now_ms: u64) -> Result<Vec<News>> {
        if let Err(error) = self.search(now_ms) {
            log::error("open_operations_not_searched")
                .detail(error)
                .write();
        }
        let store = self.store(now_ms)?;
        let mut news = Vec::new();
        for attention in store.due(now_ms, MOST_AT_ONCE)? {
            match self.see_to(now_ms, attention) {
                Ok(told) => news.extend(told),
                Err(error) => {
                    let reference = attention.operation.reference();
                    log::error("not_seen_to")
                        .operation(&reference)
                        .detail(error)
                        .write();
                    store.postpone(Attention {
                        due_ms: now_ms + LAST_PAUSE_MS,
                        ..attention
                    })?;
                }
            }
        }
        self.wake_again(now_ms)?;
        Ok(news)
    }

    /// Finds what earlier instances have left open, once, and so many operations in a run. Whoever died
    /// with an attempt under way could put nothing on the list.
    fn search(&self, now_ms: u64) -> Result<()> {
        let Search::After(after) = self.finishing.search.get() else {
            return Ok(());
        };
        let store = self.store(now_ms)?;
        let found = store.open_after(after.as_ref(), MOST_LOOKED_AT)?;
        for operation in &found.open {
            store.note(operation, now_ms)?;
        }
        let Some(last) = found.last else {
            self.finishing.search.set(Search::Done);
            return Ok(());
        };
        self.finishing.search.set(Search::After(Some(last)));
        self.wake_at(now_ms, now_ms + SEARCH_ON_MS)
    }

    /// Sees to one operation, and says what the Desk has to hear.
    fn see_to(self: &Rc<Self>, now_ms: u64, attention: Attention) -> Result<Option<News>> {
        let operation = attention.operation;
        let store = self.store(now_ms)?;
        let Found { row, record, .. } = self.found(now_ms, operation)?;
        let record = record.filter(|record| !record.is_expired(now_ms));
        let trouble = record.as_ref().and_then(|record| record.trouble(now_ms));
        let step = record
            .as_ref()
            .map_or(Step::Rest, |record| record.next_step(now_ms));
        let untold = attention.told != trouble.map(|trouble| trouble.state);
        if trouble.is_none() && step == Step::Rest && !untold {
            self.noted.forget(&operation);
            store.rest(&operation, attention.due_ms)?;
            return Ok(None);
        }
        let acts = matches!(step, Step::Redispatch | Step::Ask(_)) && attention.settle_ms <= now_ms;
        // As long as a courier may listen, an operation that nothing else settles is not held yet.
        let listens_until_ms = record.as_ref().map_or(0, Operation::courier_ends_ms);
        let step = match step {
            Step::Hold if listens_until_ms > now_ms => Step::At(listens_until_ms),
            step => step,
        };
        let next = next(now_ms, attention, step, acts, untold);
        store.postpone(next)?;
        let route = record
            .as_ref()
            .map_or_else(String::new, |record| record.terms().route.clone());
        // What cannot be done is no reason not to tell of it.
        if let Some(record) = record.filter(|_| acts)
            && let Err(error) = self.act(now_ms, row, record, step)
        {
            log::error("not_settled")
                .operation(&operation.reference())
                .detail(error)
                .write();
        }
        Ok(untold.then_some(News {
            operation,
            route,
            trouble,
            due_ms: next.due_ms,
        }))
    }

    /// Sends the stored request again, or asks what became of it.
    fn act(self: &Rc<Self>, now_ms: u64, row: Row, record: Operation, step: Step) -> Result<()> {
        let (config, operation) = (self.config()?, &row.operation);
        if config.origin_of(record.terms()).is_none() {
            return Err(Error::from(NO_ORIGIN));
        }
        let Some(stored) = self.store(now_ms)?.request(operation)? else {
            log::error("request_not_stored")
                .operation(&operation.reference())
                .detail("only its client can go on with it")
                .write();
            return Ok(());
        };
        let request = Sendable::read(stored)?;
        if step == Step::Redispatch && request.is_whole() {
            // An attempt that could not be sent would be one that may be under way, for a person too.
            sealing::can_open_request(&request.fields(), &operation.reference(), &config)?;
            let Some((record, attempt)) = record.redispatch(now_ms) else {
                return Ok(());
            };
            let call = errand::again(operation, attempt, &request, &record, &config)?;
            let attempt = Attempt::new(*operation, attempt, &record);
            self.keep(now_ms, row, record, Written::NOTHING)?;
            // Nobody waits for it: what counts is in the record.
            drop(self.dispatch(now_ms, self.courier()?, call, attempt)?);
        } else if let Some(inquiry) = record.probe(now_ms)
            && let Some(call) = errand::ask(operation, &request, &record, inquiry, &config)?
        {
            self.send_to_ask(self.courier()?, call);
        }
        Ok(())
    }

    fn wake_again(&self, now_ms: u64) -> Result<()> {
        if let Some(due_ms) = self.store(now_ms)?.next_due()?
            && due_ms < NEVER_MS
        {
            self.wake_at(now_ms, due_ms.max(now_ms + 1_000))?;
        }
        if self.finishing.under_way.get() > 0 {
            let until_ms = self.finishing.until_ms.get();
            self.wake_at(now_ms, until_ms.max(now_ms + FIRST_PAUSE_MS))?;
        }
        Ok(())
    }

    async fn tell_desk(&self, now_ms: u64, news: &[News]) -> Result<()> {
        let Some(first) = news.first() else {
            return Ok(());
        };
        let at_ms = now_ms.max(self.finishing.reported_ms.get() + 1);
        self.finishing.reported_ms.set(at_ms);
        let mut report = Report {
            shard: first.operation.shard(),
            at_ms,
            added: Vec::new(),
            removed: Vec::new(),
        };
        for news in news {
            let operation = news.operation.reference();
            match news.trouble {
                None => report.removed.push(operation),
                Some(trouble) => report.added.push(Troubled {
                    operation,
                    route: news.route.clone(),
                    state: trouble.state,
                    since_ms: trouble.since_ms,
                }),
            }
        }
        let config = self.config()?;
        let mut told = crate::desk::tell(&self.env, &config, &ToDesk::Trouble(report)).await?;
        let Heard { latest_ms } = told.json().await?;
        if latest_ms > at_ms {
            self.finishing.reported_ms.set(latest_ms);
            return Err(Error::from("an earlier instance's clock was ahead"));
        }
        let store = self.store(now_ms)?;
        for news in news {
            if news.trouble.is_none() {
                self.noted.forget(&news.operation);
                store.rest(&news.operation, news.due_ms)?;
            }
            let told = news.trouble.map(|trouble| trouble.state);
            store.heard(&news.operation, told, news.due_ms)?;
        }
        Ok(())
    }
}

/// When an operation is due again.
fn next(now_ms: u64, attention: Attention, step: Step, acts: bool, untold: bool) -> Attention {
    let tries = attention.tries + u32::from(acts);
    let settle_ms = match step {
        Step::Redispatch | Step::Ask(_) if acts => now_ms + pause_ms(tries),
        Step::Redispatch | Step::Ask(_) => attention.settle_ms,
        Step::At(at_ms) => at_ms,
        Step::Rest => now_ms + LOOK_AGAIN_MS,
        Step::Hold => NEVER_MS,
    };
    let due_ms = if untold {
        settle_ms.min(now_ms + TELL_AGAIN_MS)
    } else {
        settle_ms
    };
    Attention {
        due_ms,
        settle_ms,
        tries,
        ..attention
    }
}

/// Doubled with each try, and spread, so that what failed together does not come back together.
fn pause_ms(tries: u32) -> u64 {
    let doubled_ms = FIRST_PAUSE_MS << tries.saturating_sub(1).min(16);
    let spread_ms = js_sys::Math::random() * (doubled_ms / 4) as f64;
    (doubled_ms + spread_ms as u64).min(LAST_PAUSE_MS)
}
