//! What tabs, their customer and the network can do.
//!
//! Invariant: a tab reads the storage, asks its flow, and writes, in one step; everything else may come
//! between two steps.

use oncegate_core::attempt::budget::Budget;
use oncegate_core::attempt::flow::{Act, Flow, Moment, Order, Step, Wish};
use oncegate_core::attempt::record::{Naming, Record};
use oncegate_core::attempt::{Config, End, Event};
use oncegate_core::intent::{ASSUMED_LIFETIME_MS, InstallSecret};
use oncegate_core::outcome::Outcome;

use super::gate::{self, Ending, Heard};
use super::state::{Age, Card, Operation, Request, Run, Stands, State, Verb};
use super::{TabBug, Tabs};
use crate::witness::Oracle;

/// Waits take no time, so that they make no states of their own; calls are what there is little of.
const LIMITS: Config = Config {
    base_ms: 0,
    cap_ms: 0,
    attempt_timeout_ms: 1,
    deadline_ms: 10,
    max_sends: 2,
};

#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the path to a fault is told by Debug")]
pub(crate) enum TabStep {
    /// A request arrives; its answer is heard or lost.
    Arrives {
        request: usize,
        heard: bool,
    },
    Clicks(usize, Card, Wish),
    Crashes(usize),
    /// An attempt ends; who waits for it hears of it or not.
    Ends {
        operation: usize,
        ending: Ending,
        heard: bool,
    },
    GateForgets,
    /// Somebody else answers: a proxy, with an error.
    HearsAnError(usize),
    HearsNothing(usize),
    IsCopied(usize),
    KeysGrowOld,
    WaitIsOver(usize),
}

type Steps = Vec<(TabStep, State)>;

pub(super) fn all(world: &Tabs, from: &State, to: &mut Steps) {
    for tab in 0..2 {
        match &from.tabs[tab].run {
            None => clicks(world, from, tab, to),
            Some(run) => goes_on(world, from, tab, run.act, to),
        }
    }
    for request in 0..from.flying.len() {
        arrives(world, from, request, to);
    }
    for operation in 0..from.operations.len() {
        ends(world, from, operation, to);
    }
    if world.ages && from.tabs.iter().all(|tab| tab.run.is_none()) {
        ages(from, to);
    }
}

fn clicks(world: &Tabs, from: &State, tab: usize, to: &mut Steps) {
    if from.tabs[tab].clicks == 0 {
        return;
    }
    for card in 0..=u8::from(world.other_card) {
        to.push((
            TabStep::Clicks(tab, card, Wish::Submit),
            click(world, from, tab, card, Wish::Submit),
        ));
    }
    for wish in world.wishes {
        let step = TabStep::Clicks(tab, 0, *wish);
        to.push((step, click(world, from, tab, 0, *wish)));
    }
}

fn click(world: &Tabs, from: &State, tab: usize, card: Card, wish: Wish) -> State {
    let mut state = from.clone();
    state.tabs[tab].clicks -= 1;
    let order = Order {
        wish,
        naming: naming(world, &state),
        digest: match wish {
            Wish::Submit => card.to_string(),
            Wish::Cancel | Wish::LookUp => String::new(),
        },
        proven: true,
        config: LIMITS,
        seed: 0,
    };
    let mut budget = Budget::default();
    let (flow, step) = Flow::start(order, moment(world, &state, &mut budget));
    obey(world, &mut state, tab, (flow, wish, card), step);
    state
}

fn naming(world: &Tabs, state: &State) -> Naming {
    let clicks_left: u8 = state.tabs.iter().map(|tab| tab.clicks).sum();
    let secret = match world.bug {
        Some(TabBug::KeyPerClick) => [clicks_left; 32],
        _ => [7; 32],
    };
    Naming::Derived {
        secret: InstallSecret::from_random(secret),
        intent: "cart".to_owned(),
    }
}

fn moment<'a>(world: &Tabs, state: &State, budget: &'a mut Budget) -> Moment<'a> {
    let stored = match world.bug {
        Some(TabBug::KeyPerClick) => None,
        _ => state.stored.clone(),
    };
    Moment {
        now_ms: 0,
        wall_ms: match state.age {
            Age::Young => 0,
            Age::Old | Age::Forgotten if world.bug == Some(TabBug::KeyNeverTooOld) => 0,
            Age::Old => ASSUMED_LIFETIME_MS / 100 * 95,
            Age::Forgotten => 2 * ASSUMED_LIFETIME_MS,
        },
        stored,
        budget,
    }
}

fn goes_on(world: &Tabs, from: &State, tab: usize, act: Act, to: &mut Steps) {
    let mut crashed = from.clone();
    crashed.tabs[tab].run = None;
    crashed.orphan(tab);
    to.push((TabStep::Crashes(tab), crashed));
    let mut hear = |step, event| {
        let mut state = from.clone();
        report(world, &mut state, tab, event);
        to.push((step, state));
    };
    if let Act::Wait { .. } = act {
        return hear(TabStep::WaitIsOver(tab), Event::WaitOver);
    }
    hear(TabStep::HearsNothing(tab), Event::NetworkError);
    let error = gate::bare(404);
    hear(TabStep::HearsAnError(tab), Event::Answered(error));
}

fn report(world: &Tabs, state: &mut State, tab: usize, event: Event) {
    let Some(run) = state.tabs[tab].run.take() else {
        return;
    };
    state.orphan(tab);
    let mut budget = Budget::default();
    let lifetime_ms = match event {
        Event::Answered(answer) => answer.gate.then_some(ASSUMED_LIFETIME_MS),
        _ => None,
    };
    let event = misread(world, run.act, event);
    let moment = moment(world, state, &mut budget);
    match run.flow.next(event, lifetime_ms, moment) {
        Ok((flow, step)) => obey(world, state, tab, (flow, run.wish, run.card), step),
        Err(_) => state.expect(false, Oracle::MachinesAreObeyed),
    }
}

/// What a shell with a bug makes of an answer.
fn misread(world: &Tabs, act: Act, event: Event) -> Event {
    let Event::Answered(mut answer) = event else {
        return event;
    };
    let looks = matches!(act, Act::Look { .. });
    match world.bug {
        Some(TabBug::AbsentIsCancelled) if looks && answer.problem.state.is_none() => {
            answer.problem.state = Some(Outcome::Cancelled);
            answer.problem.safe_new_key = true;
        }
        Some(TabBug::ErrorIsRefusal) if !answer.gate => {
            answer.status = Some(oncegate_core::outcome::Status::Refused);
        }
        _ => {}
    }
    Event::Answered(answer)
}

/// Writes, then does what the step says.
fn obey(world: &Tabs, state: &mut State, tab: usize, run: (Flow, Wish, Card), step: Step) {
    let (flow, wish, card) = run;
    if let Some(record) = step.write {
        check_epoch(state, &record);
        state.stored = Some(record);
    }
    let verb = match step.act {
        Act::Send { .. } => Some(Verb::Send(card)),
        Act::Look { .. } => Some(Verb::Look),
        Act::Cancel { .. } => Some(Verb::Cancel),
        Act::Wait { .. } => None,
        Act::Finish { end, answered } => {
            let paid = (answered && wish == Wish::Submit).then_some(card);
            return finish(world, state, &flow.record().clone(), end, paid);
        }
    };
    if let Some(verb) = verb {
        let key = flow.record().key.clone();
        let tab = Some(tab);
        state.fly(Request { tab, verb, key });
    }
    let act = step.act;
    state.tabs[tab].run = Some(Run {
        flow,
        act,
        wish,
        card,
    });
}

/// A key is replaced only after its operation was refused or cancelled (rule T4).
fn check_epoch(state: &mut State, record: &Record) {
    let Some(before) = &state.stored else {
        return;
    };
    if record.epoch <= before.epoch || before.key.is_empty() {
        return;
    }
    let key = before.key.clone();
    let stands = state.operation(&key).stands;
    let is_over = matches!(stands, Stands::Cancelled | Stands::Refused(_));
    state.expect(
        is_over || state.age == Age::Forgotten,
        Oracle::SafeNewKeyIsSafe,
    );
}

/// The customer hears how it ended.
fn finish(world: &Tabs, state: &mut State, record: &Record, end: End, paid: Option<Card>) {
    let operation = state.operation(&record.key).clone();
    match end {
        End::Done { changed, .. } => {
            state.expect(operation.effects > 0, Oracle::ExecutedIsTrue);
            if let (Stands::Executed(card), Some(paid), false) = (operation.stands, paid, changed) {
                state.expect(card == paid, Oracle::AnswerIsOurs);
            }
            if world.bug == Some(TabBug::EpochRaisedOnExecuted) {
                state.stored = Record::closed(state.stored.as_ref(), record.epoch);
            }
        }
        End::Failed(_) => fail(state, &operation),
        End::Unknown(_) if world.bug == Some(TabBug::UnknownIsFailed) => {
            state.stored = Record::closed(state.stored.as_ref(), record.epoch);
            fail(state, &operation);
        }
        End::Unknown(_) => {}
    }
}

fn fail(state: &mut State, operation: &Operation) {
    state.operation(&operation.key).failed = true;
    state.expect(operation.effects == 0, Oracle::FailedIsFinal);
}

fn arrives(world: &Tabs, from: &State, number: usize, to: &mut Steps) {
    let mut state = from.clone();
    let request = state.flying.remove(number);
    for (next, heard) in gate::arrive(world, &state, &request) {
        match heard {
            Heard::Later => to.push((step(number, true), next)),
            Heard::Answer(answer) => {
                if let Some(tab) = request.tab {
                    let mut told = next.clone();
                    report(world, &mut told, tab, Event::Answered(answer));
                    to.push((step(number, true), told));
                }
                to.push((step(number, false), next));
            }
        }
    }
    if world.copy && !from.copied && request.verb != Verb::Look {
        let mut state = from.clone();
        state.copied = true;
        state.fly(Request {
            tab: None,
            ..request
        });
        to.push((TabStep::IsCopied(number), state));
    }
}

fn step(request: usize, heard: bool) -> TabStep {
    TabStep::Arrives { request, heard }
}

fn ends(world: &Tabs, from: &State, number: usize, to: &mut Steps) {
    let Operation { key, stands, .. } = &from.operations[number];
    let Stands::Open(card) = *stands else {
        return;
    };
    for ending in [Ending::Executed, Ending::NotExecuted, Ending::Refused] {
        let mut state = from.clone();
        let waiting = std::mem::take(&mut state.operations[number].waiting);
        let answer = gate::end(&mut state, key, card, ending);
        for heard in [true, false] {
            let mut state = state.clone();
            let told = waiting.iter().filter(|_| heard);
            told.for_each(|tab| report(world, &mut state, *tab, Event::Answered(answer)));
            if !heard || !waiting.is_empty() {
                let step = TabStep::Ends {
                    operation: number,
                    ending,
                    heard,
                };
                to.push((step, state));
            }
        }
    }
}

/// A day passes: what was under way has ended or was lost.
fn ages(from: &State, to: &mut Steps) {
    let mut state = from.clone();
    state.flying.clear();
    let is_open = |operation: &Operation| matches!(operation.stands, Stands::Open(_));
    if state.operations.iter().any(is_open) {
        return;
    }
    let step = match from.age {
        Age::Young => {
            state.age = Age::Old;
            TabStep::KeysGrowOld
        }
        Age::Old => {
            state.age = Age::Forgotten;
            for operation in &mut state.operations {
                operation.stands = Stands::Absent;
            }
            TabStep::GateForgets
        }
        Age::Forgotten => return,
    };
    to.push((step, state));
}
