//! Worlds in prose: a story says what happens, then what everybody was told.

use oncegate_core::attempt::{End, Reason};
use oncegate_core::key::KeyKind;
use oncegate_core::proof::Origin;

use crate::faults::{Chaos, Faults};
use crate::model::Card;
use crate::origin::Fate;
use crate::simulation::{Settings, Simulation};

/// A world in which only that goes wrong which the story says.
pub struct Story {
    simulation: Simulation,
    customer: usize,
    now_ms: u64,
}

/// What a customer was told in a tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the outcomes of the contract")]
pub enum Told {
    /// It is paid.
    Done,
    /// It is not paid, and never will be by what was clicked so far.
    Failed,
    /// Nothing, or that nobody knows.
    Nothing,
}

impl Story {
    /// One customer of a shop that keeps a ledger; after *failed*, these cards are tried in turn.
    pub fn of_customer_with(other_cards: &[Card]) -> Self {
        Self::at(Origin::Ledger, other_cards)
    }

    /// The same, at an origin of this kind.
    pub fn at(origin: Origin, other_cards: &[Card]) -> Self {
        let settings = Settings::new(origin, KeyKind::Client);
        Self::amid(Faults::none(), settings, other_cards)
    }

    /// The same, amid these faults.
    pub fn amid(faults: Faults, settings: Settings, other_cards: &[Card]) -> Self {
        let mut simulation = Simulation::new(1, faults, settings);
        let customer = simulation.customer(other_cards.to_vec());
        Self {
            simulation,
            customer,
            now_ms: 0,
        }
    }

    /// The next attempts that arrive at the origin have these fates; later ones go well.
    #[must_use]
    pub fn origin_will(mut self, fates: &[Fate]) -> Self {
        fates
            .iter()
            .for_each(|fate| self.simulation.next_fate(*fate));
        self
    }

    /// What follows happens this much later.
    #[must_use]
    pub fn after_ms(mut self, wait_ms: u64) -> Self {
        self.now_ms += wait_ms;
        self
    }

    /// The customer clicks on *pay* in a new tab. Tabs count from 0.
    #[must_use]
    pub fn pays_in_a_tab(mut self, card: Card) -> Self {
        let tab = self.simulation.tab(self.customer);
        self.simulation.click(self.now_ms, tab, card);
        self
    }

    /// The customer clicks on *pay* in a tab that is open.
    #[must_use]
    pub fn pays_again_in(mut self, tab: usize, card: Card) -> Self {
        self.simulation.click(self.now_ms, tab, card);
        self
    }

    /// The customer reloads a tab and pays with this card.
    #[must_use]
    pub fn reloads(mut self, tab: usize, card: Card) -> Self {
        self.simulation.reload(self.now_ms, tab, card);
        self
    }

    /// Something strikes.
    #[must_use]
    pub fn strikes(mut self, chaos: Chaos) -> Self {
        self.simulation.strike(self.now_ms, chaos);
        self
    }

    /// Lets it all happen; then each tab must have been told this, and the customer charged so often.
    ///
    /// # Panics
    ///
    /// It came otherwise; the message has the trace.
    #[track_caller]
    pub fn ends(mut self, told: &[Told], charges: usize) {
        if let Err(failure) = self.simulation.run_until_quiet() {
            panic!("{failure}");
        }
        let heard: Vec<_> = (0..told.len()).map(|tab| self.told(tab)).collect();
        let trace = self.simulation.trace().join("\n");
        assert_eq!(heard, told, "{trace}");
        assert_eq!(self.simulation.charges(self.customer), charges, "{trace}");
    }

    fn told(&self, tab: usize) -> Told {
        match self.simulation.end(tab) {
            Some(End::Done { .. }) => Told::Done,
            Some(End::Failed(Reason::Cancelled | Reason::Refused)) => Told::Failed,
            Some(End::Unknown(_)) | None => Told::Nothing,
        }
    }
}
