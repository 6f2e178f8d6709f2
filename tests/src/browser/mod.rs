//! Customers and their tabs.
//!
//! A customer intends **one** purchase, whatever he clicks: in two tabs, twice, again after a reload,
//! again after hearing *failed*, with another card. After *unknown* he asks again with the same card.
//! A generated key, which the SDK does not know, he sometimes has cancelled before.
//!
//! Invariant: what a tab knows may be lost at any moment; what is stored is enough to go on.

mod run;
mod storage;

use oncegate_core::attempt::{Aim, Attempt, End, Event as Happened};
use oncegate_core::intent::InstallSecret;
use oncegate_core::key::KeyKind;
use oncegate_core::proof::Origin;

use self::run::Run;
use self::storage::{Phase, Record};
use crate::env::{Env, Event};
use crate::model::{Card, Payload, Response, Ticket};
use crate::plant::Plant;
use crate::shard::{CancelEvent, ShardEvent};
use crate::witness::Oracle;

/// How often a customer asks again at an origin that cannot tell.
const PATIENCE: u32 = 3;

/// How often, per mille, he has a generated key cancelled after *unknown*.
const CANCELS: u32 = 250;

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
    secret: InstallSecret,
    record: Record,
    /// The cards that are tried after *failed*, the last one first.
    other_cards: Vec<Card>,
}

#[derive(Debug)]
struct Tab {
    customer: usize,
    run: Option<Run>,
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

impl Browser {
    /// A customer without tabs, who tries `other_cards` in turn after *failed*.
    pub(crate) fn customer(&mut self, env: &mut Env, mut other_cards: Vec<Card>) -> usize {
        let number = self.customers.len();
        let secret = InstallSecret::from_random([u8::try_from(number).unwrap_or(u8::MAX); 32]);
        other_cards.reverse();
        let record = storage::fresh(env, &secret, 0);
        let customer = Customer {
            record,
            secret,
            other_cards,
        };
        self.customers.push(customer);
        number
    }

    /// Another tab of a customer.
    pub(crate) fn tab(&mut self, customer: usize) -> usize {
        self.tabs.push(Tab {
            customer,
            run: None,
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
            TabEvent::Answered(ticket, response) => {
                if let Some(run) = self.awaited(ticket) {
                    env.note(format_args!("tab {tab} hears {response}"));
                    let answer = response.as_answer();
                    run.response = Some(response);
                    self.report(env, tab, Happened::Answered(answer));
                }
            }
            TabEvent::Broken(ticket) => self.no_answer(env, ticket, Happened::NetworkError),
            TabEvent::TimedOut(ticket) => self.no_answer(env, ticket, Happened::TimedOut),
            TabEvent::WaitOver(ticket) => {
                let waiting = self.tabs[tab].run.as_ref();
                if waiting.is_some_and(|run| run.waits && run.ticket == ticket) {
                    self.report(env, tab, Happened::WaitOver);
                }
            }
        }
    }

    /// The run that waits for an answer to this send; an answer to an earlier one is nobody's.
    fn awaited(&mut self, ticket: Ticket) -> Option<&mut Run> {
        let run = self.tabs[ticket.tab].run.as_mut();
        run.filter(|run| !run.waits && run.ticket == ticket)
    }

    fn no_answer(&mut self, env: &mut Env, ticket: Ticket, what: Happened) {
        if self.awaited(ticket).is_some() {
            env.note(format_args!("tab {} hears nothing: {what:?}", ticket.tab));
            self.report(env, ticket.tab, what);
        }
    }

    /// While a run is open, a click gets the same promise.
    fn click(&mut self, env: &mut Env, tab: usize, card: Card) {
        let Tab { customer, run, .. } = &self.tabs[tab];
        if run.is_some() {
            return env.note(format_args!("tab {tab}: a click too many"));
        }
        let purchase = *customer;
        let record = storage::current(env, &self.customers[purchase]);
        let payload = Payload { purchase, card };
        env.note(format_args!(
            "tab {tab} pays with card {card} under {}",
            record.key
        ));
        self.tabs[tab].card = card;
        self.tabs[tab].clicked = true;
        self.tabs[tab].end = None;
        let is_executed = record.phase == Phase::Executed;
        let changed = record.card.is_some_and(|executed| executed != card);
        let seed = env.random.bits();
        let (machine, action) = Attempt::start(
            env.now_ms,
            run::config(is_executed),
            Aim::Submit,
            true,
            seed,
        );
        let ticket = Ticket {
            tab,
            run: env.id(),
            send: 0,
        };
        self.tabs[tab].run = Some(Run {
            ticket,
            machine,
            record,
            payload,
            is_executed,
            waits: false,
            response: None,
        });
        if is_executed && changed {
            let end = End::Done {
                replayed: true,
                changed: true,
            };
            return self.finish(env, tab, end);
        }
        self.perform(env, tab, action);
    }

    /// The page is gone, with all that it knew. The customer comes back.
    fn reload(&mut self, env: &mut Env, tab: usize, card: Card) {
        if self.tabs[tab].run.take().is_some() {
            env.note(format_args!("tab {tab} is reloaded"));
            let back_ms = env.random.between(200, 20_000);
            env.after(back_ms, Event::Tab(tab, TabEvent::Click(card)));
        }
    }

    fn report(&mut self, env: &mut Env, tab: usize, event: Happened) {
        let Some(run) = self.tabs[tab].run.as_mut() else {
            return;
        };
        match run.machine.clone().handle(env.now_ms, event) {
            Ok((machine, action)) => {
                run.machine = machine;
                self.perform(env, tab, action);
            }
            Err(error) => {
                env.witness
                    .expect(false, Oracle::MachinesAreObeyed, || error.to_string());
            }
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
        let key = customer.record.key;
        customer.other_cards.push(card);
        env.note(format_args!("tab {tab} cancels {key}"));
        let wait_ms = env.random.between(1, 500);
        env.after(
            wait_ms,
            Event::Shard(ShardEvent::Cancel(CancelEvent::Ask(key, payload))),
        );
    }

    /// The end of a run, as in [`oncegate_core::attempt::flow`].
    fn finish(&mut self, env: &mut Env, tab: usize, end: End) {
        let Some(mut run) = self.tabs[tab].run.take() else {
            return;
        };
        let customer = &mut self.customers[run.payload.purchase];
        let is_done = matches!(end, End::Done { .. });
        let end = match run.is_executed && !is_done {
            // It was executed before: whatever is heard now, it is done (rule T4).
            true => End::Done {
                replayed: true,
                changed: run.record.card != Some(run.payload.card),
            },
            false => end,
        };
        let response = run.response.take().filter(|_| is_done);
        let text = response.as_ref().and_then(|response| response.text());
        env.note(format_args!(
            "tab {tab} is told {end:?} of {}",
            run.record.key
        ));
        env.witness.heard(run.record.key, run.payload, end, text);
        match end {
            End::Done { changed, .. } => {
                run.record.phase = Phase::Executed;
                run.record.card = (!changed).then_some(run.payload.card);
                storage::store(customer, run.record);
                if env.has(Plant::EpochRaisedOnExecuted) {
                    storage::close(env, customer, run.record.epoch);
                }
            }
            end if end.raises_epoch() => storage::close(env, customer, run.record.epoch),
            _ => {}
        }
        self.tabs[tab].end = Some(end);
        self.react(env, tab, end);
    }
}
