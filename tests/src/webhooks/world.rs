//! One run: what is drawn, and what happens.

mod chain;

use std::collections::BTreeSet;

use super::gate::{Caller, Gate, Job};
use super::judge::Judge;
use super::sender::{Letter, Sender};
use super::shelf::Shelf;
use super::shop::{Fate, Said, Shop};
use super::{WebhookBug, WebhookOracle, WebhookSummary};
use crate::drawn::Failed;
use crate::queue::Queue;
use crate::random::Random;

const START_MS: u64 = 1_900_000_000_000;
const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// Faults happen within this time.
const LONGEST_STORM_MS: u64 = 20 * MINUTE_MS;

/// How long after it everybody must know.
const LEARN_WITHIN_MS: u64 = 3 * 60 * MINUTE_MS;

/// Between two sendings of an event: they double.
const FIRST_PAUSE_MS: u64 = 10_000;
const LONGEST_PAUSE_MS: u64 = 10 * MINUTE_MS;

/// How long a courier listens (rule A4).
const HARD_TIMEOUT_MS: u64 = 15 * MINUTE_MS;

/// How long a message is with a consumer that says nothing.
const OVERDUE_MS: u64 = MINUTE_MS;

#[derive(Debug)]
enum Event {
    Arrives(Caller, Letter),
    Evicted,
    GivesUp(Caller),
    HandsOut(u64),
    Heard {
        index: usize,
        is_taken: bool,
    },
    Overdue(u64, u32),
    Redrives,
    RowLate {
        key: String,
        process: u64,
    },
    Sends(usize),
    ShopEnds {
        job: Job,
        attempt: u32,
        process: u64,
        fate: Fate,
    },
    ShopGets {
        job: Job,
        attempt: u32,
    },
    ShopStarts,
    ShopStops,
    Told {
        key: String,
        attempt: u32,
        said: Option<Said>,
    },
}

/// Rates of faults, per mille.
#[derive(Default)]
struct Rates {
    lose: u32,
    copy: u32,
    delay: u32,
    forge: u32,
    fail: u32,
    slow: u32,
    courier_dies: u32,
    queue_fails: u32,
}

/// An event that somebody sends.
struct Sent {
    name: String,
    fact: u64,
    first_ms: u64,
    tries: u32,
    is_taken: bool,
}

pub(super) struct World {
    seed: u64,
    bug: Option<WebhookBug>,
    random: Random,
    queue: Queue<Event>,
    now_ms: u64,
    calm_ms: u64,
    rates: Rates,
    /// When nothing passes between sender and gate, and between gate and shop.
    cuts: [Option<(u64, u64)>; 2],
    sender: Sender,
    is_stored: bool,
    events: Vec<Sent>,
    gate: Gate,
    shelf: Shelf,
    shop: Shop,
    judge: Judge,
    calls: u64,
    /// Calls whose answer the sender waits for.
    listens: BTreeSet<u64>,
    letters: Vec<(usize, Letter)>,
    summary: WebhookSummary,
}

impl World {
    pub(super) fn new(seed: u64, bug: Option<WebhookBug>) -> Self {
        let mut random = Random::new(seed ^ 0x7765_6268_6f6f_6b73);
        let is_stored = random.chance(500);
        let calm_ms = START_MS + random.between(MINUTE_MS, LONGEST_STORM_MS);
        let mut world = Self {
            seed,
            bug,
            queue: Queue::new(),
            now_ms: START_MS,
            calm_ms,
            rates: Rates::draw(&mut random),
            cuts: [None, None],
            sender: Sender::draw(&mut random, is_stored, bug),
            is_stored,
            events: Vec::new(),
            gate: Gate::default(),
            shelf: Shelf::default(),
            shop: Shop::default(),
            judge: Judge::default(),
            calls: 0,
            listens: BTreeSet::new(),
            letters: Vec::new(),
            summary: WebhookSummary::default(),
            random,
        };
        world.draw_events();
        world.draw_blows();
        world
    }

    fn draw_events(&mut self) {
        for fact in 1..=self.random.between(1, 4) {
            if self.random.chance(150) {
                self.shop.refuses.insert(fact);
            }
            if self.random.chance(300) {
                let until_ms = self.time();
                self.shop.not_yet.insert(fact, until_ms);
            }
            // Some services send two events about one payment.
            for _ in 0..self.random.pick(&[1, 1, 2]) {
                let (index, first_ms) = (self.events.len(), self.time());
                let name = format!("evt-{index}");
                self.judge.genuine.insert(name.clone(), fact);
                self.events.push(Sent {
                    name,
                    fact,
                    first_ms,
                    tries: 0,
                    is_taken: false,
                });
                self.queue.push(first_ms, Event::Sends(index));
            }
        }
    }

    fn draw_blows(&mut self) {
        for cut in 0..self.cuts.len() {
            if self.random.chance(300) {
                let from_ms = self.time();
                self.cuts[cut] = Some((from_ms, from_ms + self.random.between(1, 5 * MINUTE_MS)));
            }
        }
        for _ in 0..self.random.between(0, 4) {
            let at_ms = self.time();
            self.queue.push(at_ms, Event::Evicted);
        }
        for _ in 0..self.random.between(0, 2) {
            let at_ms = self.time();
            let starts_ms = at_ms + self.random.between(1, MINUTE_MS);
            self.queue.push(at_ms, Event::ShopStops);
            self.queue.push(starts_ms, Event::ShopStarts);
        }
        for minutes in [30, 60, 90] {
            let at_ms = self.calm_ms + minutes * MINUTE_MS;
            self.queue.push(at_ms, Event::Redrives);
        }
    }

    fn time(&mut self) -> u64 {
        self.random.between(START_MS, self.calm_ms)
    }

    pub(super) fn run(mut self) -> Result<WebhookSummary, Failed<WebhookOracle>> {
        self.pass_until(self.calm_ms + LEARN_WITHIN_MS);
        self.check_end();
        // Whoever has kept a delivery sends it again when nobody remembers it.
        for (index, letter) in std::mem::take(&mut self.letters) {
            let at_ms = self.now_ms + self.random.between(3, 60) * DAY_MS;
            let caller = self.caller(index);
            self.queue.push(at_ms, Event::Arrives(caller, letter));
        }
        self.pass_until(u64::MAX);
        self.summary.effects = self.judge.effects();
        match self.judge.failure {
            None => Ok(self.summary),
            Some((oracle, text)) => Err(Failed {
                oracle,
                seed: self.seed,
                text: format!("{text}, after {} s", (self.now_ms - START_MS) / 1_000),
            }),
        }
    }

    fn pass_until(&mut self, end_ms: u64) {
        while self.judge.failure.is_none() {
            let Some((at_ms, event)) = self.queue.pop() else {
                return;
            };
            if at_ms > end_ms {
                self.queue.push(at_ms, event);
                return;
            }
            self.now_ms = at_ms;
            self.take(event);
        }
    }

    fn check_end(&mut self) {
        for event in &self.events {
            let name = &event.name;
            let is_known = self.judge.is_executed(name) && event.is_taken;
            let is_refused = self.shop.refuses.contains(&event.fact);
            self.judge
                .expect(is_known || is_refused, WebhookOracle::NeverLost, || {
                    format!("{name} is not executed, or its sender does not know")
                });
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Arrives(caller, letter) => self.arrive(caller, &letter),
            Event::Evicted => self.gate.evict(),
            Event::GivesUp(caller) => {
                if let Some(answer) = self.gate.give_up(caller, self.now_ms) {
                    self.answer(&answer);
                }
            }
            Event::HandsOut(id) => self.hand_out(id),
            Event::Heard { index, is_taken } => self.events[index].is_taken |= is_taken,
            Event::Overdue(id, handed) => self.overdue(id, handed),
            Event::Redrives => {
                for job in std::mem::take(&mut self.shelf.dead) {
                    self.put(job);
                }
            }
            Event::RowLate { key, process } => self.write_late(&key, process),
            Event::Sends(index) => self.send(index),
            Event::ShopEnds {
                job,
                attempt,
                process,
                fate,
            } => {
                self.shop_ends(job, attempt, process, fate);
            }
            Event::ShopGets { job, attempt } => self.shop_gets(job, attempt),
            Event::ShopStarts => self.shop.is_down = false,
            Event::ShopStops => self.shop.stop(),
            Event::Told { key, attempt, said } => {
                for answer in self.gate.settle(&key, attempt, said, self.now_ms) {
                    self.answer(&answer);
                }
            }
        }
    }

    /// The service sends an event, and will again if it is not taken.
    fn send(&mut self, index: usize) {
        let now_ms = self.now_ms;
        let Sent {
            name,
            fact,
            first_ms,
            tries,
            is_taken,
        } = &mut self.events[index];
        let is_late = now_ms > self.calm_ms + LEARN_WITHIN_MS;
        if *is_taken || is_late {
            return;
        }
        let pause_ms = (FIRST_PAUSE_MS << (*tries).min(6)).min(LONGEST_PAUSE_MS);
        *tries += 1;
        let letter = self.sender.sign(name, *fact, *first_ms, now_ms);
        self.letters.push((index, letter.clone()));
        let caller = self.caller(index);
        if let Caller::Sender(_, call) = caller {
            self.listens.insert(call);
        }
        if let Some(at_ms) = self.travel(0) {
            self.queue
                .push(at_ms, Event::Arrives(caller, letter.clone()));
        }
        if self.goes_wrong(self.rates.copy) {
            let copy_ms = now_ms + self.random.between(1, 10 * MINUTE_MS);
            let nobody = self.caller(index);
            self.queue
                .push(copy_ms, Event::Arrives(nobody, letter.clone()));
        }
        if self.goes_wrong(self.rates.forge) {
            let forged = letter.tampered(&mut self.random);
            let nobody = self.caller(index);
            self.queue.push(now_ms + 1, Event::Arrives(nobody, forged));
        }
        let again_ms = now_ms + pause_ms + self.random.between(0, pause_ms / 4);
        self.queue.push(again_ms, Event::Sends(index));
    }

    fn caller(&mut self, index: usize) -> Caller {
        self.calls += 1;
        Caller::Sender(index, self.calls)
    }

    /// When a message arrives, over one of both hops; `None` if it is lost.
    fn travel(&mut self, hop: usize) -> Option<u64> {
        let now_ms = self.now_ms;
        let is_cut =
            self.cuts[hop].is_some_and(|(from_ms, until_ms)| (from_ms..until_ms).contains(&now_ms));
        if is_cut || self.goes_wrong(self.rates.lose) {
            return None;
        }
        let usual_ms = now_ms + self.random.between(1, 20);
        match self.goes_wrong(self.rates.delay) {
            true => Some(usual_ms + self.random.between(1, 8 * MINUTE_MS)),
            false => Some(usual_ms),
        }
    }

    fn goes_wrong(&mut self, per_mille: u32) -> bool {
        self.random.chance(per_mille) && self.now_ms < self.calm_ms
    }
}

impl Rates {
    fn draw(random: &mut Random) -> Self {
        let mut rate = |most: u64| match random.chance(500) {
            true => u32::try_from(random.between(10, most)).unwrap_or_default(),
            false => 0,
        };
        Self {
            lose: rate(300),
            copy: rate(400),
            delay: rate(200),
            forge: rate(300),
            fail: rate(400),
            slow: rate(300),
            courier_dies: rate(200),
            queue_fails: rate(300),
        }
    }
}
