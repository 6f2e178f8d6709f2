//! When a key is cancelled, and what follows.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

const CANCEL: Action = Action::Cancel { timeout_ms: 25_000 };

/// The gate says that another payload has the key and is open.
fn other_is_open() -> Event {
    Event::Answered(key_reused(None, false))
}

/// An attempt that has sent once, one second ago, and is cancelling.
fn cancelling() -> Attempt {
    let (attempt, action) = start().handle(1_000, other_is_open()).unwrap();
    assert_eq!(action, CANCEL);
    attempt
}

/// What the gate says of a closed operation that was to be cancelled.
fn closed(state: Outcome, safe_new_key: bool) -> Event {
    Event::Answered(Answer {
        problem: Problem {
            state: Some(state),
            safe_new_key,
            ..Problem::default()
        },
        gate: true,
        ..bare(200)
    })
}

#[track_caller]
fn wait_over(waiting: (Attempt, Action)) -> Action {
    let (attempt, Action::Wait { until_ms, .. }) = waiting else {
        panic!("{:?} is no wait", waiting.1);
    };
    attempt.handle(until_ms, Event::WaitOver).unwrap().1
}

#[test]
fn t4_an_open_earlier_payload_is_cancelled() {
    for word in [Status::InProgress, Status::NotExecuted, Status::Unknown] {
        for state in [None, Some(Outcome::Unknown), Some(Outcome::InProgress)] {
            let answer = Answer {
                status: Some(word),
                ..key_reused(state, false)
            };
            assert_eq!(after(Event::Answered(answer)), CANCEL, "{word:?} {state:?}");
        }
    }
}

#[test]
fn t4_nothing_but_the_gates_word_on_another_payload_leads_to_a_cancellation() {
    let words = [
        Status::Cancelled,
        Status::Executed,
        Status::InProgress,
        Status::NotExecuted,
        Status::Refused,
        Status::Replayed,
        Status::Unknown,
    ];
    for http_status in [200, 409, 422, 503] {
        for word in words {
            let own = Answer {
                http_status,
                ..status(word)
            };
            let action = after(Event::Answered(own));
            assert!(!matches!(action, Action::Cancel { .. }), "{word:?}");
        }
    }
    let not_the_gate = Answer {
        status: None,
        ..key_reused(None, false)
    };
    let ledgers_own = Answer {
        status: Some(Status::Refused),
        ..key_reused(None, false)
    };
    assert!(is_wait(after(Event::Answered(not_the_gate))));
    assert!(is_wait(after(Event::Answered(ledgers_own))));
    assert!(is_wait(after(Event::TimedOut)));
}

#[test]
fn t4_a_cancellation_that_came_too_late_is_done_and_changed() {
    let event = closed(Outcome::Executed, false);
    let (_, action) = cancelling().handle(2_000, event).unwrap();
    let end = End::Done {
        replayed: true,
        changed: true,
    };
    assert_eq!(action, Action::Finish(end));
}

#[test]
fn t4_a_cancelled_earlier_payload_gives_way_to_the_next_key() {
    for state in [Outcome::Cancelled, Outcome::Refused] {
        let (_, action) = cancelling().handle(2_000, closed(state, true)).unwrap();
        let next = Action::Send {
            number: 3,
            timeout_ms: 25_000,
            key: KeyChoice::Next,
        };
        assert_eq!(action, next);
    }
}

#[test]
fn i8_a_cancellation_that_does_not_call_a_new_key_safe_keeps_the_old_one() {
    for state in [Outcome::Cancelled, Outcome::Refused, Outcome::Unknown] {
        let waiting = cancelling().handle(2_000, closed(state, false)).unwrap();
        let action = wait_over(waiting);
        let same = |key| key == KeyChoice::Same;
        assert!(matches!(action, Action::Send { key, .. } if same(key)));
    }
}

#[test]
fn t4_an_operation_that_stays_open_is_cancelled_again_after_the_wait() {
    let open = Answer {
        retry_after_ms: Some(3_000),
        ..bare(409)
    };
    let open = cancelling().handle(2_000, Event::Answered(open)).unwrap();
    assert_eq!(
        open.1,
        Action::Wait {
            until_ms: 5_000,
            online: false,
        }
    );
    assert_eq!(wait_over(open), CANCEL);
    for event in [
        Event::Answered(bare(503)),
        Event::NetworkError,
        Event::TimedOut,
    ] {
        let waiting = cancelling().handle(2_000, event).unwrap();
        assert_eq!(wait_over(waiting), CANCEL, "{event:?}");
    }
}

#[test]
fn t4_an_answer_that_is_not_about_the_operation_proves_nothing() {
    let redirected = |state| {
        let Event::Answered(answer) = closed(state, true) else {
            unreachable!("it is an answer");
        };
        Answer {
            redirected: true,
            ..answer
        }
    };
    for answer in [
        bare(200),
        bare(400),
        bare(404),
        redirected(Outcome::Executed),
        redirected(Outcome::Cancelled),
    ] {
        let waiting = cancelling().handle(2_000, Event::Answered(answer)).unwrap();
        let action = wait_over(waiting);
        assert!(matches!(action, Action::Send { .. }), "{answer:?}");
    }
}

#[test]
fn t4_whoever_has_the_next_key_is_not_cancelled() {
    let cancelled = closed(Outcome::Cancelled, true);
    let (attempt, _) = cancelling().handle(2_000, cancelled).unwrap();
    let (_, action) = attempt.handle(3_000, other_is_open()).unwrap();
    assert!(is_wait(action));
}

#[test]
fn t3_a_key_near_its_end_is_not_cancelled() {
    let (looking, action) = cancelling().handle(2_000, Event::KeyTooOld).unwrap();
    assert_eq!(action, look::LOOK);
    let absent = looking.handle(3_000, look::seen(None)).unwrap();
    assert_eq!(absent.1, Action::Finish(End::Unknown(Why::KeyTooOld)));
}

#[test]
fn an_abort_ends_a_cancellation_as_unknown() {
    let (_, action) = cancelling().handle(2_000, Event::Aborted).unwrap();
    assert_eq!(action, Action::Finish(End::Unknown(Why::Aborted)));
}

#[test]
fn cancellations_count_as_sends() {
    let ends = |max_sends| {
        let (attempt, _) = Attempt::start(
            0,
            Config {
                max_sends,
                ..CONFIG
            },
            Aim::Submit,
            true,
            1,
        );
        let (attempt, action) = attempt.handle(1, other_is_open()).unwrap();
        match action {
            Action::Cancel { .. } => {
                let cancelled = closed(Outcome::Cancelled, true);
                attempt.handle(2, cancelled).unwrap().1
            }
            action => action,
        }
    };
    assert_eq!(ends(1), Action::Finish(End::Unknown(Why::SendsUsedUp)));
    assert_eq!(ends(2), Action::Finish(End::Failed(Reason::Cancelled)));
    assert!(matches!(ends(3), Action::Send { .. }));
}

#[test]
fn a_cancellation_is_not_begun_after_the_deadline() {
    let (_, action) = start().handle(90_000, other_is_open()).unwrap();
    assert_eq!(action, Action::Finish(End::Unknown(Why::Deadline)));
    let (waiting, _) = cancelling().handle(2_000, Event::NetworkError).unwrap();
    let (_, action) = waiting.handle(90_000, Event::WaitOver).unwrap();
    assert_eq!(action, Action::Finish(End::Unknown(Why::Deadline)));
}

#[test]
fn the_end_of_a_wait_is_no_answer_to_a_cancellation() {
    let error = cancelling().handle(2_000, Event::WaitOver).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the end of a wait was reported to an attempt that is cancelling; report what came of the cancellation first"
    );
}

/// What a gate says on a route that makes its keys itself, to a client that does not know them.
fn unnamed(answer: Answer) -> Event {
    Event::Answered(Answer {
        unnamed: true,
        gate: true,
        ..answer
    })
}

#[test]
fn t4_a_key_that_nobody_uses_is_not_cancelled() {
    let nothing_happened = Answer {
        problem: Problem {
            retryable: Some(false),
            ..Problem::default()
        },
        ..status(Status::NotExecuted)
    };
    let end = End::Unknown(Why::NotRetryable);
    assert_eq!(after(Event::Answered(nothing_happened)), CANCEL);
    assert_eq!(after(unnamed(nothing_happened)), Action::Finish(end));
    assert!(is_wait(after(unnamed(key_reused(
        Some(Outcome::Unknown),
        false
    )))));
}

#[test]
fn t4_that_a_key_which_nobody_uses_is_cancelled_does_not_mean_failed() {
    let cancelled = Answer {
        problem: Problem {
            state: Some(Outcome::Cancelled),
            safe_new_key: true,
            ..Problem::default()
        },
        ..bare(200)
    };
    for aim in [Aim::Cancel, Aim::LookUp] {
        let (attempt, _) = Attempt::start(0, CONFIG, aim, true, 1);
        let (_, action) = attempt.handle(1_000, unnamed(cancelled)).unwrap();
        let end = End::Unknown(Why::KeyUnnamed);
        assert_eq!(action, Action::Finish(end), "{aim:?}");
    }
    let waiting = cancelling().handle(2_000, unnamed(cancelled)).unwrap();
    assert!(matches!(wait_over(waiting), Action::Send { .. }));
}
