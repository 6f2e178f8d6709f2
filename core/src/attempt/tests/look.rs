//! When the gate is asked what became of a key, and when it is asked to leave it at that.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

pub(super) const LOOK: Action = Action::Look { timeout_ms: 25_000 };
const CANCEL: Action = Action::Cancel { timeout_ms: 25_000 };
const AGAIN: Action = Action::Send {
    number: 3,
    timeout_ms: 25_000,
    key: KeyChoice::Same,
};

/// What the gate says to a look-up or a cancellation; no state: it is open, or was never seen.
pub(super) fn seen(state: Option<Outcome>) -> Event {
    let closed = state.is_some_and(|state| state != Outcome::Executed);
    Event::Answered(Answer {
        gate: true,
        problem: Problem {
            state,
            safe_new_key: closed,
            ..Problem::default()
        },
        ..bare(200)
    })
}

fn begin(aim: Aim) -> (Attempt, Action) {
    Attempt::start(0, CONFIG, aim, true, 1)
}

/// An attempt at a server of which nothing is known, after a send without an answer.
#[track_caller]
fn probing() -> Attempt {
    let (attempt, _) = Attempt::start(0, CONFIG, Aim::Submit, false, 1);
    look_after(attempt, Event::NetworkError)
}

#[track_caller]
fn look_after(attempt: Attempt, event: Event) -> Attempt {
    let (attempt, action) = attempt.handle(1_000, event).unwrap();
    let Action::Wait { until_ms, .. } = action else {
        panic!("{action:?} is no wait");
    };
    let (attempt, action) = attempt.handle(until_ms, Event::WaitOver).unwrap();
    assert_eq!(action, LOOK);
    attempt
}

fn handle(attempt: &Attempt, event: Event) -> Action {
    attempt.clone().handle(2_000, event).unwrap().1
}

fn gates_problem(http_status: u16, retryable: bool) -> Event {
    Event::Answered(Answer {
        gate: true,
        problem: Problem {
            retryable: Some(retryable),
            ..Problem::default()
        },
        ..bare(http_status)
    })
}

#[test]
fn what_may_be_executed_is_not_sent_again_before_the_server_has_proven_that_it_deduplicates() {
    let silences = [Event::NetworkError, Event::TimedOut, Event::Offline];
    let bad = [408, 500, 502, 503, 504].map(|code| Event::Answered(bare(code)));
    for event in silences.into_iter().chain(bad) {
        let (attempt, _) = Attempt::start(0, CONFIG, Aim::Submit, false, 1);
        look_after(attempt, event);
    }
    let stop = Action::Finish(End::Unknown(Why::NotProven));
    for code in [200, 204, 302, 400, 401, 403, 404, 405] {
        assert_eq!(
            handle(&probing(), Event::Answered(bare(code))),
            stop,
            "{code}"
        );
    }
}

#[test]
fn a_gate_that_answers_a_look_up_is_sent_to_again() {
    for state in [None, Some(Outcome::Executed), Some(Outcome::Refused)] {
        assert_eq!(handle(&probing(), seen(state)), AGAIN);
    }
    assert_eq!(handle(&probing(), gates_problem(400, false)), AGAIN);
    assert!(is_wait(handle(&probing(), gates_problem(503, true))));
    // It has proven it for good.
    let (sending, _) = probing().handle(2_000, seen(None)).unwrap();
    let (waiting, wait) = sending.handle(3_000, Event::TimedOut).unwrap();
    let Action::Wait { until_ms, .. } = wait else {
        panic!("{wait:?}");
    };
    let (_, action) = waiting.handle(until_ms, Event::WaitOver).unwrap();
    assert!(matches!(action, Action::Send { .. }));
}

#[test]
fn what_was_turned_away_before_it_began_is_sent_again_everywhere() {
    for code in [425, 429] {
        let (attempt, _) = Attempt::start(0, CONFIG, Aim::Submit, false, 1);
        let (attempt, wait) = attempt.handle(0, Event::Answered(bare(code))).unwrap();
        let Action::Wait { until_ms, .. } = wait else {
            panic!("{wait:?}");
        };
        let (_, action) = attempt.handle(until_ms, Event::WaitOver).unwrap();
        assert!(matches!(action, Action::Send { .. }), "{code}");
    }
}

#[test]
fn a_look_up_without_an_answer_is_made_again() {
    for aim in [Aim::LookUp, Aim::Replace] {
        for event in [Event::NetworkError, Event::Answered(bare(503))] {
            look_after(begin(aim).0, event);
        }
    }
}

#[test]
fn a_look_up_says_what_the_gate_says() {
    let (looking, action) = begin(Aim::LookUp);
    assert_eq!(action, LOOK);
    let done = End::Done {
        replayed: true,
        changed: false,
    };
    for (state, end) in [
        (Some(Outcome::Executed), done),
        (Some(Outcome::Refused), End::Failed(Reason::Refused)),
        (Some(Outcome::Cancelled), End::Failed(Reason::Cancelled)),
        (Some(Outcome::Unknown), End::Unknown(Why::Open)),
        (None, End::Unknown(Why::Open)),
    ] {
        let safe = |event| match event {
            Event::Answered(mut answer) => {
                answer.problem.safe_new_key &= state != Some(Outcome::Unknown);
                Event::Answered(answer)
            }
            event => event,
        };
        assert_eq!(handle(&looking, safe(seen(state))), Action::Finish(end));
    }
    let not_the_gate = Event::Answered(bare(404));
    let end = End::Unknown(Why::NotUnderstood);
    assert_eq!(handle(&looking, not_the_gate), Action::Finish(end));
}

#[test]
fn i8_a_look_up_that_calls_no_new_key_safe_is_not_failed() {
    for state in [Outcome::Refused, Outcome::Cancelled] {
        let Event::Answered(mut answer) = seen(Some(state)) else {
            unreachable!();
        };
        answer.problem.safe_new_key = false;
        let action = handle(&begin(Aim::LookUp).0, Event::Answered(answer));
        assert_eq!(action, Action::Finish(End::Unknown(Why::Open)));
    }
}

#[test]
fn t4_another_payload_is_settled_before_this_one_is_sent() {
    let (looking, action) = begin(Aim::Replace);
    assert_eq!(action, LOOK);
    let too_late = End::Done {
        replayed: true,
        changed: true,
    };
    let executed = handle(&looking, seen(Some(Outcome::Executed)));
    assert_eq!(executed, Action::Finish(too_late));
    assert_eq!(handle(&looking, seen(None)), CANCEL);
    let next = |action| matches!(action, Action::Send { key, .. } if key == KeyChoice::Next);
    assert!(next(handle(&looking, seen(Some(Outcome::Refused)))));
    let (cancelling, _) = looking.handle(2_000, seen(None)).unwrap();
    assert!(next(handle(&cancelling, seen(Some(Outcome::Cancelled)))));
    let executed = handle(&cancelling, seen(Some(Outcome::Executed)));
    assert_eq!(executed, Action::Finish(too_late));
}

#[test]
fn t4_where_nothing_is_executed_it_is_cancelled_before_it_is_called_failed() {
    let released = Event::Answered(status(Status::NotExecuted));
    let config = Config {
        max_sends: 1,
        ..CONFIG
    };
    let (attempt, _) = Attempt::start(0, config, Aim::Submit, true, 1);
    let (cancelling, action) = attempt.handle(1_000, released).unwrap();
    assert_eq!(action, CANCEL);
    let failed = End::Failed(Reason::Cancelled);
    let cancelled = seen(Some(Outcome::Cancelled));
    assert_eq!(handle(&cancelling, cancelled), Action::Finish(failed));
    let unknown = Action::Finish(End::Unknown(Why::SendsUsedUp));
    for event in [seen(None), Event::NetworkError, Event::Answered(bare(409))] {
        assert_eq!(handle(&cancelling, event), unknown, "{event:?}");
    }
}

#[test]
fn t4_a_request_that_the_gate_turns_away_for_good_is_cancelled_and_failed() {
    let (cancelling, action) = start().handle(1_000, gates_problem(413, false)).unwrap();
    assert_eq!(action, CANCEL);
    let failed = End::Failed(Reason::Cancelled);
    let cancelled = seen(Some(Outcome::Cancelled));
    assert_eq!(handle(&cancelling, cancelled), Action::Finish(failed));
    let mismatch = Event::Answered(bare(403));
    let unknown = End::Unknown(Why::NotRetryable);
    assert_eq!(handle(&cancelling, mismatch), Action::Finish(unknown));
}

#[test]
fn t4_what_is_open_is_not_cancelled_because_the_time_is_over() {
    for word in [Status::InProgress, Status::Unknown] {
        let config = Config {
            max_sends: 1,
            ..CONFIG
        };
        let (attempt, _) = Attempt::start(0, config, Aim::Submit, true, 1);
        let (_, action) = attempt
            .handle(1_000, Event::Answered(status(word)))
            .unwrap();
        assert_eq!(action, Action::Finish(End::Unknown(Why::SendsUsedUp)));
    }
}

#[test]
fn who_wants_it_cancelled_is_obeyed_during_a_send_and_a_wait() {
    assert_eq!(after(Event::CancelWanted), CANCEL);
    let (waiting, _) = start().handle(0, Event::TimedOut).unwrap();
    let (cancelling, action) = waiting.handle(1_000, Event::CancelWanted).unwrap();
    assert_eq!(action, CANCEL);
    let failed = End::Failed(Reason::Cancelled);
    let cancelled = seen(Some(Outcome::Cancelled));
    assert_eq!(handle(&cancelling, cancelled), Action::Finish(failed));
    assert!(is_wait(handle(&cancelling, Event::Answered(bare(409)))));
}

#[test]
fn a_cancellation_that_is_wanted_never_leads_to_a_send() {
    for event in [
        seen(None),
        seen(Some(Outcome::Refused)),
        Event::Answered(bare(404)),
        Event::Answered(bare(409)),
        Event::NetworkError,
        Event::KeyTooOld,
    ] {
        let action = handle(&begin(Aim::Cancel).0, event);
        assert!(!matches!(action, Action::Send { .. }), "{event:?}");
    }
}

#[test]
fn an_offline_device_waits_for_the_network() {
    let (waiting, action) = start().handle(1_000, Event::Offline).unwrap();
    let wait = Action::Wait {
        until_ms: 11_000,
        online: true,
    };
    assert_eq!(action, wait);
    let sends = |action| matches!(action, Action::Send { .. });
    assert!(sends(handle(&waiting, Event::Online)));
    // The device may be wrong about it.
    assert!(sends(waiting.handle(11_000, Event::WaitOver).unwrap().1));
    let (waiting, _) = start().handle(0, Event::NetworkError).unwrap();
    assert!(waiting.handle(1, Event::Online).is_err());
}

#[test]
fn an_offline_device_hears_the_truth_at_the_deadline() {
    let (mut attempt, mut action) = (start(), Event::Offline);
    let mut now = 1_000;
    loop {
        let (next, act) = attempt.handle(now, action).unwrap();
        attempt = next;
        action = match act {
            Action::Wait { until_ms, .. } => {
                now = until_ms;
                Event::WaitOver
            }
            Action::Send { .. } => Event::Offline,
            act => break assert_eq!(act, Action::Finish(End::Unknown(Why::Deadline))),
        };
        assert!(now < 90_000);
    }
}

#[test]
fn a_wait_can_be_made_longer_but_not_beyond_the_deadline() {
    let (waiting, _) = start().handle(1_000, Event::NetworkError).unwrap();
    let wait = Action::Wait {
        until_ms: 20_000,
        online: false,
    };
    assert_eq!(waiting.clone().postpone(1_000, 20_000).1, wait);
    let end = Action::Finish(End::Unknown(Why::Deadline));
    assert_eq!(waiting.postpone(1_000, 90_000).1, end);
}
