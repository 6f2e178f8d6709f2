//! What the gate does with a request, a reply and a question; and what befalls it.
//!
//! Invariant: between reading a record and writing it back nothing else happens.

use oncegate_core::operation::{Admission, State as Phase, Turn};

use super::client::hear;
use super::reply::reply;
use super::small::{Steps, World};
use super::state::{Asker, Attempt, Courier, Operator, Place, State, Word};
use super::time::{leave, time};
use crate::witness::Oracle;

#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "the path to a fault is told by Debug")]
pub(super) enum GateStep {
    /// The courier of this attempt tells the shard, and its caller hears.
    Completes {
        number: u8,
        key: u8,
        word: Word,
    },
    /// The same, but the caller is gone.
    CompletesUnheard {
        number: u8,
        key: u8,
        word: Word,
    },
    CompletionIsLost {
        number: u8,
        key: u8,
    },
    CourierDies {
        number: u8,
        key: u8,
    },
    TimePasses {
        key: u8,
        ms: u64,
    },
    ClockStepsBack {
        key: u8,
    },
    LedgerForgets {
        key: u8,
    },
    RowIsDropped {
        key: u8,
    },
    StreamBegins {
        number: u8,
        key: u8,
        word: Word,
    },
    WaiterLeaves {
        key: u8,
    },
}

pub(super) fn steps(world: &World, from: &State, to: &mut Steps) {
    for (index, attempt) in from.attempts() {
        reply(world, from, index, attempt, to);
    }
    for key in 0..2 {
        time(world, from, key, to);
        leave(from, key, to);
    }
}

/// A request arrives; `then` gets every state that may follow.
pub(super) fn arrive(
    world: &World,
    from: &State,
    asker: Asker,
    client: Option<u8>,
    mut then: impl FnMut(State),
) {
    let index = usize::from(asker.key);
    let row = from.rows[index];
    let asked = world.machine.ask(row.record, row.age, asker);
    let mut state = from.clone();
    match asked.admission {
        Admission::Dispatch(number) => {
            if !may_dispatch(world, from) {
                return;
            }
            check_dispatch(world, &mut state, asker.key);
            write(world, &mut state, asker.key, asked.record);
            start(
                &mut state,
                asker,
                u8::try_from(number).unwrap_or(u8::MAX),
                client,
            );
        }
        admission => {
            if asked.record != row.record {
                state.fail(Oracle::WaitersOwnNothing);
            }
            if admission == Admission::Turn(Turn::PrincipalMismatch) {
                return then(state);
            }
            if row.request.1 != asker.who {
                state.fail(Oracle::AnswerIsOurs);
            }
            let waits = matches!(admission, Admission::Wait { .. }) && world.small.may.wait;
            match client {
                Some(client) if waits && row.waiter.is_none() => {
                    state.rows[index].waiter = Some(client);
                }
                Some(client) => {
                    if admission == Admission::Replay && row.answer != Some((asker.card, asker.who))
                    {
                        state.fail(Oracle::AnswerIsOurs);
                    }
                    hear(world, &mut state, client, asker, asked.told);
                }
                None => {}
            }
        }
    }
    then(state);
}

/// An attempt begins.
pub(super) fn start(state: &mut State, asker: Asker, number: u8, owner: Option<u8>) {
    state.made += 1;
    state.rows[usize::from(asker.key)].request = (asker.card, asker.who);
    state.add(Attempt {
        asker,
        number,
        place: Place::Sent,
        courier: Courier::Listens,
        owner,
    });
}

/// While there are faults, as many attempts as the world has. Afterwards one at a time: that is a
/// path, too, and it ends.
pub(super) fn may_dispatch(world: &World, state: &State) -> bool {
    match state.calm {
        true => state.made < world.small.attempts + 2 && state.attempts().next().is_none(),
        false => state.made < world.small.attempts && state.has_room(),
    }
}

/// Rules I1 and I6, at the moment of a dispatch.
pub(super) fn check_dispatch(world: &World, state: &mut State, key: u8) {
    let row = state.rows[usize::from(key)];
    let Some(viewed) = world.machine.view(row.record, row.age) else {
        return;
    };
    match viewed.view.state {
        _ if viewed.is_expired => {}
        Phase::Dispatched => state.fail(Oracle::OneOwner),
        Phase::Unknown if !world.small.is_ledger() => state.fail(Oracle::OneOwner),
        Phase::Executed => state.fail(Oracle::ExpiredIsNotAbsent),
        _ => {}
    }
}

/// Writes a record; what was executed must stay so.
pub(super) fn write(world: &World, state: &mut State, key: u8, record: u32) {
    let row = &mut state.rows[usize::from(key)];
    let before = world.machine.view(row.record, row.age);
    if row.record == record {
        return;
    }
    row.record = record;
    row.age = 0;
    if let Operator::Looked {
        key: seen, changed, ..
    } = &mut state.operator
    {
        *changed |= *seen == key;
    }
    let after = world.machine.view(record, 0).expect("it was just written");
    // Never less than one key ttl after it settled (T2).
    let was_open = before.is_some_and(|before| !before.is_expired);
    if was_open && after.is_expired {
        state.fail(Oracle::ExpiredIsNotAbsent);
    }
    let was_executed =
        before.is_some_and(|before| before.view.state == Phase::Executed && !before.is_expired);
    if was_executed && after.view.state != Phase::Executed {
        state.fail(Oracle::NothingIsTakenBack);
    }
}
