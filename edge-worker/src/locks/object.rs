//! The Durable Object that holds the locks of a shard.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Display;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use std::time::Duration;

use oncegate_core::lock::{
    Ask, Asker, LockName, Lost, Owner, Place, Ticket, Told, Ttl, Turn, Wait,
};
use worker::{
    Delay, DurableObject, Env, Error, Request, Response, ResponseBuilder, Result, State,
    durable_object,
};

use super::message::{Acquire, Answer, Grant, Said, ToLocks};
use super::table::Table;
use crate::config::Config;
use crate::log;
use crate::message::understood;

/// How often rows of locks that have ended are removed. They are judged by their end, and not by their
/// being there.
const SWEEP_MS: i64 = 10 * 60 * 1_000;

/// The Durable Object.
#[durable_object(alarm)]
pub struct Locks(Rc<Inner>);

// What is in memory is read from the rows after a fault.
impl UnwindSafe for Locks {}
impl RefUnwindSafe for Locks {}

struct Inner {
    state: State,
    env: Env,
    /// Opened at the first call, so that an error is an answer and not a failed start.
    table: RefCell<Option<Table>>,
    /// The earliest timer of each lock that has one.
    timers: RefCell<HashMap<LockName, u64>>,
    /// Whether the alarm was set since this object has begun.
    is_armed: Cell<bool>,
}

impl DurableObject for Locks {
    fn new(state: State, env: Env) -> Self {
        Self(Rc::new(Inner {
            state,
            env,
            table: RefCell::default(),
            timers: RefCell::default(),
            is_armed: Cell::new(false),
        }))
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let message = understood(&request.text().await?)?;
        let said = self.0.answer(message).await?;
        self.0.arm().await?;
        let rows_written = self.0.with(|table| Ok(table.store().take_written()))?;
        ResponseBuilder::new().from_json(&Answer { said, rows_written })
    }

    /// It throws only if not even the next time can be written down.
    async fn alarm(&self) -> Result<Response> {
        self.0.is_armed.set(false);
        if let Err(error) = self.0.sweep() {
            log::error("locks_sweep").detail(error).write();
        }
        self.0.arm().await?;
        Ok(ResponseBuilder::new().empty())
    }
}

impl Inner {
    async fn answer(self: &Rc<Self>, message: ToLocks) -> Result<Said> {
        match message {
            ToLocks::Acquire(wanted) => {
                let name = read_name(&wanted.name)?;
                let ask = self.ask(&name, wanted)?;
                self.acquire(&name, &ask).await
            }
            ToLocks::Renew {
                name,
                owner,
                ttl_ms,
            } => {
                let ttl = ttl_ms.map(|ttl_ms| Ttl::parse(Some(ttl_ms))).transpose();
                self.renew(&read_name(&name)?, owner, ttl.map_err(unread)?)
            }
            ToLocks::Release { name, owner } => self.end(&name, |table, name| {
                table.step(name, |lock, moment| lock.release(moment, owner))
            }),
            ToLocks::TakeAway { name, fence } => self.end(&name, |table, name| {
                table.step(name, |lock, moment| lock.take_away(moment, fence))
            }),
            ToLocks::CallOff { name, asker } => self.end(&name, |table, name| {
                table.step(name, |lock, moment| {
                    let (lock, told) = lock.call_off(moment, asker);
                    (lock, Ok(()), told)
                })
            }),
            ToLocks::List => self.with(|table| Ok(Said::Held(table.list()))),
        }
    }

    fn ask(&self, name: &LockName, wanted: Acquire) -> Result<Ask> {
        let asker = wanted.asker;
        let place = wanted.place.map(|place| self.place(&place, name, asker));
        let place = place.transpose()?.flatten();
        Ok(Ask {
            asker,
            ttl: Ttl::parse(Some(wanted.ttl_ms)).map_err(unread)?,
            wait: Wait::parse(Some(wanted.wait_ms)).map_err(unread)?,
            place: place.or_else(|| wanted.since_ms.map(Ticket::since)),
        })
    }

    fn renew(&self, name: &LockName, owner: Owner, ttl: Option<Ttl>) -> Result<Said> {
        self.with(|table| {
            let renewed = table.step(name, |lock, moment| lock.renew(moment, owner, ttl))?;
            let now_ms = table.now_ms();
            Ok(renewed.map_or(Said::Lost, |held| {
                Said::Granted(Grant::new(name, &held, now_ms))
            }))
        })
    }

    async fn acquire(self: &Rc<Self>, name: &LockName, ask: &Ask) -> Result<Said> {
        let (turn, receiver) = self.with(|table| {
            let turn = table.step(name, |lock, moment| lock.acquire(moment, ask))?;
            let receiver = match &turn {
                Turn::Waits(_) => Some(table.wait(name, ask.asker)),
                Turn::Granted(_) | Turn::Busy | Turn::Done => None,
            };
            Ok((turn, receiver))
        })?;
        self.wake_when_due(name);
        let held = match (turn, receiver) {
            (Turn::Granted(held), _) => held,
            (Turn::Done, _) => return Ok(Said::Done),
            (_, None) => return Ok(Said::Busy(None)),
            (_, Some(receiver)) => match receiver.await {
                Ok(Told::Granted(held)) => held,
                Ok(Told::Busy(_, place)) => {
                    let place = place.write(&self.secret()?, name, ask.asker);
                    return Ok(Said::Busy(Some(place)));
                }
                Ok(Told::Superseded(_)) => return Ok(Said::Busy(None)),
                Err(_) => return Err(Error::from("the line was lost with the table")),
            },
        };
        let now_ms = self.with(|table| Ok(table.now_ms()))?;
        Ok(Said::Granted(Grant::new(name, &held, now_ms)))
    }

    /// Ends somebody's lock, or request.
    fn end(
        self: &Rc<Self>,
        name: &str,
        verb: impl FnOnce(&mut Table, &LockName) -> Result<std::result::Result<(), Lost>>,
    ) -> Result<Said> {
        let name = read_name(name)?;
        let ended = self.with(|table| verb(table, &name))?;
        self.wake_when_due(&name);
        Ok(ended.map_or(Said::Lost, |()| Said::Did))
    }

    /// Sees to a lock when its time has come. Nothing depends on a timer that is lost with the object: those
    /// who wait are lost with it.
    fn wake_when_due(self: &Rc<Self>, name: &LockName) {
        let due = self.with(|table| Ok((table.next_ms(name), table.now_ms())));
        let Ok((Some(next_ms), now_ms)) = due else {
            return;
        };
        let is_set = |set_ms: &u64| *set_ms <= next_ms;
        if self.timers.borrow().get(name).is_some_and(is_set) {
            return;
        }
        self.timers.borrow_mut().insert(name.clone(), next_ms);
        let (inner, name) = (Rc::clone(self), name.clone());
        self.state.wait_until(async move {
            // A timer may ring a little early by the clock.
            let wait_ms = next_ms.saturating_sub(now_ms).max(1);
            Delay::from(Duration::from_millis(wait_ms)).await;
            // An earlier one may have been set meanwhile, and sees to the rest.
            if inner.rings(&name, next_ms) {
                if let Err(error) = inner.with(|table| table.pass_time(&name)) {
                    log::error("locks_time").detail(error).write();
                }
                inner.wake_when_due(&name);
            }
        });
    }

    fn rings(&self, name: &LockName, at_ms: u64) -> bool {
        let mut timers = self.timers.borrow_mut();
        let is_it = timers.get(name) == Some(&at_ms);
        if is_it {
            timers.remove(name);
        }
        is_it
    }

    /// Removes what has ended.
    fn sweep(&self) -> Result<()> {
        self.with(|table| {
            for name in table.names() {
                table.pass_time(&name)?;
            }
            Ok(())
        })
    }

    /// Sets the alarm while there are rows.
    async fn arm(&self) -> Result<()> {
        if self.is_armed.get() || !self.with(|table| Ok(table.has_held()))? {
            return Ok(());
        }
        self.is_armed.set(true);
        self.with(|table| {
            table.store().count_row();
            Ok(())
        })?;
        let set = self.state.storage().set_alarm(SWEEP_MS).await;
        self.is_armed.set(set.is_ok());
        set
    }

    fn with<T>(&self, work: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
        let mut table = self.table.borrow_mut();
        // Taken out while it is worked on: after a fault nothing of it is left.
        let mut open = match table.take() {
            Some(open) => open,
            None => Table::open(&self.state.storage())?,
        };
        let done = work(&mut open)?;
        *table = Some(open);
        Ok(done)
    }

    fn place(&self, text: &str, name: &LockName, asker: Asker) -> Result<Option<Ticket>> {
        let secret = self.secret()?;
        let now_ms = self.with(|table| Ok(table.now_ms()))?;
        let place = Place::read(text, &secret, name, asker, now_ms);
        Ok(place.map(|place| place.ticket))
    }

    fn secret(&self) -> Result<Vec<u8>> {
        let config = Config::load(&self.env).map_err(unread)?;
        Ok(config.identity_secret.clone().into_bytes())
    }
}

fn read_name(name: &str) -> Result<LockName> {
    LockName::parse(name).map_err(unread)
}

/// A message that this version does not read.
fn unread(reason: impl Display) -> Error {
    Error::from(reason.to_string())
}
