//! The locks of one object: in memory, and what is held in rows as well.
//!
//! Invariant: memory is never ahead of the rows. If a write fails, whoever owns this table throws it away,
//! and the next one is read from the rows.

use std::collections::HashMap;

use futures_channel::oneshot;
use oncegate_core::lock::{Asker, Clock, Fences, Held, Lock, LockName, Moment, Owner, Told};
use worker::{Result, Storage};

use super::message::Listed;
use super::store::Store;
use crate::platform::{now_ms, random};

pub(super) struct Table {
    store: Store,
    clock: Clock,
    fences: Fences,
    locks: HashMap<LockName, Lock>,
    /// Who waits. An asker is one of one lock, and waits there once.
    waiting: HashMap<Asker, Waiting>,
}

struct Waiting {
    name: LockName,
    sender: oneshot::Sender<Told>,
}

impl Table {
    pub(super) fn open(storage: &Storage) -> Result<Self> {
        let store = Store::open(storage)?;
        let held = store.all()?;
        // The last renewal of a lock is as far as its end goes back; one that was handed over, and ends sooner, began later.
        let written_ms = held
            .iter()
            .map(|(_, held)| held.since_ms.max(held.until_ms - held.ttl_ms));
        let clock = Clock::new(now_ms(), written_ms.max().unwrap_or_default());
        let fences = store.bound()?.map(Fences::restored).unwrap_or_default();
        let locks = held
            .into_iter()
            .map(|(name, held)| (name, Lock::restored(Some(held))));
        Ok(Self {
            clock,
            fences,
            locks: locks.collect(),
            waiting: HashMap::new(),
            store,
        })
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn now_ms(&mut self) -> u64 {
        self.clock.tick(now_ms())
    }

    /// Does something with a lock, stores what has changed and tells whoever waits.
    pub(super) fn step<T>(
        &mut self,
        name: &LockName,
        verb: impl FnOnce(Lock, &mut Moment<'_>) -> (Lock, T, Vec<Told>),
    ) -> Result<T> {
        let lock = self.without_the_gone(name);
        let before = lock.held().cloned();
        let mut moment = Moment {
            now_ms: self.now_ms(),
            owner: new_owner(),
            fences: &mut self.fences,
        };
        let (lock, answer, told) = verb(lock, &mut moment);
        self.keep(name, before.as_ref(), lock)?;
        self.tell(told);
        Ok(answer)
    }

    /// Lets time pass for a lock; gives when it has to be seen to next.
    pub(super) fn pass_time(&mut self, name: &LockName) -> Result<Option<u64>> {
        self.step(name, |lock, moment| {
            let (lock, told) = lock.pass_time(moment);
            (lock, (), told)
        })?;
        Ok(self.next_ms(name))
    }

    pub(super) fn next_ms(&self, name: &LockName) -> Option<u64> {
        self.locks.get(name)?.next_ms()
    }

    /// Who stands in line waits here.
    pub(super) fn wait(&mut self, name: &LockName, asker: Asker) -> oneshot::Receiver<Told> {
        let (sender, receiver) = oneshot::channel();
        let name = name.clone();
        self.waiting.insert(asker, Waiting { name, sender });
        receiver
    }

    pub(super) fn names(&self) -> Vec<LockName> {
        self.locks.keys().cloned().collect()
    }

    pub(super) fn has_held(&self) -> bool {
        self.locks.values().any(|lock| lock.held().is_some())
    }

    /// The locks that are held now.
    pub(super) fn list(&mut self) -> Vec<Listed> {
        let now_ms = self.now_ms();
        let held = self.locks.iter().filter_map(|(name, lock)| {
            let held = lock.held().filter(|held| held.until_ms > now_ms)?;
            Some(Listed {
                name: name.as_str().to_owned(),
                fence: held.fence,
                held_for_ms: now_ms.saturating_sub(held.since_ms),
                expires_in_ms: held.until_ms - now_ms,
                waiting: lock.waiting(),
            })
        });
        held.collect()
    }

    /// Those who wait and would not hear any more do not get the lock.
    fn without_the_gone(&mut self, name: &LockName) -> Lock {
        let mut lock = self.locks.remove(name).unwrap_or_default();
        let is_gone = |waiting: &Waiting| waiting.name == *name && waiting.sender.is_canceled();
        let gone: Vec<Asker> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| is_gone(waiting))
            .map(|(asker, _)| *asker)
            .collect();
        for asker in gone {
            self.waiting.remove(&asker);
            lock = lock.gone(asker);
        }
        lock
    }

    fn keep(&mut self, name: &LockName, before: Option<&Held>, lock: Lock) -> Result<()> {
        if let Some(bound) = self.fences.to_store() {
            self.store.set_bound(bound)?;
        }
        match lock.held() {
            held if held == before => {}
            Some(held) => self.store.put(name, held)?,
            None => self.store.remove(name)?,
        }
        if !lock.is_idle() {
            self.locks.insert(name.clone(), lock);
        }
        Ok(())
    }

    fn tell(&mut self, told: Vec<Told>) {
        for told in told {
            if let Some(waiting) = self.waiting.remove(&told.asker()) {
                // One that has just left hears nothing: a grant that nobody hears of is a short one.
                let _ = waiting.sender.send(told);
            }
        }
    }
}

fn new_owner() -> Owner {
    let mut bits = [0; 16];
    bits.copy_from_slice(&random(16));
    Owner::new(bits)
}
