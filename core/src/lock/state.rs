//! The lock: who has it and who waits for it.
//!
//! Every verb first lets time pass, then does its own, then hands the lock over if it is free; the shell
//! stores what is [`held`](Lock::held) before it tells anybody anything.

use alloc::vec::Vec;

use super::line::{Line, Waiter};
use super::{Asker, Fence, Fences, HANDOVER_MS, Owner, Place, Ticket, Ttl, Wait};

/// How long it is remembered that an asker is done, so that a late copy of its request takes no lock.
const DONE_MS: u64 = 60_000;

/// How many of them.
const MOST_DONE: usize = 64;

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a row has exactly these parts")]
pub struct Held {
    /// What proves that it is one's own.
    pub owner: Owner,
    /// Who had asked for it.
    pub asker: Asker,
    /// Its number.
    pub fence: Fence,
    /// For how long it was wanted.
    pub ttl_ms: u64,
    /// When it was granted.
    pub since_ms: u64,
    /// When it ends, unless it is renewed.
    pub until_ms: u64,
}

/// When something happens, and what a grant is made of.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a shell supplies all of it")]
pub struct Moment<'a> {
    /// Now.
    pub now_ms: u64,
    /// The owner of a grant, if there is one: a verb makes at most one.
    pub owner: Owner,
    /// The sequence of the shard.
    pub fences: &'a mut Fences,
}

/// A request for a lock.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a request has exactly these parts"
)]
pub struct Ask {
    /// Who.
    pub asker: Asker,
    /// For how long.
    pub ttl: Ttl,
    /// How long it waits.
    pub wait: Wait,
    /// Where it stood before.
    pub place: Option<Ticket>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must tell them apart")]
pub enum Turn {
    /// It has the lock.
    Granted(Held),
    /// It stands in line under this ticket, and will be [told](Told).
    Waits(Ticket),
    /// Another one has the lock, and it does not wait.
    Busy,
    /// It is done: what it had was released, or it was called off.
    Done,
}

/// What somebody in line hears.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must tell them apart")]
pub enum Told {
    /// It has the lock.
    Granted(Held),
    /// It has waited long enough, and its place is kept for a while.
    Busy(Asker, Place),
    /// It has asked again, and the newer request is the one that waits; or it was called off.
    Superseded(Asker),
}

impl Told {
    /// Who is to hear it. Tickets do not tell waiters apart: after the line was lost, two may have come
    /// at one time.
    pub fn asker(&self) -> Asker {
        match self {
            Self::Granted(held) => held.asker,
            Self::Busy(asker, _) | Self::Superseded(asker) => *asker,
        }
    }
}

/// The lock is not the caller's, or not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is no more to say")]
pub struct Lost;

/// One who is done.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Done {
    asker: Asker,
    owner: Option<Owner>,
    until_ms: u64,
}

/// A lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    held: Option<Held>,
    line: Line,
    done: Vec<Done>,
}

impl Lock {
    /// The lock as it was stored. Who waited will ask again.
    pub fn restored(held: Option<Held>) -> Self {
        Self {
            held,
            ..Self::default()
        }
    }

    /// What is to be stored.
    pub fn held(&self) -> Option<&Held> {
        self.held.as_ref()
    }

    /// Whether nothing would be lost by forgetting it.
    pub fn is_idle(&self) -> bool {
        self.held.is_none() && self.line.is_empty() && self.done.is_empty()
    }

    /// How many stand in line.
    pub fn waiting(&self) -> usize {
        self.line.len()
    }

    /// When it has to be seen to, if nothing happens before: [`pass_time`](Self::pass_time).
    pub fn next_ms(&self) -> Option<u64> {
        let end_ms = self.held.as_ref().map(|held| held.until_ms);
        let end_ms = end_ms.filter(|_| !self.line.is_empty());
        end_ms.into_iter().chain(self.line.next_ms()).min()
    }

    /// Lets time pass.
    #[must_use]
    pub fn pass_time(mut self, moment: &mut Moment<'_>) -> (Self, Vec<Told>) {
        let now_ms = moment.now_ms;
        self.done.retain(|done| done.until_ms > now_ms);
        if let Some(ended) = self.held.take_if(|held| held.until_ms <= now_ms) {
            self.remember(ended.asker, None, now_ms);
        }
        let mut told = Vec::new();
        // The lock before the line: whose turn comes in the moment in which its wait ends has the lock.
        self.hand_over(moment, &mut told);
        self.line.pass_time(now_ms, &mut told);
        self.hand_over(moment, &mut told);
        (self, told)
    }

    /// Somebody asks for it.
    #[must_use]
    pub fn acquire(self, moment: &mut Moment<'_>, ask: &Ask) -> (Self, Turn, Vec<Told>) {
        let (mut lock, mut told) = self.pass_time(moment);
        if lock.done.iter().any(|done| done.asker == ask.asker) {
            return (lock, Turn::Done, told);
        }
        if let Some(held) = lock.held.clone().filter(|held| held.asker == ask.asker) {
            return (lock, Turn::Granted(held), told);
        }
        let earlier = lock.line.leave(ask.asker);
        let known = earlier.as_ref().map(|waiter| waiter.ticket).or(ask.place);
        if let Some(waiter) = earlier.filter(|waiter| waiter.is_here) {
            told.push(Told::Superseded(waiter.asker));
        }
        let ticket = known.unwrap_or_else(|| moment.fences.ticket(moment.now_ms));
        let turn = if lock.held.is_none() && !lock.line.has_before(ticket) {
            let end_ms = moment.now_ms + ask.ttl.as_ms();
            Turn::Granted(lock.grant(moment, ask.asker, ask.ttl, end_ms))
        } else if ask.wait.as_ms() == 0 || lock.line.is_full() {
            Turn::Busy
        } else {
            lock.line.join(Waiter {
                ticket,
                asker: ask.asker,
                ttl: ask.ttl,
                until_ms: moment.now_ms + ask.wait.as_ms(),
                is_here: true,
            });
            Turn::Waits(ticket)
        };
        // Who has left the line may have been the one for whom the lock was kept.
        lock.hand_over(moment, &mut told);
        (lock, turn, told)
    }

    /// Its holder wants it for longer.
    ///
    /// # Errors
    /// [`Lost`]: it is not the holder, or the lock has ended.
    pub fn renew(
        self,
        moment: &mut Moment<'_>,
        owner: Owner,
        ttl: Option<Ttl>,
    ) -> (Self, Result<Held, Lost>, Vec<Told>) {
        let (mut lock, told) = self.pass_time(moment);
        let held = lock.held.as_mut().filter(|held| held.owner == owner);
        let renewed = held.map(|held| {
            held.ttl_ms = ttl.map_or(held.ttl_ms, Ttl::as_ms);
            held.until_ms = moment.now_ms + held.ttl_ms;
            held.clone()
        });
        (lock, renewed.ok_or(Lost), told)
    }

    /// Its holder is done with it. Saying so again is no error.
    ///
    /// # Errors
    /// [`Lost`]: it is not the holder, or the lock has ended.
    pub fn release(
        self,
        moment: &mut Moment<'_>,
        owner: Owner,
    ) -> (Self, Result<(), Lost>, Vec<Told>) {
        let (mut lock, mut told) = self.pass_time(moment);
        let is_known = lock.done.iter().any(|done| done.owner == Some(owner));
        match lock.held.take_if(|held| held.owner == owner) {
            Some(held) => lock.remember(held.asker, Some(held.owner), moment.now_ms),
            None if is_known => {}
            None => return (lock, Err(Lost), told),
        }
        lock.hand_over(moment, &mut told);
        (lock, Ok(()), told)
    }

    /// Who had asked does not want it any more, whether it has the lock, waits for it, or its request is
    /// still on its way.
    #[must_use]
    pub fn call_off(mut self, moment: &mut Moment<'_>, asker: Asker) -> (Self, Vec<Told>) {
        // Before time passes: else it might be handed the lock and lose it to the next one in a moment,
        // and both would have been given the one owner.
        let waiter = self.line.leave(asker).filter(|waiter| waiter.is_here);
        let (mut lock, mut told) = self.pass_time(moment);
        told.extend(waiter.map(|waiter| Told::Superseded(waiter.asker)));
        let held = lock.held.take_if(|held| held.asker == asker);
        lock.remember(asker, held.map(|held| held.owner), moment.now_ms);
        lock.hand_over(moment, &mut told);
        (lock, told)
    }

    /// A person takes it away from whoever has it under this fence.
    ///
    /// # Errors
    /// [`Lost`]: nobody has, or somebody else.
    pub fn take_away(
        self,
        moment: &mut Moment<'_>,
        fence: Fence,
    ) -> (Self, Result<(), Lost>, Vec<Told>) {
        let (mut lock, mut told) = self.pass_time(moment);
        let taken = lock.held.take_if(|held| held.fence == fence);
        lock.hand_over(moment, &mut told);
        (lock, taken.map(drop).ok_or(Lost), told)
    }

    /// Nobody would hear this one any more.
    #[must_use]
    pub fn gone(mut self, asker: Asker) -> Self {
        self.line.remove(asker);
        self
    }

    fn hand_over(&mut self, moment: &mut Moment<'_>, told: &mut Vec<Told>) {
        if self.held.is_some() {
            return;
        }
        if let Some(first) = self.line.take_first() {
            let end_ms = moment.now_ms + first.ttl.as_ms().min(HANDOVER_MS);
            let held = self.grant(moment, first.asker, first.ttl, end_ms);
            told.push(Told::Granted(held));
        }
    }

    fn grant(&mut self, moment: &mut Moment<'_>, asker: Asker, ttl: Ttl, until_ms: u64) -> Held {
        let held = Held {
            owner: moment.owner,
            asker,
            fence: moment.fences.fence(moment.now_ms),
            ttl_ms: ttl.as_ms(),
            since_ms: moment.now_ms,
            until_ms,
        };
        self.held = Some(held.clone());
        held
    }

    fn remember(&mut self, asker: Asker, owner: Option<Owner>, now_ms: u64) {
        if self.done.len() == MOST_DONE {
            self.done.remove(0);
        }
        self.done.push(Done {
            asker,
            owner,
            until_ms: now_ms + DONE_MS,
        });
    }
}
