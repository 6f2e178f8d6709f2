//! What the origin does with an attempt, and what stands before it.
//!
//! Invariant: at a ledger, effect and row are one step, taken while the attempt holds the key (L3).

use oncegate_core::ledger::{Decision, Row, State as Recorded, decide, settled};
use oncegate_core::proof::Origin;

use super::client::check_effect;
use super::machine::fingerprint;
use super::small::{Step, Steps, World};
use super::state::{Attempt, Courier, Inquiry, Ledger, Place, State, Word};
use crate::plant::Plant;

/// A card that nobody has: a key is cancelled for which nothing was ever asked.
const NO_CARD: u8 = u8::MAX;

#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the path to a fault is told by Debug")]
pub(super) enum OriginStep {
    AnswersTheQuestion(Word),
    Begins(u8),
    Executes(u8),
    Fails(u8),
    FailsForSure(u8),
    FindsTheKeyTaken(u8),
    IsNotReached(u8),
    IsSilent(u8),
    LookedUp(u8, Word),
    /// Something before the origin says this while the attempt goes on.
    Lies(u8, u16),
    Refuses(u8),
    RollsBack(u8),
}

pub(super) fn steps(world: &World, from: &State, to: &mut Steps) {
    for (index, attempt) in from.attempts() {
        let mut take = |step, change: &dyn Fn(&mut State)| {
            let mut state = from.clone();
            change(&mut state);
            to.push((Step::Origin(step), state));
        };
        match attempt.place {
            Place::Sent => sent(world, from, index, attempt, &mut take),
            Place::Running => running(world, from, index, attempt, &mut take),
            Place::Refusing => refusing(world, from, index, attempt, &mut take),
            Place::Over => {}
        }
        if !from.calm {
            before(world, index, attempt, &mut take);
        }
    }
    if let Some(inquiry) = from.inquiry.filter(|inquiry| inquiry.word.is_none()) {
        answer(world, from, inquiry, to);
    }
}

type Take<'t> = &'t mut dyn FnMut(OriginStep, &dyn Fn(&mut State));

fn sent(world: &World, from: &State, index: usize, attempt: Attempt, take: Take<'_>) {
    let begin = |state: &mut State| state.change(index, |attempt| attempt.place = Place::Running);
    if !world.small.is_ledger() {
        return take(OriginStep::Begins(attempt.number), &begin);
    }
    if is_locked(from, index, attempt) {
        let step = OriginStep::FindsTheKeyTaken(attempt.number);
        return take(step, &|state| end(state, index, Word::InProgress));
    }
    match look_up(world, from, attempt) {
        None => take(OriginStep::Begins(attempt.number), &begin),
        Some(word) => {
            let step = OriginStep::LookedUp(attempt.number, word);
            take(step, &|state| end(state, index, word));
        }
    }
}

fn running(world: &World, from: &State, index: usize, attempt: Attempt, take: Take<'_>) {
    let number = attempt.number;
    let is_ledger = world.small.is_ledger();
    let said = |word, bare| if is_ledger { word } else { Word::Bare(bare) };
    take(OriginStep::Executes(number), &|state| {
        execute(world, state, attempt);
        end(state, index, said(Word::Executed, 201));
    });
    take(OriginStep::RollsBack(number), &|state| match is_ledger {
        true => state.change(index, |attempt| attempt.place = Place::Refusing),
        false => end(state, index, Word::Bare(402)),
    });
    if !from.calm {
        take(OriginStep::FailsForSure(number), &|state| {
            end(state, index, said(Word::NotExecuted, 500));
        });
        take(OriginStep::Fails(number), &|state| {
            end(state, index, Word::Bare(500));
        });
    }
}

/// The refusal commits its own row, or answers with the one it meets (L4).
fn refusing(world: &World, from: &State, index: usize, attempt: Attempt, take: Take<'_>) {
    if is_locked(from, index, attempt) {
        return;
    }
    let met = look_up(world, from, attempt);
    let step = OriginStep::Refuses(attempt.number);
    take(step, &|state| {
        if met.is_none() && world.small.plant != Some(Plant::RefusalNotCommitted) {
            let asker = attempt.asker;
            state.ledger[usize::from(asker.key)].refused[usize::from(asker.card)] = true;
        }
        end(state, index, met.unwrap_or(Word::Refused));
    });
}

/// What happens between courier and origin.
fn before(world: &World, index: usize, attempt: Attempt, take: Take<'_>) {
    let number = attempt.number;
    let may = world.small.may;
    if attempt.place == Place::Sent {
        take(OriginStep::IsNotReached(number), &|state| {
            end(state, index, Word::Lost);
        });
        if !world.small.is_ledger() {
            // Said truly, before the origin has seen anything.
            take(OriginStep::Lies(number, 429), &|state| {
                end(state, index, Word::Bare(429));
            });
        }
    }
    if attempt.courier != Courier::Listens || attempt.place == Place::Over {
        return;
    }
    if may.lose {
        take(OriginStep::IsSilent(number), &|state| {
            hold(state, index, Word::Lost);
        });
    }
    if may.lie {
        // Of a ledger, no status proves anything.
        let statuses: &[u16] = if world.small.is_ledger() {
            &[500]
        } else {
            &[404, 402]
        };
        for status in statuses.iter().copied() {
            take(OriginStep::Lies(number, status), &|state| {
                hold(state, index, Word::Bare(status));
            });
        }
    }
}

fn answer(world: &World, from: &State, inquiry: Inquiry, to: &mut Steps) {
    let mut state = from.clone();
    let word = match world.small.origin {
        Origin::Ledger => answer_from_ledger(&mut state, inquiry),
        Origin::None | Origin::Read => read(from, inquiry),
    };
    state.inquiry = Some(Inquiry {
        word: Some(word),
        ..inquiry
    });
    to.push((Step::Origin(OriginStep::AnswersTheQuestion(word)), state));
}

fn answer_from_ledger(state: &mut State, inquiry: Inquiry) -> Word {
    let index = usize::from(inquiry.key);
    let is_held = state
        .attempts()
        .any(|(_, attempt)| attempt.asker.key == inquiry.key && attempt.place == Place::Running);
    let card = inquiry.card.unwrap_or(NO_CARD);
    let rows = rows(state.ledger[index]);
    match settled(&rows, &fingerprint(card)) {
        _ if is_held => Word::InProgress,
        Some(row) => word_of(row.state, row.answer, card),
        None => {
            let cancels = inquiry.canceller.is_some();
            state.ledger[index].cancelled |= cancels;
            if cancels { Word::Cancelled } else { Word::Lost }
        }
    }
}

/// What a person, or a route's question, finds at an origin without a ledger.
fn read(state: &State, inquiry: Inquiry) -> Word {
    match state.effects_of(inquiry.key) {
        0 => Word::NotExecuted,
        _ => Word::Executed,
    }
}

fn execute(world: &World, state: &mut State, attempt: Attempt) {
    let asker = attempt.asker;
    check_effect(world, state, asker);
    state.effects[usize::from(asker.key)][usize::from(asker.card)] += 1;
    if world.small.is_ledger() && world.small.plant != Some(Plant::RowAfterEffect) {
        state.ledger[usize::from(asker.key)].executed = Some(asker.card);
    }
}

/// The attempt is over, and its courier hears this, if it still listens.
fn end(state: &mut State, index: usize, word: Word) {
    state.change(index, |attempt| {
        attempt.place = Place::Over;
        if attempt.courier == Courier::Listens {
            attempt.courier = Courier::Holds(word);
        }
    });
}

fn hold(state: &mut State, index: usize, word: Word) {
    state.change(index, |attempt| attempt.courier = Courier::Holds(word));
}

fn is_locked(state: &State, index: usize, attempt: Attempt) -> bool {
    state.attempts().any(|(other, holder)| {
        other != index && holder.asker.key == attempt.asker.key && holder.place == Place::Running
    })
}

/// What the ledger answers to this attempt; `None`: it may run.
fn look_up(world: &World, state: &State, attempt: Attempt) -> Option<Word> {
    let asker = attempt.asker;
    let rows = rows(state.ledger[usize::from(asker.key)]);
    match decide(&rows, &fingerprint(asker.card), world.small.kind) {
        Decision::Free => None,
        Decision::Answer(row) => Some(word_of(row.state, row.answer, asker.card)),
        Decision::OtherFingerprint(recorded) => {
            let card = rows
                .iter()
                .find(|row| row.fingerprint == recorded.fingerprint);
            Some(word_of(recorded.state, card?.answer, asker.card))
        }
    }
}

fn rows(ledger: Ledger) -> Vec<Row<u8>> {
    let row = |state, card| Row {
        state,
        fingerprint: fingerprint(card),
        answer: card,
    };
    let refused = (0..).zip(ledger.refused).filter(|(_, refused)| *refused);
    refused
        .map(|(card, _)| row(Recorded::Refused, card))
        .chain(ledger.executed.map(|card| row(Recorded::Executed, card)))
        .chain(ledger.cancelled.then(|| row(Recorded::Cancelled, NO_CARD)))
        .collect()
}

fn word_of(state: Recorded, of: u8, asked: u8) -> Word {
    match state {
        Recorded::Cancelled => Word::Cancelled,
        Recorded::Executed if of == asked => Word::Executed,
        Recorded::Executed => Word::OtherExecuted(of),
        Recorded::Refused if of == asked => Word::Refused,
        Recorded::Refused => Word::OtherRefused(of),
    }
}

impl World {
    /// Whether a reply proves that the effect happened.
    pub(super) fn proves_execution(&self, word: Word) -> bool {
        match word {
            Word::Executed | Word::OtherExecuted(_) => true,
            Word::Bare(status) => !self.small.is_ledger() && (200..400).contains(&status),
            _ => false,
        }
    }
}
