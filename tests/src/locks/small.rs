//! Two or three clients that want one lock once, for a few seconds, in every order: the network loses what
//! they say or what they are answered, and keeps copies that come at any later time; clients die, and the
//! object is replaced.
//!
//! Everything here is the object's ([`Object`]) but what the clients believe and what is on its way.

use oncegate_core::lock::{HANDOVER_MS, Owner, Place};

use super::object::{Answer, Object, Request, asker};
use super::{LockBug, LockOracle};
use crate::explore::Small;

const START_MS: u64 = 1_900_000_000_000;
const TICK_MS: u64 = 5_000;
const TTL_MS: u64 = 2 * TICK_MS;
const WAIT_MS: u64 = TICK_MS;

/// Between the askers of one client that forgets under which key it has asked.
const ASKERS: u64 = 100;

/// How large a world is.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "tests name each of them")]
pub enum Clients {
    /// Two of them, with a copy of what they say, and an eviction.
    Two,
    /// Three of them, of which nothing is copied, and whose object stays.
    Three,
}

#[derive(Clone, Debug)]
enum Doing {
    Rests,
    Asks {
        place: Option<Place>,
    },
    /// It has the lock, and believes so until then.
    Has {
        owner: Owner,
        until_ms: u64,
    },
    /// It gives the lock back, and does not touch what it protects any more.
    Releases {
        owner: Owner,
    },
    Done,
    Gone,
}

#[derive(Clone, Debug)]
struct Client {
    doing: Doing,
    asker: u64,
    /// It is gone, or its connection is: it does not hear that its turn has come.
    is_deaf: bool,
    /// The grant that it was given, and how many evictions there had been.
    had: Option<(u64, u8)>,
}

/// What a client says to the object.
#[derive(Clone, Copy, Debug)]
struct Message {
    client: usize,
    request: Request,
}

#[derive(Clone, Debug)]
pub(super) struct World {
    bug: Option<LockBug>,
    object: Object,
    tick: u64,
    alarm_ms: Option<u64>,
    clients: Vec<Client>,
    /// What the network has kept a copy of.
    copies: Vec<Message>,
    last_fence: u64,
    last_tick: u64,
    copies_left: u8,
    evictions_left: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verb {
    Ask,
    Release,
    Renew,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Answered,
    /// The object has heard it, and the client not the answer.
    AnswerLost,
    /// The same, and a copy is kept.
    Copied,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Says(usize, Verb, Way),
    /// A copy arrives that nobody waits for any more.
    Copy(usize),
    Crashes(usize),
    Evicted,
    Rings,
    Tick,
}

impl World {
    pub(super) fn new(clients: Clients, bug: Option<LockBug>) -> Self {
        let (count, last_tick, faults) = match clients {
            Clients::Two => (2, 2, 1),
            Clients::Three => (3, 1, 0),
        };
        let client = |number: u64| Client {
            doing: Doing::Rests,
            asker: number,
            is_deaf: false,
            had: None,
        };
        Self {
            bug,
            object: Object::new(START_MS, bug),
            tick: 0,
            alarm_ms: None,
            clients: (0..count).map(client).collect(),
            copies: Vec::new(),
            last_fence: 0,
            last_tick,
            copies_left: faults,
            evictions_left: faults,
        }
    }

    fn now_ms(&self) -> u64 {
        START_MS + self.tick * TICK_MS
    }

    fn acquire(&self, index: usize) -> Request {
        let client = &self.clients[index];
        let place = match client.doing {
            Doing::Asks { place } => place.filter(|place| place.until_ms > self.now_ms()),
            _ => None,
        };
        Request::Acquire {
            asker: client.asker,
            ttl_ms: TTL_MS,
            wait_ms: WAIT_MS,
            place,
        }
    }

    fn message(&mut self, index: usize, verb: Verb) -> Option<Message> {
        let request = match (verb, &self.clients[index].doing) {
            (Verb::Ask, Doing::Rests) => {
                self.clients[index].doing = Doing::Asks { place: None };
                self.acquire(index)
            }
            (Verb::Ask, Doing::Asks { .. }) => {
                if self.bug == Some(LockBug::KeyIgnored) {
                    self.clients[index].asker += ASKERS;
                }
                self.clients[index].is_deaf = false;
                self.acquire(index)
            }
            (Verb::Renew, Doing::Has { owner, .. }) => Request::Renew(*owner),
            (Verb::Release, Doing::Has { owner, .. } | Doing::Releases { owner }) => {
                let owner = *owner;
                self.clients[index].doing = Doing::Releases { owner };
                Request::Release(owner)
            }
            _ => return None,
        };
        let client = index;
        Some(Message { client, request })
    }

    /// The object hears it; `None`: nobody waits for the answer.
    fn deliver(&mut self, message: &Message, is_heard: Option<bool>) -> Result<(), LockOracle> {
        let (now_ms, call) = (self.now_ms(), message.client as u64);
        let answers = self.object.hear(now_ms, call, message.request);
        if is_heard != Some(true) && matches!(message.request, Request::Acquire { .. }) {
            // Whoever has the newest connection of an asker hears it.
            self.clients[message.client].is_deaf = true;
        }
        self.told(answers, Some((message.client, is_heard == Some(true))))
    }

    /// Who is told hears it, unless it is gone, or deaf, or the answer is lost.
    fn told(
        &mut self,
        answers: Vec<(u64, Answer)>,
        own: Option<(usize, bool)>,
    ) -> Result<(), LockOracle> {
        self.judge()?;
        for (call, answer) in answers {
            let index = usize::try_from(call).unwrap_or_default();
            let own = own.filter(|(client, _)| *client == index);
            let is_heard = own.map_or(!self.clients[index].is_deaf, |(_, is_heard)| is_heard);
            if is_heard {
                self.hear(index, &answer);
            }
        }
        self.arm();
        Ok(())
    }

    fn hear(&mut self, index: usize, answer: &Answer) {
        let now_ms = self.now_ms();
        let client = &mut self.clients[index];
        client.doing = match (&client.doing, answer) {
            (
                Doing::Asks { .. } | Doing::Has { .. },
                Answer::Granted {
                    held,
                    expires_in_ms,
                },
            ) => {
                let is_full = held.until_ms - now_ms > HANDOVER_MS;
                Doing::Has {
                    owner: held.owner,
                    // What was handed over is not believed in before it is renewed.
                    until_ms: if is_full { now_ms + expires_in_ms } else { 0 },
                }
            }
            (Doing::Asks { .. }, Answer::Busy(place)) => Doing::Asks { place: *place },
            (Doing::Asks { .. }, Answer::Done) => Doing::Done,
            (Doing::Has { .. }, Answer::Lost) => Doing::Done,
            (Doing::Releases { .. }, Answer::Lost | Answer::Released) => Doing::Done,
            (doing, _) => doing.clone(),
        };
    }

    /// Holds what was just granted against the sentences.
    fn judge(&mut self) -> Result<(), LockOracle> {
        let evictions_left = self.evictions_left;
        for (held, is_handed) in std::mem::take(&mut self.object.granted) {
            let fence = held.fence.as_u64();
            if fence <= self.last_fence {
                return Err(LockOracle::FencesGrow);
            }
            self.last_fence = fence;
            if is_handed && held.until_ms - held.since_ms > HANDOVER_MS {
                return Err(LockOracle::GoneCostAMoment);
            }
            for client in &mut self.clients {
                let number = client.asker % ASKERS;
                let mut askers = (number..=client.asker).step_by(100);
                if askers.any(|number| asker(number) == held.asker) {
                    if client.had.is_some_and(|(_, left)| left == evictions_left) {
                        return Err(LockOracle::OneLockPerRequest);
                    }
                    client.had = Some((fence, evictions_left));
                }
            }
        }
        Ok(())
    }

    fn arm(&mut self) {
        if self.bug != Some(LockBug::WakeLost) {
            self.alarm_ms = self.object.next_ms();
        }
    }

    fn ring(&mut self) -> Result<(), LockOracle> {
        self.alarm_ms = None;
        let now_ms = self.now_ms();
        let answers = self.object.pass_time(now_ms);
        self.told(answers, None)
    }

    fn believes(&self) -> usize {
        let now_ms = self.now_ms();
        let believes = |client: &&Client| matches!(client.doing, Doing::Has { until_ms, .. } if until_ms > now_ms);
        self.clients.iter().filter(believes).count()
    }

    /// Nothing goes wrong any more: everybody that is there has had the lock soon.
    fn everybody_is_served(&self) -> Result<(), LockOracle> {
        let mut calm = self.clone();
        let is_done = |client: &Client| matches!(client.doing, Doing::Done | Doing::Gone);
        for _ in 0..16 {
            for index in 0..calm.clients.len() {
                let verb = match calm.clients[index].doing {
                    Doing::Rests | Doing::Asks { .. } => Verb::Ask,
                    Doing::Has { .. } | Doing::Releases { .. } => Verb::Release,
                    Doing::Done | Doing::Gone => continue,
                };
                if let Some(message) = calm.message(index, verb) {
                    calm.deliver(&message, Some(true))?;
                }
            }
            if calm.clients.iter().all(is_done) {
                return Ok(());
            }
            calm.tick += 1;
            calm.ring()?;
        }
        Err(LockOracle::NobodyStarves)
    }
}

impl Small for World {
    type Event = Event;
    type Oracle = LockOracle;

    fn text(&self) -> String {
        format!("{self:?}")
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (index, client) in self.clients.iter().enumerate() {
            let verbs: &[Verb] = match client.doing {
                Doing::Rests | Doing::Asks { .. } => &[Verb::Ask],
                Doing::Has { .. } => &[Verb::Renew, Verb::Release],
                Doing::Releases { .. } => &[Verb::Release],
                Doing::Done | Doing::Gone => &[],
            };
            let ways: &[Way] = match self.copies_left {
                0 => &[Way::Answered, Way::AnswerLost],
                _ => &[Way::Answered, Way::AnswerLost, Way::Copied],
            };
            for verb in verbs {
                events.extend(ways.iter().map(|way| Event::Says(index, *verb, *way)));
            }
            if !matches!(client.doing, Doing::Rests | Doing::Done | Doing::Gone) {
                events.push(Event::Crashes(index));
            }
        }
        events.extend((0..self.copies.len()).map(Event::Copy));
        if self.alarm_ms.is_some_and(|at_ms| at_ms <= self.now_ms()) {
            events.push(Event::Rings);
        }
        if self.evictions_left > 0 {
            events.push(Event::Evicted);
        }
        if self.tick < self.last_tick {
            events.push(Event::Tick);
        }
        events
    }

    fn after(&self, event: &Event) -> Result<Self, LockOracle> {
        let mut world = self.clone();
        match *event {
            Event::Says(index, verb, way) => {
                if let Some(message) = world.message(index, verb) {
                    if way == Way::Copied {
                        world.copies_left -= 1;
                        world.copies.push(message);
                    }
                    world.deliver(&message, Some(way == Way::Answered))?;
                }
            }
            Event::Copy(index) => {
                let message = world.copies.remove(index);
                world.deliver(&message, None)?;
            }
            Event::Crashes(index) => {
                world.clients[index].doing = Doing::Gone;
                world.clients[index].is_deaf = true;
            }
            Event::Evicted => {
                world.evictions_left -= 1;
                let now_ms = world.now_ms();
                let cut = world.object.evict(now_ms);
                for call in cut {
                    world.clients[usize::try_from(call).unwrap_or_default()].is_deaf = true;
                }
                world.arm();
            }
            Event::Rings => world.ring()?,
            Event::Tick => world.tick += 1,
        }
        Ok(world)
    }

    fn check(&self) -> Result<(), LockOracle> {
        if self.believes() > 1 {
            return Err(LockOracle::OneHolder);
        }
        let is_covered = match (self.object.next_ms(), self.alarm_ms) {
            (Some(next_ms), Some(alarm_ms)) => alarm_ms <= next_ms,
            (next_ms, _) => next_ms.is_none(),
        };
        if !is_covered || self.object.is_asleep() {
            return Err(LockOracle::NoLostWakeUp);
        }
        self.everybody_is_served()
    }
}
