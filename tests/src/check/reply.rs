//! What the shard does with a reply, and who hears of it.
//!
//! Invariant: an answer goes to the caller of its attempt and to those who asked the same; everybody
//! else reads the record.

use oncegate_core::operation::{Admission, State as Phase};

use super::client::hear;
use super::gate::{GateStep, write};
use super::small::{Step, Steps, World};
use super::state::{Asker, Attempt, Courier, State, Word};
use super::told::{Told, passed};
use crate::witness::Oracle;

pub(super) fn reply(world: &World, from: &State, index: usize, attempt: Attempt, to: &mut Steps) {
    let (number, key) = (attempt.number, attempt.asker.key);
    let mut end = |step| {
        let mut state = from.clone();
        state.change(index, |attempt| attempt.courier = Courier::Gone);
        to.push((Step::Gate(step), state));
    };
    let word = match attempt.courier {
        Courier::Gone => return,
        Courier::Listens => {
            if world.small.may.lose && !from.calm {
                end(GateStep::CourierDies { number, key });
            }
            return;
        }
        Courier::Holds(word) => {
            if world.small.may.lose && !from.calm {
                end(GateStep::CompletionIsLost { number, key });
            }
            word
        }
        Courier::Streams(word) => return stream_ends(world, from, index, attempt, word, to),
        Courier::Told(word) => {
            end(GateStep::CompletionIsLost { number, key });
            word
        }
    };
    if world.small.may.stream && word != Word::Lost && matches!(attempt.courier, Courier::Holds(_))
    {
        stream_begins(world, from, index, attempt, word, to);
    }
    let tells_again =
        world.small.may.twice && !from.calm && attempt.courier == Courier::Holds(word);
    let afters = [
        Some(Courier::Gone),
        tells_again.then_some(Courier::Told(word)),
    ];
    for after in afters.into_iter().flatten() {
        let mut state = from.clone();
        state.change(index, |attempt| attempt.courier = after);
        let told = complete(world, &mut state, attempt, word, true);
        let step = GateStep::CompletesUnheard { number, key, word };
        if !from.calm || attempt.owner.is_none() {
            to.push((Step::Gate(step), state.clone()));
        }
        if let Some(owner) = attempt.owner {
            hear(world, &mut state, owner, attempt.asker, told);
            let step = GateStep::Completes { number, key, word };
            to.push((Step::Gate(step), state));
        }
    }
}

/// The row is marked before the first byte goes to the caller (P6).
fn stream_begins(
    world: &World,
    from: &State,
    index: usize,
    attempt: Attempt,
    word: Word,
    to: &mut Steps,
) {
    let Attempt {
        asker,
        number,
        owner,
        ..
    } = attempt;
    let row = from.rows[usize::from(asker.key)];
    let (record, streaming) = world.machine.stream(row.record, row.age, number, word);
    let mut state = from.clone();
    write(world, &mut state, asker.key, record);
    state.change(index, |attempt| attempt.courier = Courier::Streams(word));
    if let Some(owner) = owner {
        let told = match streaming.superseded {
            true => told_by_record(world, &mut state, asker),
            false => passed(word, streaming.status),
        };
        hear(world, &mut state, owner, asker, told);
    }
    let step = GateStep::StreamBegins {
        number,
        key: asker.key,
        word,
    };
    to.push((Step::Gate(step), state));
}

/// Its end is told, or that it broke.
fn stream_ends(
    world: &World,
    from: &State,
    index: usize,
    attempt: Attempt,
    word: Word,
    to: &mut Steps,
) {
    let breaks = world.small.may.lose && !from.calm;
    for word in [Some(word), breaks.then_some(Word::Lost)]
        .into_iter()
        .flatten()
    {
        let mut state = from.clone();
        state.change(index, |attempt| attempt.courier = Courier::Gone);
        complete(world, &mut state, attempt, word, false);
        let (number, key) = (attempt.number, attempt.asker.key);
        let step = GateStep::CompletesUnheard { number, key, word };
        to.push((Step::Gate(step), state));
    }
}

/// Settles an attempt and answers who waits; gives what its caller hears.
fn complete(
    world: &World,
    state: &mut State,
    attempt: Attempt,
    word: Word,
    storable: bool,
) -> Told {
    let Attempt { asker, number, .. } = attempt;
    let index = usize::from(asker.key);
    let row = state.rows[index];
    let (record, settled) = world
        .machine
        .settle(row.record, row.age, number, word, storable);
    write(world, state, asker.key, record);
    if settled.store {
        state.rows[index].answer = Some((asker.card, asker.who));
    }
    let age = state.rows[index].age;
    let viewed = world
        .machine
        .view(record, age)
        .expect("an attempt has a record");
    if world.proves_execution(word) && viewed.view.state != Phase::Executed {
        state.fail(Oracle::ProofCounts);
    }
    let told = world.machine.told(record, age, word);
    if viewed.view.state != Phase::Dispatched {
        let shared = settled.share.then_some((asker, told));
        wake(world, state, asker.key, shared);
    }
    match settled.superseded {
        true => told_by_record(world, state, asker),
        false => told,
    }
}

/// Who waits hears the attempt's answer, if it is to his question, or reads the record.
pub(super) fn wake(world: &World, state: &mut State, key: u8, shared: Option<(Asker, Told)>) {
    let index = usize::from(key);
    let row = state.rows[index];
    let Some(client) = state.rows[index].waiter.take() else {
        return;
    };
    let asker = state.clients[usize::from(client)].asks;
    if asker.key != key {
        return;
    }
    let asked_for = world
        .machine
        .view(row.record, row.age)
        .and_then(|viewed| viewed.card);
    let told = match shared {
        Some((owner, told)) if asked_for == Some(asker.card) => {
            if (owner.card, owner.who) != (asker.card, asker.who) {
                state.fail(Oracle::AnswerIsOurs);
            }
            told
        }
        _ => told_by_record(world, state, asker),
    };
    hear(world, state, client, asker, told);
}

fn told_by_record(world: &World, state: &mut State, asker: Asker) -> Told {
    let row = state.rows[usize::from(asker.key)];
    let asked = world.machine.ask(row.record, row.age, asker);
    if asked.admission == Admission::Replay && row.answer != Some((asker.card, asker.who)) {
        state.fail(Oracle::AnswerIsOurs);
    }
    asked.told
}
