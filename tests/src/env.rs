//! What every part of the simulation shares: the time, what will happen, chance, and the record.

use std::collections::BTreeMap;
use std::fmt;

use oncegate_core::body::pointer::{Pointer, key_value};
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::operation::Terms;

use crate::browser::TabEvent;
use crate::courier::CourierEvent;
use crate::faults::{Chaos, Faults};
use crate::model::{CourierId, KeyId, SHARDS};
use crate::origin::OriginEvent;
use crate::plant::Plant;
use crate::queue::Queue;
use crate::random::Random;
use crate::shard::ShardEvent;
use crate::simulation::Settings;
use crate::witness::Witness;

#[derive(Debug)]
pub(crate) enum Event {
    Chaos(Chaos),
    Courier(CourierId, CourierEvent),
    /// Support goes through the list of what is in trouble.
    Operator,
    Origin(OriginEvent),
    Shard(ShardEvent),
    Tab(usize, TabEvent),
}

pub(crate) struct Env {
    pub(crate) now_ms: u64,
    pub(crate) queue: Queue<Event>,
    pub(crate) random: Random,
    pub(crate) faults: Faults,
    pub(crate) settings: Settings,
    pub(crate) witness: Witness,
    pub(crate) trace: Vec<String>,
    /// Counts the instances of each shard.
    pub(crate) instances: [u64; SHARDS],
    /// A newer gate has written the rows: this one cannot read them.
    pub(crate) rows_are_newer: bool,
    keys: BTreeMap<String, KeyId>,
    last_id: u64,
}

impl Env {
    pub(crate) fn new(seed: u64, faults: Faults, settings: Settings) -> Self {
        Self {
            now_ms: 0,
            queue: Queue::new(),
            random: Random::new(seed),
            witness: Witness::new(settings.kind),
            faults,
            settings,
            trace: Vec::new(),
            instances: [0; SHARDS],
            rows_are_newer: false,
            keys: BTreeMap::new(),
            last_id: 0,
        }
    }

    pub(crate) fn after(&mut self, wait_ms: u64, event: Event) {
        self.queue.push(self.now_ms + wait_ms, event);
    }

    /// Whether a fault of this rate strikes now.
    pub(crate) fn strikes(&mut self, per_mille: u32) -> bool {
        self.now_ms < self.faults.calm_ms && self.random.chance(per_mille)
    }

    pub(crate) fn has(&self, plant: Plant) -> bool {
        self.settings.plant == Some(plant)
    }

    pub(crate) fn terms(&self) -> Terms {
        self.settings.terms.clone()
    }

    /// One line of the trace.
    pub(crate) fn note(&mut self, line: fmt::Arguments<'_>) {
        self.trace.push(format!("{:>9} {line}", self.now_ms));
    }

    /// The short name of a key.
    pub(crate) fn intern(&mut self, key: &Key) -> KeyId {
        self.intern_text(key.as_str())
    }

    fn intern_text(&mut self, text: &str) -> KeyId {
        let next = KeyId(u32::try_from(self.keys.len()).unwrap_or(u32::MAX));
        *self.keys.entry(text.to_owned()).or_insert(next)
    }

    /// The operation that a key names: an order number is a number in the body, and is read there.
    pub(crate) fn identity(&mut self, key: KeyId) -> KeyId {
        if self.settings.kind != KeyKind::Generated {
            return key;
        }
        let text = self
            .keys
            .iter()
            .find(|(_, id)| **id == key)
            .map(|(text, _)| text.clone());
        let Some(number) = text.as_deref().and_then(|text| text.parse::<u64>().ok()) else {
            return key;
        };
        let number = match self.has(Plant::NumbersAsDoubles) {
            true => (number as f64).to_string(),
            false => number.to_string(),
        };
        let body = format!("{{\"order\":{number}}}");
        let pointer = Pointer::parse("/order").expect("it begins with a slash");
        let text = key_value(body.as_bytes(), &pointer).expect("a number is a key");
        self.intern_text(text.as_str())
    }

    /// The planted bug: what is one key to everybody is another one to each user.
    pub(crate) fn alias(&mut self, key: KeyId, user: u64) -> KeyId {
        self.intern_text(&format!("{key} of user {user}"))
    }

    /// A number that nothing else has.
    pub(crate) fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}
