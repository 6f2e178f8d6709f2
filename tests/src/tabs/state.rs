//! A state of a world of tabs.

use oncegate_core::attempt::flow::{Act, Flow, Wish};
use oncegate_core::attempt::record::Record;

use crate::witness::Oracle;

/// A way to pay.
pub(crate) type Card = u8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) tabs: [Tab; 2],
    /// The storage of the browser.
    pub(crate) stored: Option<Record>,
    /// What the gate knows, in the order of first arrival.
    pub(crate) operations: Vec<Operation>,
    /// Requests on their way.
    pub(crate) flying: Vec<Request>,
    pub(crate) copied: bool,
    pub(crate) age: Age,
    pub(crate) broken: Option<Oracle>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tab {
    pub(crate) clicks: u8,
    pub(crate) run: Option<Run>,
}

/// One order on its way, and what it was told to do last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) flow: Flow,
    pub(crate) act: Act,
    pub(crate) wish: Wish,
    pub(crate) card: Card,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Verb {
    Cancel,
    Look,
    Send(Card),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Request {
    /// Who waits for its answer; nobody, if the tab has gone on.
    pub(crate) tab: Option<usize>,
    pub(crate) verb: Verb,
    pub(crate) key: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operation {
    pub(crate) key: String,
    pub(crate) stands: Stands,
    pub(crate) effects: u8,
    /// Somebody was told that it failed.
    pub(crate) failed: bool,
    /// The tabs that wait for the answer of the open attempt.
    pub(crate) waiting: Vec<usize>,
}

/// Where an operation stands at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stands {
    Absent,
    Cancelled,
    Executed(Card),
    Open(Card),
    Refused(Card),
    Released,
}

/// How much time has passed since the first send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Age {
    Forgotten,
    Old,
    Young,
}

impl State {
    pub(crate) fn new(clicks: [u8; 2]) -> Self {
        let tab = |clicks| Tab { clicks, run: None };
        Self {
            tabs: clicks.map(tab),
            stored: None,
            operations: Vec::new(),
            flying: Vec::new(),
            copied: false,
            age: Age::Young,
            broken: None,
        }
    }

    pub(crate) fn effects(&self) -> u8 {
        self.operations.iter().map(|known| known.effects).sum()
    }

    pub(crate) fn operation(&mut self, key: &str) -> &mut Operation {
        let known = self.operations.iter().position(|known| known.key == key);
        let index = known.unwrap_or_else(|| {
            self.operations.push(Operation {
                key: key.to_owned(),
                stands: Stands::Absent,
                effects: 0,
                failed: false,
                waiting: Vec::new(),
            });
            self.operations.len() - 1
        });
        &mut self.operations[index]
    }

    /// Holds an effect against everything that was said and done before.
    pub(crate) fn execute(&mut self, key: &str, card: Card) {
        let operation = self.operation(key);
        operation.stands = Stands::Executed(card);
        operation.effects += 1;
        let (effects, failed) = (operation.effects, operation.failed);
        self.expect(effects == 1, Oracle::OneEffectPerKey);
        self.expect(!failed, Oracle::FailedIsFinal);
        let effects = self.effects();
        self.expect(effects == 1, Oracle::OneEffectPerPurchase);
    }

    /// The tab has gone on: what it sent may arrive all the same, and nobody waits for the answer. Of such
    /// requests, one is kept, and look-ups are not: they change nothing.
    pub(crate) fn orphan(&mut self, tab: usize) {
        for operation in &mut self.operations {
            operation.waiting.retain(|waiting| *waiting != tab);
        }
        let Some(own) = self.flying.iter().position(|sent| sent.tab == Some(tab)) else {
            return;
        };
        let mut request = self.flying.remove(own);
        if request.verb != Verb::Look {
            request.tab = None;
            self.flying.retain(|sent| sent.tab.is_some());
            self.fly(request);
        }
    }

    /// In an order of their own, so that it does not matter which was sent first.
    pub(crate) fn fly(&mut self, request: Request) {
        self.flying.push(request);
        self.flying.sort();
    }

    pub(crate) fn expect(&mut self, holds: bool, oracle: Oracle) {
        if !holds && self.broken.is_none() {
            self.broken = Some(oracle);
        }
    }
}
