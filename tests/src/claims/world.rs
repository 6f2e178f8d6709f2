//! The world: its states, what can happen next, and what must hold when it has.

use oncegate_core::claim::{self, Age, Answer, Decided, Owners, fence, maker, terms};
use oncegate_core::identity::Identity;
use oncegate_core::operation::{Operation, State};

use super::words::{Bug, Event, Message, Oracle, Says, Verb, Worker};
use crate::explore::Small;

const LEASE_MS: u64 = 1_000;
const WINDOW_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
const BEGINNING_MS: u64 = 1_900_000_000_000;

/// A lease can end once; what comes after its end is seen from every state.
const LAST_TICK: u64 = 1;
const WORKERS: usize = 2;
/// Calls of each worker that are not made again: one works on it, and one takes over.
const MOST_NONCES: [u8; WORKERS] = [1, 1];
const MOST_UNDER_WAY: usize = 2;
/// Copies that the network makes: each may come at any later time.
const MOST_COPIES: u8 = 1;

const UNDATED: Age = Age {
    sent_ms: None,
    window_ms: WINDOW_MS,
};

#[derive(Clone, Debug)]
pub(super) struct World {
    bug: Option<Bug>,
    record: Option<Operation>,
    tick: u64,
    workers: [Worker; WORKERS],
    under_way: Vec<Message>,
    /// The owners of the claims that were granted, and their nonces, the newest last.
    granted: Vec<String>,
    nonces: Vec<String>,
    /// Who holds it in truth, and until when.
    holder: Option<(String, u64)>,
    copies: u8,
    last_fence: u64,
    completions: u8,
}

impl World {
    pub(super) fn new(bug: Option<Bug>) -> Self {
        Self {
            bug,
            record: None,
            tick: 0,
            workers: Default::default(),
            under_way: Vec::new(),
            granted: Vec::new(),
            holder: None,
            nonces: Vec::new(),
            copies: 0,
            last_fence: 0,
            completions: 0,
        }
    }

    fn send(&mut self, worker: usize, says: Says) {
        let message = Message {
            worker,
            says,
            is_copy: false,
        };
        if !self.under_way.contains(&message) {
            self.under_way.push(message);
        }
    }

    fn ask(&mut self, index: usize) {
        if let Some(nonce) = self.workers[index].asking.clone() {
            self.send(index, Says::Claim { nonce });
        }
    }

    fn say(&mut self, index: usize, verb: Verb) {
        if let Some(owner) = self.workers[index].owner.clone() {
            let says = match verb {
                Verb::Complete => Says::Complete { owner },
                Verb::Heartbeat => Says::Heartbeat { owner },
                Verb::Release => Says::Release { owner },
            };
            self.send(index, says);
        }
    }

    fn now_ms(&self) -> u64 {
        BEGINNING_MS + self.tick * LEASE_MS
    }

    /// The gate decides, and the worker hears it or not.
    fn hear(&mut self, message: &Message, answered: bool) -> Result<(), Oracle> {
        let now_ms = self.now_ms();
        let decided = match &message.says {
            Says::Claim { nonce } => self.claim(now_ms, nonce)?,
            Says::Complete { owner } => self.complete(now_ms, owner)?,
            Says::Heartbeat { owner } => {
                let is_owner = self.is_owner(owner);
                claim::heartbeat(self.record.clone(), now_ms, is_owner, LEASE_MS)
            }
            Says::Release { owner } => {
                let is_owner = self.is_owner(owner) || self.bug == Some(Bug::AnybodyReleases);
                claim::release(self.record.clone(), now_ms, is_owner)
            }
        };
        if decided.changed && self.is_old(&message.says) {
            return Err(Oracle::FencedOff);
        }
        if decided.answer == Answer::Done && self.completions == 0 {
            return Err(Oracle::DoneOnce);
        }
        let answer = decided.answer;
        if decided.changed {
            self.record = decided.record;
            self.holder_says(&message.says, now_ms);
        }
        if answered {
            self.worker_hears(message, answer);
        }
        Ok(())
    }

    fn worker_hears(&mut self, message: &Message, answer: Answer) {
        let owner = self.record.as_ref().map(|record| owners().owner(record));
        let worker = &mut self.workers[message.worker];
        match &message.says {
            // Of a call that it does not wait for any more it hears nothing.
            Says::Claim { nonce } if worker.asking.as_ref() == Some(nonce) => {
                worker.asking = None;
                worker.owner = owner.filter(|_| answer == Answer::Acquired);
            }
            Says::Claim { .. } => {}
            _ if answer != Answer::Held => worker.owner = None,
            _ => {}
        }
    }

    fn claim(&mut self, now_ms: u64, nonce: &str) -> Result<Decided, Oracle> {
        let record = self.record.clone();
        let view = record.as_ref().map(|record| record.view(now_ms));
        let runs = view.is_some_and(|view| view.state == State::Dispatched);
        let is_own = self.nonces.last().is_some_and(|newest| newest == nonce);
        let (asked_ms, made) = match self.bug {
            Some(Bug::EarlyTakeover) => (now_ms + LEASE_MS, maker(nonce)),
            Some(Bug::MakerIgnored) => (now_ms, maker(&format!("{nonce} {}", self.granted.len()))),
            _ => (now_ms, maker(nonce)),
        };
        if self.bug == Some(Bug::NoTakeover)
            && view.is_some_and(|view| view.state == State::Unknown)
        {
            let answer = Answer::Busy;
            return Ok(Decided {
                answer,
                record,
                changed: false,
                stores_result: false,
            });
        }
        let record = match self.bug {
            Some(Bug::CallsForgotten) => record.map(forgetful),
            _ => record,
        };
        let terms = terms(LEASE_MS, WINDOW_MS);
        let decided = claim::claim(record, asked_ms, made, &terms, UNDATED);
        if decided.answer == Answer::Busy && runs && is_own {
            return Err(Oracle::NotLockedOut);
        }
        if let Some(record) = decided.record.as_ref().filter(|_| decided.changed) {
            let owner = owners().owner(record);
            if is_own && self.granted.last() == Some(&owner) {
                self.holder = Some((owner, now_ms + LEASE_MS));
                return Ok(decided);
            }
            let fence = match self.bug {
                Some(Bug::FenceStands) => BEGINNING_MS,
                _ => fence(record),
            };
            let holds = |holder: &(String, u64)| holder.1 > now_ms;
            if self.holder.as_ref().is_some_and(holds) {
                return Err(Oracle::OneHolder);
            }
            if fence <= self.last_fence {
                return Err(Oracle::FenceRises);
            }
            self.last_fence = fence;
            self.holder = Some((owner.clone(), now_ms + LEASE_MS));
            if self.nonces.iter().any(|had| had == nonce) {
                return Err(Oracle::OnceACall);
            }
            self.granted.push(owner);
            self.nonces.push(nonce.to_owned());
        }
        Ok(decided)
    }

    /// What the holder itself has said counts, and nobody else's word.
    fn holder_says(&mut self, says: &Says, now_ms: u64) {
        let (owner, until_ms) = match says {
            Says::Claim { .. } => return,
            Says::Heartbeat { owner } => (owner, Some(now_ms + LEASE_MS)),
            Says::Complete { owner } | Says::Release { owner } => (owner, None),
        };
        if self
            .holder
            .as_ref()
            .is_some_and(|holder| holder.0 == *owner)
        {
            self.holder = until_ms.map(|until_ms| (owner.clone(), until_ms));
        }
    }

    fn complete(&mut self, now_ms: u64, owner: &str) -> Result<Decided, Oracle> {
        let is_owner = self.is_owner(owner) || self.bug == Some(Bug::AnybodyCompletes);
        let record = self.record.clone();
        let decided = match self.bug {
            Some(Bug::DoneIsForgotten) => {
                let released = claim::release(record, now_ms, is_owner);
                Decided {
                    answer: Answer::Done,
                    ..released
                }
            }
            _ => claim::complete(record, now_ms, is_owner),
        };
        if decided.changed
            && !self.is_old(&Says::Complete {
                owner: owner.to_owned(),
            })
        {
            self.completions += 1;
            if self.completions > 1 {
                return Err(Oracle::DoneOnce);
            }
        }
        Ok(decided)
    }

    /// Whether this is said by somebody from whom the claim was taken over.
    fn is_old(&self, says: &Says) -> bool {
        match says {
            Says::Claim { .. } => false,
            Says::Complete { owner } | Says::Heartbeat { owner } | Says::Release { owner } => {
                self.granted.last().is_some_and(|newest| newest != owner)
            }
        }
    }

    fn is_owner(&self, owner: &str) -> bool {
        let is_old = self.granted.iter().any(|granted| granted == owner);
        let hears_old = is_old && self.bug == Some(Bug::OldOwnersAreHeard);
        hears_old || owners().is_owner(self.record.as_ref(), owner)
    }

    /// Somebody new comes when every lease is over.
    fn can_be_done(&self) -> Result<(), Oracle> {
        let later_ms = self.now_ms() + 2 * LEASE_MS;
        let mut later = self.clone();
        let decided = later.claim(later_ms, "somebody new")?;
        let done = match decided.answer {
            Answer::Done => true,
            Answer::Acquired => {
                claim::complete(decided.record, later_ms, true).answer == Answer::Done
            }
            _ => false,
        };
        match done && (decided.answer == Answer::Acquired || self.completions == 1) {
            true => Ok(()),
            false => Err(Oracle::NeverLost),
        }
    }
}

impl Small for World {
    type Event = Event;
    type Oracle = Oracle;

    /// Tells states apart. A heartbeat that changes nothing but the record's revision makes no other one.
    fn text(&self) -> String {
        let record = self.record.as_ref().map(|record| {
            let mut told = serde_json::to_value(record).expect("a record can be written");
            told["revision"] = serde_json::Value::Null;
            told.to_string()
        });
        format!(
            "{record:?} {} {:?} {:?} {:?} {:?} {} {}",
            self.tick,
            self.workers,
            self.under_way,
            self.granted,
            self.holder,
            self.copies,
            self.completions
        )
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let has_room = self.under_way.len() < MOST_UNDER_WAY;
        for (index, worker) in self.workers.iter().enumerate() {
            match (&worker.asking, &worker.owner) {
                (None, None) if has_room && worker.nonces < MOST_NONCES[index] => {
                    events.push(Event::Ask(index));
                }
                (Some(_), None) if has_room => events.push(Event::AskAgain(index)),
                (_, Some(_)) if has_room => {
                    let verbs = [Verb::Complete, Verb::Heartbeat, Verb::Release];
                    events.extend(verbs.map(|verb| Event::Say(index, verb)));
                }
                _ => {}
            }
            if worker.asking.is_some() || worker.owner.is_some() {
                events.push(Event::Crash(index));
            }
        }
        for (index, message) in self.under_way.iter().enumerate() {
            events.push(Event::Lose(index));
            for answered in [true, false] {
                let has_copy = !message.is_copy && self.copies < MOST_COPIES;
                let keeps = match has_copy {
                    true => &[false, true][..],
                    false => &[false],
                };
                events.extend(keeps.iter().map(|keeps_copy| Event::Deliver {
                    index,
                    answered,
                    keeps_copy: *keeps_copy,
                }));
            }
        }
        if self.tick < LAST_TICK {
            events.push(Event::Tick);
        }
        events
    }

    fn after(&self, event: &Event) -> Result<Self, Oracle> {
        let mut world = self.clone();
        match *event {
            Event::Ask(index) => {
                let worker = &mut world.workers[index];
                worker.nonces += 1;
                worker.asking = Some(format!("worker-{index}-{}", worker.nonces));
                world.ask(index);
            }
            Event::AskAgain(index) => world.ask(index),
            Event::Say(index, verb) => world.say(index, verb),
            Event::Crash(index) => {
                let nonces = world.workers[index].nonces;
                world.workers[index] = Worker {
                    nonces,
                    ..Worker::default()
                };
            }
            Event::Lose(index) => drop(world.under_way.remove(index)),
            Event::Deliver {
                index,
                answered,
                keeps_copy,
            } => {
                let message = world.under_way[index].clone();
                match keeps_copy {
                    true => {
                        world.under_way[index].is_copy = true;
                        world.copies += 1;
                    }
                    false => drop(world.under_way.remove(index)),
                }
                world.hear(&message, answered)?;
            }
            Event::Tick => world.tick += 1,
        }
        Ok(world)
    }

    fn check(&self) -> Result<(), Oracle> {
        self.can_be_done()
    }
}

/// The planted bug: who has given it up is not written down.
fn forgetful(record: Operation) -> Operation {
    let mut told = serde_json::to_value(&record).expect("a record can be written");
    told["refused"] = serde_json::json!([]);
    serde_json::from_value(told).expect("a record can be read")
}

fn owners() -> Owners<'static> {
    Owners::new(b"secret", Identity::from_bytes([7; 32]))
}
