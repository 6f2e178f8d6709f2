//! What settles an operation without a client's request: cancellations, the gate's own steps, people.
//!
//! Invariant: a person says what is true when he looks, and decides later.

use super::gate::{check_dispatch, may_dispatch, start, write};
use super::questions::{Cancelled, Found, Own, Resolve};
use super::reply::wake;
use super::small::{SETTLE_MS, Step, Steps, World};
use super::state::{Asker, Inquiry, Operator, State, Word};
use crate::plant::Plant;

#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the path to a fault is told by Debug")]
pub(super) enum SettlingStep {
    AlarmAsks(u8),
    AlarmSendsAgain(u8),
    ContentIsErased(u8),
    HearsOfKey { key: u8, word: Word },
    OperatorLooks(u8),
    OperatorSettles(u8, Found),
    QuestionIsLost,
}

pub(super) fn steps(world: &World, from: &State, to: &mut Steps) {
    if let Some(inquiry) = from.inquiry {
        question(world, from, inquiry, to);
    }
    for key in 0..2 {
        let row = from.rows[usize::from(key)];
        if row.record == 0 {
            continue;
        }
        if world.small.may.finish {
            own(world, from, key, false, to);
        }
        if world.small.may.probe {
            own(world, from, key, true, to);
        }
        if world.small.may.operator {
            operator(world, from, key, to);
        }
        if world.small.may.erase && !from.calm {
            erase(world, from, key, to);
        }
    }
}

/// A client asks to cancel its key.
pub(super) fn cancel(world: &World, from: &State, client: u8, mut then: impl FnMut(State)) {
    let asker = from.clients[usize::from(client)].asks;
    let row = from.rows[usize::from(asker.key)];
    let mut state = from.clone();
    if row.record == 0 {
        state.rows[usize::from(asker.key)].request = (asker.card, asker.who);
    }
    match world
        .machine
        .cancel(asker.key, row.record, row.age, asker.who)
    {
        Some(Cancelled::Ask(inquiry)) if from.inquiry.is_none() => state.inquiry = Some(inquiry),
        Some(Cancelled::Decided(record)) => write(world, &mut state, asker.key, record),
        Some(Cancelled::Ask(_)) | None => return,
    }
    then(state);
}

/// The gate's own step, after its alarm.
fn own(world: &World, from: &State, key: u8, probe: bool, to: &mut Steps) {
    let row = from.rows[usize::from(key)];
    let mut state = from.clone();
    let step = match world.machine.step(key, row.record, row.age, probe) {
        Own::Ask(inquiry) if from.inquiry.is_none() => {
            state.inquiry = Some(inquiry);
            SettlingStep::AlarmAsks(key)
        }
        Own::Redispatch(record, number) if may_dispatch(world, from) => {
            check_dispatch(world, &mut state, key);
            write(world, &mut state, key, record);
            let (card, who) = row.request;
            start(&mut state, Asker { key, card, who }, number, None);
            SettlingStep::AlarmSendsAgain(key)
        }
        Own::Ask(_) | Own::Redispatch(..) | Own::Rest => return,
    };
    to.push((Step::Settling(step), state));
}

fn question(world: &World, from: &State, inquiry: Inquiry, to: &mut Steps) {
    if !from.calm {
        let mut state = from.clone();
        state.inquiry = None;
        to.push((Step::Settling(SettlingStep::QuestionIsLost), state));
    }
    let Inquiry {
        key,
        word: Some(word),
        ..
    } = inquiry
    else {
        return;
    };
    let mut state = from.clone();
    state.inquiry = None;
    let row = state.rows[usize::from(key)];
    if let Some(record) = world.machine.hear(row.record, row.age, inquiry) {
        write(world, &mut state, key, record);
        wake(world, &mut state, key, None);
    }
    let step = SettlingStep::HearsOfKey { key, word };
    to.push((Step::Settling(step), state));
}

fn operator(world: &World, from: &State, key: u8, to: &mut Steps) {
    let row = from.rows[usize::from(key)];
    if from.operator == Operator::Away {
        // Before its time the gate refuses his word, and what he sees may still change.
        let early = world.small.ages[usize::from(row.age)] < SETTLE_MS
            && !matches!(
                world.small.plant,
                Some(Plant::OperatorLooksTooEarly | Plant::OperatorTooEarly)
            );
        let viewed = world.machine.view(row.record, row.age);
        if !early && viewed.is_some_and(|viewed| viewed.view.unsettled > 0) {
            let mut state = from.clone();
            state.operator = Operator::Looked {
                key,
                changed: false,
                happened: from.effects_of(key) > 0,
            };
            to.push((Step::Settling(SettlingStep::OperatorLooks(key)), state));
        }
        return;
    }
    let Operator::Looked {
        key: seen,
        changed,
        happened,
    } = from.operator
    else {
        return;
    };
    if seen != key {
        return;
    }
    let found: &[Found] = match happened {
        true => &[Found::Executed],
        false => &[Found::Cancelled, Found::NotExecuted],
    };
    for outcome in found.iter().copied() {
        let resolve = Resolve { outcome, changed };
        let mut state = from.clone();
        state.operator = Operator::Away;
        if let Some(record) = world.machine.resolve(row.record, row.age, resolve) {
            write(world, &mut state, key, record);
            wake(world, &mut state, key, None);
        }
        let step = SettlingStep::OperatorSettles(key, outcome);
        to.push((Step::Settling(step), state));
    }
}

fn erase(world: &World, from: &State, key: u8, to: &mut Steps) {
    let row = from.rows[usize::from(key)];
    if let Some(record) = world.machine.erase(row.record, row.age) {
        let mut state = from.clone();
        write(world, &mut state, key, record);
        state.rows[usize::from(key)].answer = None;
        to.push((Step::Settling(SettlingStep::ContentIsErased(key)), state));
    }
}
