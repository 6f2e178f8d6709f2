//! The object: what is in rows, and what is in memory only.

use std::collections::BTreeMap;

use oncegate_core::lock::{
    Ask, Asker, Clock, Fences, Held, Lock, Lost, Moment, Owner, Place, Ticket, Told, Ttl, Turn,
    Wait,
};

use super::LockBug;

/// Who hears the answer.
pub(super) type Call = u64;

/// What is asked of the object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    Acquire {
        asker: u64,
        ttl_ms: u64,
        wait_ms: u64,
        place: Option<Place>,
    },
    Renew(Owner),
    Release(Owner),
}

#[derive(Clone, Debug)]
pub(super) enum Answer {
    Granted { held: Held, expires_in_ms: u64 },
    Busy(Option<Place>),
    Done,
    Lost,
    Released,
}

#[derive(Clone, Debug)]
pub(super) struct Object {
    bug: Option<LockBug>,
    row: Option<Held>,
    bound: u64,
    lock: Lock,
    fences: Fences,
    clock: Clock,
    pub(super) waiting: BTreeMap<Asker, (Call, u64)>,
    /// How many grants there were: each has an owner of its own.
    owners: u128,
    /// Grants since this was last looked at, and whether each was handed over.
    pub(super) granted: Vec<(Held, bool)>,
}

pub(super) fn asker(number: u64) -> Asker {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&number.to_be_bytes());
    Asker::new(digest)
}

impl Object {
    pub(super) fn new(clock_ms: u64, bug: Option<LockBug>) -> Self {
        Self {
            bug,
            row: None,
            bound: 0,
            lock: Lock::default(),
            fences: Fences::default(),
            clock: Clock::new(clock_ms, 0),
            waiting: BTreeMap::new(),
            owners: 0,
            granted: Vec::new(),
        }
    }

    /// Replaces it; who waited hears nothing.
    pub(super) fn evict(&mut self, clock_ms: u64) -> Vec<Call> {
        let written_ms = self.row.as_ref().map_or(0, |row| row.until_ms - row.ttl_ms);
        self.clock = Clock::new(clock_ms, written_ms);
        self.lock = Lock::restored(self.row.clone());
        self.fences = match self.bug {
            Some(LockBug::FenceFromClock) => Fences::default(),
            _ => Fences::restored(self.bound),
        };
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().map(|(call, _)| call).collect()
    }

    pub(super) fn now_ms(&mut self, clock_ms: u64) -> u64 {
        self.clock.tick(clock_ms)
    }

    pub(super) fn next_ms(&self) -> Option<u64> {
        self.lock.next_ms()
    }

    /// Until when the grant with this fence lasts.
    pub(super) fn held_until(&self, fence: u64) -> Option<u64> {
        let held = self.lock.held().filter(|held| held.fence.as_u64() == fence);
        held.map(|held| held.until_ms)
    }

    /// Whether the lock is free, and somebody waits who is there and whom nobody is before.
    pub(super) fn is_asleep(&self) -> bool {
        self.lock.held().is_none()
            && self.lock.waiting() == self.waiting.len()
            && !self.waiting.is_empty()
    }

    /// Writes the rows.
    pub(super) fn store(&mut self) {
        self.row = self.lock.held().cloned();
    }

    pub(super) fn pass_time(&mut self, clock_ms: u64) -> Vec<(Call, Answer)> {
        self.step(clock_ms, |lock, moment| {
            let (lock, told) = lock.pass_time(moment);
            (lock, (), told)
        })
        .1
    }

    /// Answers a request, now or later; and others, because of it.
    pub(super) fn hear(
        &mut self,
        clock_ms: u64,
        call: Call,
        request: Request,
    ) -> Vec<(Call, Answer)> {
        match request {
            Request::Acquire {
                asker: number,
                ttl_ms,
                wait_ms,
                place,
            } => {
                let place = place.map(|place| place.ticket);
                let place = match self.bug {
                    Some(LockBug::LastFirst) if place.is_none() => {
                        Some(Ticket::new(u64::MAX - clock_ms * 1_024))
                    }
                    _ => place,
                };
                let ask = Ask {
                    asker: asker(number),
                    ttl: Ttl::parse(Some(ttl_ms)).expect("the world's ttl is one"),
                    wait: Wait::parse(Some(wait_ms)).expect("the world's wait is one"),
                    place,
                };
                let (turn, mut answers) =
                    self.step(clock_ms, |lock, moment| lock.acquire(moment, &ask));
                match turn {
                    Turn::Granted(held) => answers.push((call, self.grant(clock_ms, held))),
                    Turn::Waits(_) => {
                        self.waiting.insert(ask.asker, (call, number));
                    }
                    Turn::Busy => answers.push((call, Answer::Busy(None))),
                    Turn::Done => answers.push((call, Answer::Done)),
                }
                answers
            }
            Request::Renew(owner) => {
                let (renewed, mut answers) =
                    self.step(clock_ms, |lock, moment| lock.renew(moment, owner, None));
                let answer = match renewed {
                    Ok(held) => self.grant(clock_ms, held),
                    Err(Lost) => Answer::Lost,
                };
                answers.push((call, answer));
                answers
            }
            Request::Release(owner) => {
                let anyone = self.bug == Some(LockBug::ReleasedByAnyone);
                let holder = self.lock.held().map(|held| held.owner);
                let owner = holder.filter(|_| anyone).unwrap_or(owner);
                let (_, mut answers) =
                    self.step(clock_ms, |lock, moment| lock.release(moment, owner));
                answers.push((call, Answer::Released));
                answers
            }
        }
    }

    fn step<T>(
        &mut self,
        clock_ms: u64,
        verb: impl FnOnce(Lock, &mut Moment<'_>) -> (Lock, T, Vec<Told>),
    ) -> (T, Vec<(Call, Answer)>) {
        let now_ms = self.clock.tick(clock_ms);
        let before = self.lock.held().map(|held| held.fence);
        let mut moment = Moment {
            now_ms,
            owner: Owner::new((self.owners + 1).to_be_bytes()),
            fences: &mut self.fences,
        };
        let (lock, answer, told) = verb(std::mem::take(&mut self.lock), &mut moment);
        self.lock = lock;
        if self.bug == Some(LockBug::HandedForTtl)
            && let Some(Told::Granted(held)) = told.last()
        {
            let owner = held.owner;
            let (lock, _, _) = std::mem::take(&mut self.lock).renew(&mut moment, owner, None);
            self.lock = lock;
        }
        self.bound = self.fences.to_store().unwrap_or(self.bound);
        if self.bug != Some(LockBug::RowAfterAnswer) {
            self.store();
        }
        if let Some(held) = self.lock.held().filter(|held| Some(held.fence) != before) {
            self.owners += 1;
            let is_handed = told.iter().any(|told| matches!(told, Told::Granted(..)));
            self.granted.push((held.clone(), is_handed));
        }
        let answers = told.into_iter().filter_map(|told| self.tell(now_ms, told));
        (answer, answers.collect::<Vec<_>>())
    }

    fn tell(&mut self, now_ms: u64, told: Told) -> Option<(Call, Answer)> {
        let (call, _) = self.waiting.remove(&told.asker())?;
        let answer = match told {
            Told::Granted(held) => {
                let expires_in_ms = held.until_ms - now_ms;
                Answer::Granted {
                    held,
                    expires_in_ms,
                }
            }
            Told::Busy(_, place) => Answer::Busy(Some(place)),
            Told::Superseded(_) => Answer::Busy(None),
        };
        Some((call, answer))
    }

    fn grant(&mut self, clock_ms: u64, held: Held) -> Answer {
        let expires_in_ms = held.until_ms.saturating_sub(self.clock.tick(clock_ms));
        Answer::Granted {
            held,
            expires_in_ms,
        }
    }
}
