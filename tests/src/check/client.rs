//! What clients do: send, look, cancel, take another card or the next key.
//!
//! Invariant: a client knows only what it was told.

use oncegate_core::key::KeyKind;

use super::gate;
use super::settling;
use super::small::{Step, Steps, World};
use super::state::{Asker, Copied, State};
use super::told::{Told, Verdict};
use crate::plant::Plant;
use crate::witness::Oracle;

#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the path to a fault is told by Debug")]
pub(super) enum ClientStep {
    CopyArrives,
    Cancels(u8),
    Looks(u8),
    Sends(u8),
    TakesAnotherCard,
    GoesBackToTheFirstCard,
}

pub(super) fn steps(world: &World, from: &State, to: &mut Steps) {
    for client in 0..=u8::from(world.small.may.other) {
        let asks = from.clients[usize::from(client)];
        if !asks.done && !from.old[usize::from(asks.asks.key)] {
            send(world, from, client, to);
            cancel(world, from, client, to);
        }
        look(world, from, client, to);
    }
    if from.copy == Copied::Flies {
        let mut state = from.clone();
        state.copy = Copied::Over;
        let first = Asker {
            key: 0,
            card: 0,
            who: 0,
        };
        gate::arrive(world, &state, first, None, |next| {
            to.push((Step::Client(ClientStep::CopyArrives), next));
        });
    }
    other_card(world, from, to);
}

fn send(world: &World, from: &State, client: u8, to: &mut Steps) {
    let mut state = from.clone();
    let sender = &mut state.clients[usize::from(client)];
    let asker = sender.asks;
    sender.sent = true;
    if world.small.may.copy && client == 0 && state.copy == Copied::No && !state.calm {
        state.copy = Copied::Flies;
    }
    gate::arrive(world, &state, asker, Some(client), |next| {
        to.push((Step::Client(ClientStep::Sends(client)), next));
    });
}

fn cancel(world: &World, from: &State, client: u8, to: &mut Steps) {
    let asks = from.clients[usize::from(client)];
    if asks.sent && (world.small.may.cancel || asks.cancels) {
        settling::cancel(world, from, client, |next| {
            to.push((Step::Client(ClientStep::Cancels(client)), next));
        });
    }
}

/// A look-up that says something for ever.
fn look(world: &World, from: &State, client: u8, to: &mut Steps) {
    let Asker { key, .. } = from.clients[usize::from(client)].asks;
    let row = from.rows[usize::from(key)];
    let Some(viewed) = world.machine.view(row.record, row.age) else {
        return;
    };
    if viewed.view.safe_new_key && !from.said[usize::from(key)].safe && !from.calm {
        let mut state = from.clone();
        say_safe(&mut state, key);
        to.push((Step::Client(ClientStep::Looks(client)), state));
    }
}

fn other_card(world: &World, from: &State, to: &mut Steps) {
    if !world.small.may.switch || !from.clients[0].sent || from.clients[0].done {
        return;
    }
    let mut turn = |card, step| {
        let mut state = from.clone();
        state.clients[0].asks.card = card;
        to.push((Step::Client(step), state));
    };
    if from.clients[0].asks.card == 0 {
        turn(1, ClientStep::TakesAnotherCard);
    } else if from.calm {
        turn(0, ClientStep::GoesBackToTheFirstCard);
    }
}

/// A client hears an answer to what it asked.
pub(super) fn hear(world: &World, state: &mut State, client: u8, asker: Asker, told: Told) {
    say(world, state, asker, told);
    let may_move = world.small.may.second_key && world.small.kind != KeyKind::Generated;
    let hearer = &mut state.clients[usize::from(client)];
    hearer.cancels = told.verdict == Verdict::Cancel;
    match told.verdict {
        Verdict::Done if world.small.plant == Some(Plant::EpochRaisedOnExecuted) && may_move => {
            hearer.asks.key = 1;
        }
        Verdict::Done => hearer.done = true,
        Verdict::Failed | Verdict::NextKey if may_move && hearer.asks == asker => {
            hearer.asks.key = 1;
            hearer.sent = false;
        }
        _ => {}
    }
}

/// What is said holds for ever.
fn say(world: &World, state: &mut State, asker: Asker, told: Told) {
    let key = usize::from(asker.key);
    let happened = state.effects_of(asker.key) > 0;
    if told.verdict == Verdict::Done && !happened {
        state.fail(Oracle::ExecutedIsTrue);
    }
    if state.calm {
        return;
    }
    if told.failed {
        state.said[key].failed[usize::from(asker.card)] = true;
        if is_contradicted(world, state, asker) {
            state.fail(Oracle::FailedIsFinal);
        }
    }
    if told.safe {
        say_safe(state, asker.key);
    }
}

fn say_safe(state: &mut State, key: u8) {
    state.said[usize::from(key)].safe = true;
    if state.effects_of(key) > 0 {
        state.fail(Oracle::SafeNewKeyIsSafe);
    }
}

/// Under an order number, another card may be paid with (P4).
fn is_contradicted(world: &World, state: &State, asker: Asker) -> bool {
    match world.small.kind {
        KeyKind::Generated => state.effects[usize::from(asker.key)][usize::from(asker.card)] > 0,
        KeyKind::Client | KeyKind::Token => state.effects_of(asker.key) > 0,
    }
}

/// An effect, held against everything that was said before.
pub(super) fn check_effect(world: &World, state: &mut State, asker: Asker) {
    let said = state.said[usize::from(asker.key)];
    let failed = match world.small.kind {
        KeyKind::Generated => said.failed[usize::from(asker.card)],
        KeyKind::Client | KeyKind::Token => said.failed.contains(&true),
    };
    if failed {
        state.fail(Oracle::FailedIsFinal);
    }
    if said.safe {
        state.fail(Oracle::SafeNewKeyIsSafe);
    }
}
