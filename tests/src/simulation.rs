//! The loop: takes the next event and gives it to whom it concerns.

use std::fmt;

use oncegate_contract::usual;
use oncegate_core::attempt::End;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::{State, Terms};
use oncegate_core::proof::Origin as Kind;

use crate::browser::{Browser, TabEvent};
use crate::courier::Couriers;
use crate::env::{Env, Event};
use crate::faults::{Chaos, Faults};
use crate::model::{Card, SHARDS};
use crate::origin::{Fate, Inquiry, Origin, OriginEvent};
use crate::plant::Plant;
use crate::shard::Shard;
use crate::witness::{Oracle, Violation};

/// A run that takes longer is a wedge.
const MOST_EVENTS: u64 = 50_000;

/// How long after the faults everybody must have been told. The longest delay of a message, and the
/// time for which couriers listen, end before.
const LEARN_WITHIN_MS: u64 = 60 * 60 * 1_000;

/// How often support looks after what is in trouble.
const SUPPORT_EVERY_MS: u64 = 11 * 60 * 1_000;
const SUPPORT_ROUNDS: u64 = 5;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// What is protected, and by what.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "worlds construct it")]
pub struct Settings {
    /// The route's terms, the kind of its origin among them.
    pub terms: Terms,
    /// Who makes the keys.
    pub kind: KeyKind,
    /// Whether an operation is bound to who asked for it.
    pub binds: bool,
    /// Whether support settles what the gate cannot.
    pub operator: bool,
    /// Whether rows come back from storage as version 0.1 wrote them.
    pub rows_are_old: bool,
    /// A bug, if there is to be one.
    pub plant: Option<Plant>,
}

/// A run.
pub struct Simulation {
    seed: u64,
    env: Env,
    browser: Browser,
    shards: [Shard; SHARDS],
    couriers: Couriers,
    origin: Origin,
    events: u64,
}

/// What a run came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// How many events there were.
    pub events: u64,
    /// How many effects.
    pub effects: usize,
    /// How long it took, in virtual milliseconds.
    pub took_ms: u64,
}

/// A run in which something did not hold, with all that happened in it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Failure {
    /// The run.
    pub seed: u64,
    /// What did not hold.
    pub violation: Violation,
    /// Each event in a line.
    pub trace: Vec<String>,
}

impl Settings {
    /// The gate's default times.
    pub fn new(origin: Kind, kind: KeyKind) -> Self {
        Self {
            terms: usual::terms(origin),
            kind,
            binds: false,
            operator: false,
            rows_are_old: false,
            plant: None,
        }
    }
}

impl Simulation {
    /// A world without customers.
    pub fn new(seed: u64, faults: Faults, settings: Settings) -> Self {
        let mut env = Env::new(seed, faults, settings);
        for round in 1..=if env.settings.operator {
            SUPPORT_ROUNDS
        } else {
            0
        } {
            env.after(round * SUPPORT_EVERY_MS, Event::Operator);
        }
        Self {
            seed,
            env,
            browser: Browser::default(),
            shards: std::array::from_fn(Shard::new),
            couriers: Couriers::default(),
            origin: Origin::new(),
            events: 0,
        }
    }

    /// Adds a customer, who tries these cards in turn after *failed*.
    pub fn customer(&mut self, other_cards: Vec<Card>) -> usize {
        self.browser.customer(other_cards)
    }

    /// Opens a tab of this customer.
    pub fn tab(&mut self, customer: usize) -> usize {
        self.browser.tab(customer)
    }

    /// The customer will click on *pay* in this tab.
    pub fn click(&mut self, at_ms: u64, tab: usize, card: Card) {
        let click = TabEvent::Click(card);
        self.env.queue.push(at_ms, Event::Tab(tab, click));
    }

    /// The customer will reload this tab, if it is at work, and pay with this card then.
    pub fn reload(&mut self, at_ms: u64, tab: usize, card: Card) {
        self.env
            .queue
            .push(at_ms, Event::Tab(tab, TabEvent::Reload(card)));
    }

    /// The customer will close this tab for good.
    pub fn leave(&mut self, at_ms: u64, tab: usize) {
        self.env.queue.push(at_ms, Event::Tab(tab, TabEvent::Leave));
    }

    /// Something will strike.
    pub fn strike(&mut self, at_ms: u64, chaos: Chaos) {
        self.env.queue.push(at_ms, Event::Chaos(chaos));
    }

    /// The next attempt without a fate that arrives at the origin has this one.
    pub fn next_fate(&mut self, fate: Fate) {
        self.origin.script.push_back(fate);
    }

    /// Lets everything happen, and holds the end against what must be true of it.
    ///
    /// # Errors
    ///
    /// [`Failure`]: something did not hold.
    pub fn run_until_quiet(&mut self) -> Result<Summary, Box<Failure>> {
        while self.env.witness.violation().is_none() {
            let Some((at_ms, event)) = self.env.queue.pop() else {
                self.check_end();
                break;
            };
            self.env.now_ms = at_ms;
            self.events += 1;
            self.handle(event);
            self.check_speed();
        }
        match self.env.witness.violation() {
            Some(violation) => Err(Box::new(Failure {
                seed: self.seed,
                violation: violation.clone(),
                trace: std::mem::take(&mut self.env.trace),
            })),
            None => Ok(Summary {
                events: self.events,
                effects: self.env.witness.effects(),
                took_ms: self.env.now_ms,
            }),
        }
    }

    /// What the customer was told in this tab.
    pub fn end(&self, tab: usize) -> Option<End> {
        self.browser.end(tab)
    }

    /// How often the customer was charged.
    pub fn charges(&self, customer: usize) -> usize {
        self.env.witness.effects_of(customer)
    }

    /// What has happened so far.
    pub fn trace(&self) -> &[String] {
        &self.env.trace
    }

    fn handle(&mut self, event: Event) {
        let env = &mut self.env;
        match event {
            Event::Chaos(chaos) => self.suffer(chaos),
            Event::Courier(id, event) => self.couriers.handle(env, id, event),
            Event::Origin(event) => self.origin.handle(env, event),
            Event::Operator => {
                let happened = |key| self.origin.has_executed(key);
                for shard in &mut self.shards {
                    shard.operator(env, happened);
                }
            }
            Event::Shard(event) => self.shards[event.shard()].handle(env, event),
            Event::Tab(tab, event) => self.browser.handle(env, tab, event),
        }
    }

    fn suffer(&mut self, chaos: Chaos) {
        let env = &mut self.env;
        match chaos {
            Chaos::CancelAtOrigin => {
                let newest = self.shards.iter().filter_map(Shard::newest);
                if let Some((key, payload)) = newest.max_by_key(|(key, _)| *key) {
                    let inquiry = Inquiry {
                        key,
                        payload,
                        attempt: None,
                    };
                    self.origin.handle(env, OriginEvent::Cancel(inquiry));
                }
            }
            Chaos::ClockJumps(by_ms) => self.each(|shard, env| shard.jump(env, by_ms)),
            Chaos::CouriersDie => self.couriers.all_die(env),
            Chaos::Evict => self.each(Shard::evict),
            Chaos::NewerVersion => env.rows_are_newer = true,
            Chaos::NoNewerVersion => env.rows_are_newer = false,
            Chaos::OriginStarts => self.origin.start(env),
            Chaos::OriginStops => self.origin.stop(env),
            Chaos::Replace => self.each(Shard::replace),
            Chaos::TurnTables => self.each(Shard::turn_tables),
        }
    }

    fn each(&mut self, mut strike: impl FnMut(&mut Shard, &mut Env)) {
        for shard in &mut self.shards {
            strike(shard, &mut self.env);
        }
    }

    /// Where the gate finishes, or support does, nothing stays open.
    fn check_settled(&mut self) {
        let Settings {
            terms, operator, ..
        } = &self.env.settings;
        if !(*operator || terms.finish && terms.origin == Kind::Ledger) {
            return;
        }
        let open: Vec<_> = self
            .shards
            .iter()
            .flat_map(|shard| shard.open(&self.env))
            .collect();
        let witness = &mut self.env.witness;
        witness.expect(open.is_empty(), Oracle::EverythingSettles, || {
            format!("{open:?} are open long after the faults")
        });
    }

    fn check_speed(&mut self) {
        let late = self.env.now_ms > self.env.faults.calm_ms + LEARN_WITHIN_MS;
        let quiet_in_time = self.events < MOST_EVENTS && !late;
        self.env
            .witness
            .expect(quiet_in_time, Oracle::EveryoneLearns, || {
                "somebody is still asking long after the faults".to_owned()
            });
    }

    fn check_end(&mut self) {
        let is_ledger = self.env.settings.terms.origin == Kind::Ledger;
        for (customer, end) in self.browser.ends() {
            let learned = matches!(end, Some(End::Done { .. } | End::Failed(_)));
            let charges = self.env.witness.effects_of(customer);
            let witness = &mut self.env.witness;
            witness.expect(learned || !is_ledger, Oracle::EveryoneLearns, || {
                format!("customer {customer} is left with {end:?}, and {charges} charges")
            });
        }
        self.check_settled();
        let shards = self.shards.iter();
        let expired = shards
            .flat_map(|shard| shard.look(&self.env, 1_000 * DAY_MS))
            .find(|(_, view, expired)| {
                *expired && matches!(view.state, State::Dispatched | State::Unknown)
            });
        let witness = &mut self.env.witness;
        witness.expect(expired.is_none(), Oracle::UnknownNeverExpires, || {
            format!("a record without proof expires: {expired:?}")
        });
    }
}

/// The seed, the command that shows it again, and the trace.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seed,
            violation,
            trace,
        } = self;
        for line in trace {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "seed {seed}: {violation}")?;
        write!(
            f,
            "again: ONCEGATE_SEED={seed} ONCEGATE_SEEDS=1 cargo test -p oncegate-tests --test worlds"
        )
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
