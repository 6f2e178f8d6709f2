//! The worlds: what may happen in each.
//!
//! Invariant: one world is small enough to be seen whole. What cannot be in one world together is
//! spread over several, each hostile in its own way.

use oncegate_contract::usual;
use oncegate_core::key::KeyKind;
use oncegate_core::operation::Terms;
use oncegate_core::proof::Origin;

use super::client::{self, ClientStep};
use super::explorer::{Explored, Model, explore};
use super::gate::{self, GateStep};
use super::machine::Machine;
use super::origin::{self, OriginStep};
use super::settling::{self, SettlingStep};
use super::state::{Asker, State};
use crate::plant::Plant;
use crate::witness::{Oracle, Violation};

/// The lease is over.
pub(super) const LEASE_MS: u64 = 30_000;
/// Every courier has ended, and a negative counts.
pub(super) const SETTLE_MS: u64 = 15 * 60_000;
pub(super) const DAY_MS: u64 = 24 * 60 * 60_000;
pub(super) const RESULT_TTL_MS: u64 = DAY_MS;
pub(super) const KEY_TTL_MS: u64 = 7 * DAY_MS;
pub(super) const RETENTION_MS: u64 = 30 * DAY_MS;

/// A world that is seen whole.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Small {
    /// What it is called.
    pub name: &'static str,
    /// The kind of its origin.
    pub origin: Origin,
    /// Who makes its keys.
    pub kind: KeyKind,
    /// Attempts, under all keys, while there are faults.
    pub attempts: u8,
    /// How much time can pass; the first is none.
    pub ages: &'static [u64],
    /// What else may happen.
    pub may: May,
    /// A bug, if there is to be one.
    pub plant: Option<Plant>,
}

/// What may happen in a world.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct May {
    /// The clock steps back.
    pub back: bool,
    /// A client cancels.
    pub cancel: bool,
    /// The network keeps a copy of the first request and delivers it at any time.
    pub copy: bool,
    /// Something in front of the origin answers with a status of its own, while the attempt goes on.
    pub lie: bool,
    /// Content is erased on request.
    pub erase: bool,
    /// The gate settles what is unknown by its alarm.
    pub finish: bool,
    /// Replies and completions are lost, and couriers die.
    pub lose: bool,
    /// A person settles what is unknown.
    pub operator: bool,
    /// A second client asks under the first key, with the same card.
    pub other: bool,
    /// The second client is another person.
    pub stranger: bool,
    /// The second client pays with another card.
    pub other_card: bool,
    /// The gate asks about a request that it cannot send again.
    pub probe: bool,
    /// The ledger forgets its rows after its retention.
    pub purge: bool,
    /// The ledger is set back while it is in use, as from a backup: what it knew it knows no more.
    pub restore: bool,
    /// Who hears that it failed takes the next key.
    pub second_key: bool,
    /// Answers are passed through as they come.
    pub stream: bool,
    /// The first client may go on to another card under the same key.
    pub switch: bool,
    /// A courier tells the shard twice.
    pub twice: bool,
    /// A duplicate waits for the open attempt.
    pub wait: bool,
}

/// A step in a world.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the path to a fault is told by Debug")]
pub(super) enum Step {
    /// Faults stop.
    Calm,
    Client(ClientStep),
    Gate(GateStep),
    Origin(OriginStep),
    Settling(SettlingStep),
}

pub(super) struct World {
    pub(super) small: Small,
    pub(super) machine: Machine,
}

impl Small {
    /// Sees the world whole.
    pub fn explore(self) -> Explored {
        explore(&self.world(), None)
    }

    /// Looks for a way to contradict a sentence.
    pub fn contradict(self, sought: Oracle) -> Explored {
        explore(&self.world(), Some(sought))
    }

    fn world(self) -> World {
        World {
            machine: Machine::new(&self),
            small: self,
        }
    }

    /// The same world, with a bug.
    #[must_use]
    pub fn with(self, plant: Plant) -> Self {
        Self {
            plant: Some(plant),
            ..self
        }
    }

    pub(super) fn terms(&self) -> Terms {
        Terms {
            lease_ms: LEASE_MS,
            result_ttl_ms: RESULT_TTL_MS,
            key_ttl_ms: KEY_TTL_MS,
            ledger_retention_ms: RETENTION_MS,
            settle_after_ms: SETTLE_MS,
            finish: self.may.finish,
            ..usual::terms(self.origin)
        }
    }

    pub(super) fn is_ledger(&self) -> bool {
        self.origin == Origin::Ledger
    }
}

/// Where steps go.
pub(super) type Steps = Vec<(Step, State)>;

impl Model for World {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State::new(Asker {
            key: 0,
            card: u8::from(self.small.may.other_card),
            who: u8::from(self.small.may.stranger),
        })
    }

    fn steps(&self, from: &State, to: &mut Steps) {
        client::steps(self, from, to);
        gate::steps(self, from, to);
        origin::steps(self, from, to);
        settling::steps(self, from, to);
        if !from.calm {
            to.push((Step::Calm, from.clone().calm()));
        }
    }

    fn violation(&self, state: &State) -> Option<Violation> {
        let oracle = state.broken.or_else(|| self.contradiction(state))?;
        Some(Violation {
            oracle,
            text: format!("in the world \"{}\"", self.small.name),
        })
    }

    fn is_calm(&self, state: &State) -> bool {
        state.calm
    }

    fn rests(&self, state: &State) -> bool {
        let settled = (0..2_u8).all(|key| {
            let row = state.rows[usize::from(key)];
            let viewed = self.machine.view(row.record, row.age);
            viewed.is_none_or(|viewed| viewed.view.unsettled == 0 || viewed.view.executed.is_some())
        });
        settled && state.attempts().next().is_none() && state.inquiry.is_none()
    }
}

impl World {
    /// What is on record against what is true.
    fn contradiction(&self, state: &State) -> Option<Oracle> {
        let effects = [state.effects_of(0), state.effects_of(1)];
        if effects.iter().any(|effects| *effects > 1) {
            return Some(Oracle::OneEffectPerKey);
        }
        if effects.iter().sum::<u8>() > 1 {
            return Some(Oracle::OneEffectPerPurchase);
        }
        (0..2).find_map(|key| self.contradiction_of(state, key))
    }

    /// Where what is said to be true need not be: without a ledger a lie is believed, and so is a ledger
    /// that has forgotten. What comes of it, the effects show. A dispute is reached in no other world: it
    /// is a record that hears that what it said is not true, and where that contradicts a sentence, the
    /// way ends there.
    fn is_deceived(&self) -> bool {
        let may = self.small.may;
        may.restore || may.lie && !self.small.is_ledger()
    }

    fn contradiction_of(&self, state: &State, key: u8) -> Option<Oracle> {
        use oncegate_core::operation::State::{Dispatched, Executed, Released, Unknown};
        let row = state.rows[usize::from(key)];
        let viewed = self.machine.view(row.record, row.age)?;
        let happened = state.effects_of(key) > 0;
        let alive = state.attempts().filter(|(_, attempt)| {
            attempt.asker.key == key && attempt.place != super::state::Place::Over
        });
        let alive = alive.count();
        let is_open = matches!(viewed.view.state, Dispatched | Unknown);
        let has_no_end = is_open || viewed.view.disputed;
        match viewed.view.state {
            _ if viewed.is_expired && has_no_end => Some(Oracle::UnknownNeverExpires),
            _ if self.is_deceived() => None,
            _ if viewed.view.safe_new_key && happened => Some(Oracle::SafeNewKeyIsSafe),
            Executed if !happened => Some(Oracle::ExecutedIsTrue),
            Released if happened || alive > 0 => Some(Oracle::NotExecutedIsTrue),
            _ if alive > 1 && !self.small.is_ledger() => Some(Oracle::OneOwner),
            _ => None,
        }
    }
}
