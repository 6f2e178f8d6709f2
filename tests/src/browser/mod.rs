//! Customers and their tabs.
//!
//! A customer intends **one** purchase, whatever he clicks: in two tabs, twice, again after a reload,
//! again after hearing *failed*, with another card. After *unknown* he asks again with the same card.
//! A generated key, which the SDK does not know, he sometimes has cancelled before.
//!
//! Invariant: what a tab knows may be lost at any moment; what is stored is enough to go on. Nothing is decided here:
//! every tab asks [`oncegate_core::attempt::flow`], the machine that the SDK asks.

mod run;

use oncegate_core::attempt::budget::Budget;
use oncegate_core::attempt::record::{Naming, Record};
use oncegate_core::attempt::{End, Event as Happened};
use oncegate_core::intent::InstallSecret;
use oncegate_core::key::{Key, KeyKind};
use oncegate_core::proof::Origin;

use self::run::Run;
use crate::env::{Env, Event};
use crate::model::{Card, KeyId, Payload, Response, Ticket};
use crate::shard::{CancelEvent, ShardEvent};

/// How often a customer asks again at an origin that cannot tell.
const PATIENCE: u32 = 3;

/// How often, per mille, he has a generated key cancelled after *unknown*.
const CANCELS: u32 = 250;

/// What every customer's intent is called.
const INTENT: &str = "cart";

/// The first number of which a double cannot tell the next one.
const FIRST_ORDER: u64 = 1 << 53;

#[derive(Debug)]
pub(crate) enum TabEvent {
    Answered(Ticket, Box<Response>),
    Broken(Ticket),
    Click(Card),
    /// The customer closes the tab and does not come back.
    Leave,
    /// The customer comes back and pays with this card.
    Reload(Card),
    TimedOut(Ticket),
    WaitOver(Ticket),
}

#[derive(Debug)]
struct Customer {
    number: u8,
    /// What all his tabs read and write.
    stored: Option<Record>,
    /// The cards that are tried after *failed*, the last one first.
    other_cards: Vec<Card>,
}

#[derive(Debug)]
struct Tab {
    customer: usize,
    run: Option<Run>,
    /// The page's, and gone with it.
    budget: Budget,
    card: Card,
    /// How the last run ended; `None` while one is open or was interrupted.
    end: Option<End>,
    clicked: bool,
    left: bool,
    unknowns: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Browser {
    customers: Vec<Customer>,
    tabs: Vec<Tab>,
}

impl Customer {
    fn secret(&self) -> InstallSecret {
        InstallSecret::from_random([self.number; 32])
    }

    fn naming(&self) -> Naming {
        Naming::Derived {
            secret: self.secret(),
            intent: INTENT.to_owned(),
        }
    }

    /// The operation that the gate sees: an order number is the same whatever the SDK's key is.
    fn key(&self, env: &mut Env, text: &str) -> KeyId {
        let number = (FIRST_ORDER + u64::from(self.number)).to_string();
        let text = match env.settings.kind {
            KeyKind::Generated => &number,
            KeyKind::Client | KeyKind::Token => text,
        };
        let key = Key::parse(text).expect("what was stored is a key");
        env.intern(&key)
    }

    /// The key that he pays under next, as the SDK would say.
    fn next_key(&self, env: &mut Env) -> KeyId {
        let record = Record::current(self.stored.clone(), &self.naming());
        self.key(env, &record.key)
    }
}

impl Browser {
    /// A customer without tabs, who tries `other_cards` in turn after *failed*.
    pub(crate) fn customer(&mut self, mut other_cards: Vec<Card>) -> usize {
        let number = self.customers.len();
        other_cards.reverse();
        self.customers.push(Customer {
            number: u8::try_from(number).unwrap_or(u8::MAX),
            stored: None,
            other_cards,
        });
        number
    }

    /// Another tab of a customer.
    pub(crate) fn tab(&mut self, customer: usize) -> usize {
        self.tabs.push(Tab {
            customer,
            run: None,
            budget: Budget::default(),
            card: 0,
            end: None,
            clicked: false,
            left: false,
            unknowns: 0,
        });
        self.tabs.len() - 1
    }

    /// What the customer was told in this tab in the end.
    pub(crate) fn end(&self, tab: usize) -> Option<End> {
        self.tabs[tab].end
    }

    /// The purchases of which somebody was told something, with what.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (usize, Option<End>)> {
        self.tabs
            .iter()
            .filter(|tab| tab.clicked && !tab.left)
            .map(|tab| (tab.customer, tab.end))
    }

    pub(crate) fn handle(&mut self, env: &mut Env, tab: usize, event: TabEvent) {
        match event {
            TabEvent::Click(_) | TabEvent::Reload(_) if self.tabs[tab].left => {}
            TabEvent::Click(card) => self.click(env, tab, card),
            TabEvent::Leave => {
                env.note(format_args!("tab {tab} is closed"));
                self.tabs[tab].left = true;
                self.tabs[tab].run = None;
            }
            TabEvent::Reload(card) => self.reload(env, tab, card),
            TabEvent::Answered(ticket, response) => self.hear(env, ticket, response),
            TabEvent::Broken(ticket) => self.no_answer(env, ticket, Happened::NetworkError),
            TabEvent::TimedOut(ticket) => self.no_answer(env, ticket, Happened::TimedOut),
            TabEvent::WaitOver(ticket) => {
                let waiting = self.tabs[tab].run.as_ref();
                if waiting.is_some_and(|run| run.waits() && run.ticket == ticket) {
                    self.report(env, tab, Happened::WaitOver);
                }
            }
        }
    }

    /// The run that waits for an answer to this call; an answer to an earlier one is nobody's.
    fn awaited(&mut self, ticket: Ticket) -> Option<&mut Run> {
        let run = self.tabs[ticket.tab].run.as_mut();
        run.filter(|run| !run.waits() && run.ticket == ticket)
    }

    fn hear(&mut self, env: &mut Env, ticket: Ticket, response: Box<Response>) {
        if let Some(run) = self.awaited(ticket) {
            env.note(format_args!("tab {} hears {response}", ticket.tab));
            let answer = response.as_answer();
            run.keep(response);
            self.report(env, ticket.tab, Happened::Answered(answer));
        }
    }

    fn no_answer(&mut self, env: &mut Env, ticket: Ticket, what: Happened) {
        if self.awaited(ticket).is_some() {
            env.note(format_args!("tab {} hears nothing: {what:?}", ticket.tab));
            self.report(env, ticket.tab, what);
        }
    }

    /// The page is gone, with all that it knew. The customer comes back.
    fn reload(&mut self, env: &mut Env, tab: usize, card: Card) {
        if self.tabs[tab].run.take().is_some() {
            env.note(format_args!("tab {tab} is reloaded"));
            self.tabs[tab].budget = Budget::default();
            let back_ms = env.random.between(200, 20_000);
            env.after(back_ms, Event::Tab(tab, TabEvent::Click(card)));
        }
    }

    /// What the customer does about what he hears.
    fn react(&mut self, env: &mut Env, tab: usize, end: End) {
        let Tab {
            customer,
            card,
            unknowns,
            ..
        } = &mut self.tabs[tab];
        match end {
            End::Done { .. } => {}
            End::Failed(_) => {
                let Some(next) = self.customers[*customer].other_cards.pop() else {
                    return;
                };
                let pause_ms = env.random.between(500, 20_000);
                env.after(pause_ms, Event::Tab(tab, TabEvent::Click(next)));
            }
            End::Unknown(_) => {
                if env.now_ms >= env.faults.calm_ms {
                    *unknowns += 1;
                }
                let can_tell = env.settings.terms.origin == Origin::Ledger;
                if !can_tell && *unknowns >= PATIENCE {
                    return;
                }
                let pause_ms = env.random.between(500, 10_000);
                let again = *card;
                if env.settings.kind == KeyKind::Generated && env.random.chance(CANCELS) {
                    self.cancel(env, tab);
                }
                env.after(pause_ms, Event::Tab(tab, TabEvent::Click(again)));
            }
        }
    }

    /// The way out for a payload that meets an unknown operation of another one, where the SDK cannot
    /// cancel. Who cancels means to pay all the same.
    fn cancel(&mut self, env: &mut Env, tab: usize) {
        let Tab { customer, card, .. } = self.tabs[tab];
        let payload = Payload {
            purchase: customer,
            card,
        };
        let customer = &mut self.customers[customer];
        let key = customer.next_key(env);
        customer.other_cards.push(card);
        env.note(format_args!("tab {tab} cancels {key}"));
        let wait_ms = env.random.between(1, 500);
        env.after(
            wait_ms,
            Event::Shard(ShardEvent::Cancel(CancelEvent::Ask(key, payload))),
        );
    }
}
