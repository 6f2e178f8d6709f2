//! The gate, as the contract has it: what becomes of a request, and what is said.

use oncegate_core::attempt::{Answer, Problem};
use oncegate_core::outcome::{Outcome, Status};

use super::Tabs;
use super::state::{Card, Request, Stands, State, Verb};

/// What a request that arrives leads to.
pub(super) enum Heard {
    Answer(Answer),
    /// The answer comes with the end of the attempt.
    Later,
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Executed,
    NotExecuted,
    Refused,
}

/// Every way in which a request can be taken.
pub(super) fn arrive(world: &Tabs, state: &State, request: &Request) -> Vec<(State, Heard)> {
    let mut next = state.clone();
    let operation = next.operation(&request.key);
    let stands = operation.stands;
    match (request.verb, stands) {
        (Verb::Look, _) => vec![(next, Heard::Answer(seen(stands)))],
        (Verb::Cancel, Stands::Absent | Stands::Released) => vec![cancelled(next, request)],
        (Verb::Cancel, Stands::Open(_)) => {
            let refused = (next.clone(), Heard::Answer(bare(409)));
            match world.cancels_open {
                true => vec![cancelled(next, request), refused],
                false => vec![refused],
            }
        }
        (Verb::Cancel, _) => vec![(next, Heard::Answer(seen(stands)))],
        (Verb::Send(card), Stands::Absent | Stands::Released) => {
            operation.stands = Stands::Open(card);
            operation.waiting.extend(request.tab);
            vec![(next, Heard::Later)]
        }
        (Verb::Send(card), _) => vec![(next, Heard::Answer(told(stands, card)))],
    }
}

/// Ends the open attempt of an operation; who waited for it hears this.
pub(super) fn end(state: &mut State, key: &str, card: Card, ending: Ending) -> Answer {
    match ending {
        Ending::Executed => state.execute(key, card),
        Ending::NotExecuted => state.operation(key).stands = Stands::Released,
        Ending::Refused => state.operation(key).stands = Stands::Refused(card),
    }
    with_status(match ending {
        Ending::Executed => Status::Executed,
        Ending::NotExecuted => Status::NotExecuted,
        Ending::Refused => Status::Refused,
    })
}

fn cancelled(mut state: State, request: &Request) -> (State, Heard) {
    let operation = state.operation(&request.key);
    operation.stands = Stands::Cancelled;
    operation.waiting.clear();
    (state, Heard::Answer(seen(Stands::Cancelled)))
}

/// What a sender hears of an operation that it did not begin.
fn told(stands: Stands, card: Card) -> Answer {
    match stands {
        Stands::Executed(other) | Stands::Open(other) | Stands::Refused(other) if other != card => {
            reused(stands)
        }
        Stands::Executed(_) => with_status(Status::Replayed),
        Stands::Refused(_) => with_status(Status::Refused),
        Stands::Cancelled => with_status(Status::Cancelled),
        Stands::Open(_) => with_status(Status::InProgress),
        Stands::Absent | Stands::Released => with_status(Status::NotExecuted),
    }
}

/// Another payload has the key.
fn reused(stands: Stands) -> Answer {
    let (status, state) = match stands {
        Stands::Executed(_) => (Status::Replayed, Some(Outcome::Executed)),
        Stands::Refused(_) => (Status::Refused, Some(Outcome::Refused)),
        _ => (Status::InProgress, None),
    };
    Answer {
        http_status: 422,
        problem: Problem {
            key_reused: true,
            state,
            safe_new_key: matches!(stands, Stands::Refused(_)),
            retryable: Some(false),
        },
        ..with_status(status)
    }
}

fn seen(stands: Stands) -> Answer {
    let state = match stands {
        Stands::Executed(_) => Some(Outcome::Executed),
        Stands::Refused(_) => Some(Outcome::Refused),
        Stands::Cancelled => Some(Outcome::Cancelled),
        Stands::Absent | Stands::Open(_) | Stands::Released => None,
    };
    Answer {
        gate: true,
        problem: Problem {
            state,
            safe_new_key: matches!(stands, Stands::Refused(_) | Stands::Cancelled),
            ..Problem::default()
        },
        ..bare(200)
    }
}

fn with_status(status: Status) -> Answer {
    Answer {
        status: Some(status),
        gate: true,
        ..bare(200)
    }
}

/// Somebody between page and gate, or the gate without a word on the operation.
pub(super) fn bare(http_status: u16) -> Answer {
    Answer {
        http_status,
        ..Answer::default()
    }
}
