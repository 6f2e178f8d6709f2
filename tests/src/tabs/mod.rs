//! An exhaustive check of the browser: two tabs, one storage, one gate, and every interleaving of clicks,
//! crashes, lost and late requests and answers.
//!
//! **Invariant: nothing is drawn.** The flows are the real ones ([`oncegate_core::attempt::flow`]); the gate
//! is the contract's own sentence: one key has at most one effect as long as it is remembered, and its word
//! is true. What can go wrong here is therefore the client's fault.
//!
//! | module | plays |
//! | --- | --- |
//! | `gate` | what becomes of a request that arrives, and what is said of a key |
//! | `state` | a state, with what was said and what happened |
//! | `steps` | what tabs and the network can do |

mod gate;
mod state;
mod steps;

use oncegate_core::attempt::flow::Wish;

use crate::check::Explored;
use crate::check::explorer::{Model, explore};
use crate::witness::{Oracle, Violation};
use state::State;
use steps::TabStep;

/// What may happen in a world of tabs.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a world is written down whole")]
pub struct Tabs {
    /// Names it.
    pub name: &'static str,
    /// How often each tab is clicked at most.
    pub clicks: [u8; 2],
    /// What else than [`Wish::Submit`] the customer may want.
    pub wishes: &'static [Wish],
    /// The customer takes another card now and then.
    pub other_card: bool,
    /// The gate cancels an operation under way.
    pub cancels_open: bool,
    /// A request may arrive twice.
    pub copy: bool,
    /// So much time may pass between clicks that the gate forgets.
    pub ages: bool,
    /// A bug of the shell's.
    pub bug: Option<TabBug>,
}

/// A bug planted on purpose, of the kind that a shell could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests name each of them")]
pub enum TabBug {
    /// A look-up that finds nothing is taken for a cancellation.
    AbsentIsCancelled,
    /// The epoch rises when the operation is executed (against T4).
    EpochRaisedOnExecuted,
    /// A key that is too old is sent all the same (against T3).
    KeyNeverTooOld,
    /// Every click draws a key.
    KeyPerClick,
    /// *Unknown* is told as *failed*, and raises the epoch (against T4).
    UnknownIsFailed,
    /// A wrong answer without the gate's word is taken for a refusal (against T4).
    ErrorIsRefusal,
}

const TWO_TABS: Tabs = Tabs {
    name: "two tabs",
    clicks: [2, 1],
    wishes: &[],
    other_card: false,
    cancels_open: true,
    copy: false,
    ages: false,
    bug: None,
};

impl Tabs {
    /// The worlds that are explored whole.
    pub const ALL: [Self; 6] = [
        TWO_TABS,
        Self {
            name: "a request that arrives twice",
            clicks: [2, 0],
            copy: true,
            ..TWO_TABS
        },
        Self {
            name: "another card after a crash",
            clicks: [2, 0],
            other_card: true,
            copy: true,
            ..TWO_TABS
        },
        Self {
            name: "two tabs with two cards",
            clicks: [1, 1],
            other_card: true,
            ..TWO_TABS
        },
        Self {
            name: "look-ups and cancellations",
            clicks: [1, 1],
            wishes: &[Wish::LookUp, Wish::Cancel],
            cancels_open: false,
            ..TWO_TABS
        },
        Self {
            name: "keys that grow old",
            clicks: [2, 0],
            wishes: &[Wish::LookUp, Wish::Cancel],
            other_card: true,
            ages: true,
            ..TWO_TABS
        },
    ];

    /// The same world with a bug.
    #[must_use]
    pub fn with(self, bug: TabBug) -> Self {
        Self {
            bug: Some(bug),
            ..self
        }
    }

    /// Visits every state.
    pub fn explore(&self) -> Explored {
        explore(self, None)
    }

    /// Visits states until one contradicts this sentence.
    pub fn seek(&self, oracle: Oracle) -> Explored {
        explore(self, Some(oracle))
    }
}

impl Model for Tabs {
    type State = State;
    type Step = TabStep;

    fn start(&self) -> State {
        State::new(self.clicks)
    }

    fn steps(&self, from: &State, to: &mut Vec<(TabStep, State)>) {
        steps::all(self, from, to);
    }

    fn violation(&self, state: &State) -> Option<Violation> {
        let oracle = state.broken?;
        let text = format!("after {} effects", state.effects());
        Some(Violation { oracle, text })
    }

    /// Nothing is said here about what happens in the end.
    fn is_calm(&self, _: &State) -> bool {
        false
    }

    fn rests(&self, _: &State) -> bool {
        true
    }
}
