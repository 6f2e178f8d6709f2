mod cancel;
mod flow;
mod limits;
mod look;

use alloc::string::ToString;
use alloc::vec::Vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::outcome::{Outcome, Status};

const CONFIG: Config = Config {
    base_ms: 300,
    cap_ms: 10_000,
    attempt_timeout_ms: 25_000,
    deadline_ms: 90_000,
    max_sends: 12,
};

fn start() -> Attempt {
    Attempt::start(0, CONFIG, Aim::Submit, true, 1).0
}

/// What follows `event` one second after the first send.
#[track_caller]
fn after(event: Event) -> Action {
    start().handle(1_000, event).unwrap().1
}

fn status(status: Status) -> Answer {
    Answer {
        http_status: 200,
        status: Some(status),
        ..Answer::default()
    }
}

fn bare(http_status: u16) -> Answer {
    Answer {
        http_status,
        ..Answer::default()
    }
}

fn key_reused(state: Option<Outcome>, safe_new_key: bool) -> Answer {
    Answer {
        http_status: 422,
        status: Some(Status::Unknown),
        problem: Problem {
            key_reused: true,
            state,
            safe_new_key,
            retryable: Some(false),
        },
        ..Answer::default()
    }
}

fn is_wait(action: Action) -> bool {
    matches!(action, Action::Wait { .. })
}

#[test]
fn the_first_action_is_a_send_under_the_intents_key() {
    let (_, action) = Attempt::start(5_000, CONFIG, Aim::Submit, true, 1);
    let first = Action::Send {
        number: 1,
        timeout_ms: 25_000,
        key: KeyChoice::Same,
    };
    assert_eq!(action, first);
}

#[test]
fn executed_and_replayed_are_done() {
    for (word, replayed) in [(Status::Executed, false), (Status::Replayed, true)] {
        let done = End::Done {
            replayed,
            changed: false,
        };
        assert_eq!(after(Event::Answered(status(word))), Action::Finish(done));
    }
}

#[test]
fn the_gates_word_counts_whatever_the_http_status_says() {
    let executed = Answer {
        http_status: 410,
        ..status(Status::Executed)
    };
    let action = after(Event::Answered(executed));
    assert!(matches!(action, Action::Finish(End::Done { .. })));
    assert!(is_wait(after(Event::Answered(status(Status::Unknown)))));
}

#[test]
fn t4_only_refused_and_cancelled_are_failed() {
    for (word, reason) in [
        (Status::Refused, Reason::Refused),
        (Status::Cancelled, Reason::Cancelled),
    ] {
        let end = End::Failed(reason);
        assert_eq!(after(Event::Answered(status(word))), Action::Finish(end));
    }
}

#[test]
fn t4_open_states_are_asked_again() {
    for word in [Status::InProgress, Status::NotExecuted, Status::Unknown] {
        assert!(is_wait(after(Event::Answered(status(word)))), "{word:?}");
    }
}

#[test]
fn t4_an_answer_without_status_is_never_failed() {
    for code in 100..=999 {
        let action = after(Event::Answered(bare(code)));
        assert!(!matches!(action, Action::Finish(End::Failed(_))), "{code}");
        let again = matches!(code, 408 | 425 | 429 | 500..=599);
        assert_eq!(is_wait(action), again, "{code}");
        let done = matches!(action, Action::Finish(End::Done { .. }));
        assert_eq!(done, (200..300).contains(&code), "{code}");
    }
}

#[test]
fn t4_a_redirect_that_was_followed_proves_nothing() {
    let login_page = Answer {
        redirected: true,
        ..bare(200)
    };
    let end = End::Unknown(Why::NotUnderstood);
    assert_eq!(after(Event::Answered(login_page)), Action::Finish(end));
}

#[test]
fn a_problem_that_cannot_change_is_not_asked_again() {
    let mismatch = Answer {
        problem: Problem {
            retryable: Some(false),
            ..Problem::default()
        },
        ..status(Status::Unknown)
    };
    let end = End::Unknown(Why::NotRetryable);
    assert_eq!(after(Event::Answered(mismatch)), Action::Finish(end));
}

#[test]
fn t4_an_executed_earlier_payload_is_done_and_changed() {
    let end = End::Done {
        replayed: true,
        changed: true,
    };
    let answer = key_reused(Some(Outcome::Executed), false);
    assert_eq!(after(Event::Answered(answer)), Action::Finish(end));
}

#[test]
fn l5_a_ledgers_own_word_that_an_earlier_payload_was_executed_is_done() {
    for status in [Status::Executed, Status::Replayed] {
        let answer = Answer {
            status: Some(status),
            ..key_reused(None, false)
        };
        let end = End::Done {
            replayed: true,
            changed: true,
        };
        assert_eq!(after(Event::Answered(answer)), Action::Finish(end));
    }
}

#[test]
fn t4_a_refused_earlier_payload_gives_way_to_the_next_key_once() {
    for (state, reason) in [
        (Outcome::Refused, Reason::Refused),
        (Outcome::Cancelled, Reason::Cancelled),
    ] {
        let answer = Event::Answered(key_reused(Some(state), true));
        let (attempt, action) = start().handle(1_000, answer).unwrap();
        let next = Action::Send {
            number: 2,
            timeout_ms: 25_000,
            key: KeyChoice::Next,
        };
        assert_eq!(action, next);
        let (_, action) = attempt.handle(2_000, answer).unwrap();
        assert_eq!(action, Action::Finish(End::Failed(reason)));
    }
}

#[test]
fn i8_a_refused_earlier_payload_keeps_the_key_until_a_new_one_is_safe() {
    for state in [Outcome::Refused, Outcome::Cancelled] {
        let answer = key_reused(Some(state), false);
        assert!(is_wait(after(Event::Answered(answer))), "{state}");
    }
}

#[test]
fn without_a_send_left_a_refused_earlier_payload_is_failed() {
    let config = Config {
        max_sends: 1,
        ..CONFIG
    };
    let (attempt, _) = Attempt::start(0, config, Aim::Submit, true, 1);
    let answer = Event::Answered(key_reused(Some(Outcome::Refused), true));
    let (_, action) = attempt.handle(10, answer).unwrap();
    assert_eq!(action, Action::Finish(End::Failed(Reason::Refused)));
}

#[test]
fn retry_after_is_honoured() {
    let busy = Answer {
        retry_after_ms: Some(7_000),
        ..status(Status::InProgress)
    };
    let wait = Action::Wait {
        until_ms: 8_000,
        online: false,
    };
    assert_eq!(after(Event::Answered(busy)), wait);
}

#[test]
fn a_retry_after_of_zero_is_no_opinion() {
    let waits = (0..50).filter(|seed| {
        let busy = Answer {
            retry_after_ms: Some(0),
            ..bare(503)
        };
        let (attempt, _) = Attempt::start(0, CONFIG, Aim::Submit, true, *seed);
        let (_, action) = attempt.handle(0, Event::Answered(busy)).unwrap();
        action
            != Action::Wait {
                until_ms: 0,
                online: false,
            }
    });
    assert!(waits.count() > 40);
}

#[test]
fn a_wait_beyond_the_deadline_ends_at_once() {
    for (asked, over) in [(88_999, false), (89_000, true), (u64::MAX, true)] {
        let busy = Answer {
            retry_after_ms: Some(asked),
            ..bare(503)
        };
        let end = Action::Finish(End::Unknown(Why::Deadline));
        assert_eq!(after(Event::Answered(busy)) == end, over, "{asked}");
    }
}

#[test]
fn a_send_near_the_deadline_has_what_is_left() {
    let busy = Answer {
        retry_after_ms: Some(80_000),
        ..bare(503)
    };
    let (attempt, _) = start().handle(1_000, Event::Answered(busy)).unwrap();
    let (_, action) = attempt.handle(81_200, Event::WaitOver).unwrap();
    let last = Action::Send {
        number: 2,
        timeout_ms: 8_800,
        key: KeyChoice::Same,
    };
    assert_eq!(action, last);
}

#[test]
fn a_page_that_slept_past_the_deadline_stops() {
    let (attempt, _) = start().handle(0, Event::NetworkError).unwrap();
    let (_, action) = attempt.handle(90_000, Event::WaitOver).unwrap();
    assert_eq!(action, Action::Finish(End::Unknown(Why::Deadline)));
}

#[test]
fn a_timer_that_fires_early_waits_on() {
    let busy = Answer {
        retry_after_ms: Some(5_000),
        ..bare(503)
    };
    let (attempt, wait) = start().handle(0, Event::Answered(busy)).unwrap();
    let (_, action) = attempt.handle(4_999, Event::WaitOver).unwrap();
    assert_eq!(action, wait);
}

#[test]
fn an_abort_ends_a_send_and_a_wait_as_unknown() {
    let end = Action::Finish(End::Unknown(Why::Aborted));
    assert_eq!(after(Event::Aborted), end);
    let (waiting, _) = start().handle(0, Event::TimedOut).unwrap();
    assert_eq!(waiting.handle(1, Event::Aborted).unwrap().1, end);
}

#[test]
fn t3_a_key_near_its_end_is_only_looked_up() {
    let (looking, action) = start().handle(1_000, Event::KeyTooOld).unwrap();
    assert_eq!(action, look::LOOK);
    let end = End::Unknown(Why::KeyTooOld);
    let (_, action) = looking.handle(2_000, look::seen(None)).unwrap();
    assert_eq!(action, Action::Finish(end));
}

#[test]
fn illegal_events_are_errors_that_say_what_to_do() {
    #[track_caller]
    fn refuses(attempt: &Attempt, event: Event, message: &str) {
        let error = attempt.clone().handle(1, event).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let sending = start();
    let (waiting, _) = start().handle(0, Event::NetworkError).unwrap();
    let (finished, _) = start().handle(0, Event::Aborted).unwrap();
    refuses(
        &sending,
        Event::WaitOver,
        "the end of a wait was reported to an attempt that is sending; report what came of the send first",
    );
    for event in [Event::TimedOut, Event::NetworkError, Event::KeyTooOld] {
        assert!(waiting.clone().handle(1, event).is_err(), "{event:?}");
    }
    refuses(
        &waiting,
        Event::Answered(bare(200)),
        "an answer was reported to an attempt that is waiting; report the end of the wait first",
    );
    refuses(
        &finished,
        Event::Aborted,
        "an abort was reported to an attempt that has finished; start a new one",
    );
}
