use alloc::string::ToString;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

const ALL: [Code; 32] = [
    Code::BodyIncomplete,
    Code::EndpointUnknown,
    Code::GateUnavailable,
    Code::InProgress,
    Code::KeyInvalid,
    Code::KeyMissing,
    Code::KeyReused,
    Code::LockBusy,
    Code::LockDone,
    Code::LockLost,
    Code::LoopDetected,
    Code::MethodUnsupported,
    Code::OperationCancelled,
    Code::OperationRefused,
    Code::OriginUnreachable,
    Code::OutcomeUnknown,
    Code::OperationUnknown,
    Code::PathNotCanonical,
    Code::PrincipalMismatch,
    Code::QuotaExceeded,
    Code::ResolutionRefused,
    Code::HeadersTooLarge,
    Code::RequestInvalid,
    Code::RequestTooLarge,
    Code::ResultExpired,
    Code::ResultUnavailable,
    Code::RouteUnknown,
    Code::ScopeMissing,
    Code::SenderUnverified,
    Code::TokenExpired,
    Code::TokenInvalid,
    Code::Unauthorized,
];

fn view(state: State, executed: Option<bool>, safe_new_key: bool) -> View {
    View {
        state,
        disputed: false,
        held: false,
        erased: false,
        executed,
        safe_new_key,
        generated: false,
        attempts: 1,
        unsettled: 0,
        lease_ends_ms: None,
        revision: 1,
    }
}

#[test]
fn who_settles_too_early_hears_a_time_that_is_not_too_early() {
    let detail = |until_ms| Problem::from(ResolveError::TooEarly { until_ms }).detail;
    // 2030-03-17, 17:46:40 UTC.
    assert_eq!(
        detail(1_900_000_000_000),
        "until 17:47 UTC (1900000000000 ms since 1970) an attempt may still be under way. \
         Look at the operation again before you settle it."
    );
    assert!(detail(86_399_999).starts_with("until 00:00 UTC"));
    assert!(detail(60_000).starts_with("until 00:01 UTC"));
}

#[test]
fn p1_a_problem_without_an_operation_says_nothing_about_an_earlier_send() {
    for code in [
        Code::KeyInvalid,
        Code::KeyMissing,
        Code::GateUnavailable,
        Code::RequestTooLarge,
    ] {
        let problem = Problem::new(code);
        assert_eq!(problem.executed, None);
        assert!(!problem.safe_new_key);
    }
}

#[test]
fn p1_every_code_has_a_client_error_or_a_servers_and_says_nothing_by_itself() {
    let mut names = alloc::vec::Vec::new();
    for code in ALL {
        let problem = Problem::new(code);
        assert!((400..=599).contains(&problem.status), "{code:?}");
        assert_eq!((problem.executed, problem.safe_new_key), (None, false));
        assert!(problem.detail.ends_with('.'), "{code:?}");
        let written = serde_json::to_string(&code).unwrap();
        assert_eq!(written.trim_matches('"'), code.as_str());
        names.push(code.as_str());
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ALL.len());
}

#[test]
fn k4_a_problem_about_somebody_elses_operation_says_nothing_of_it() {
    let view = view(State::Executed, Some(true), false);
    let problem = Problem::about(Code::PrincipalMismatch, "op", &view);
    assert_eq!(problem, Problem::new(Code::PrincipalMismatch));
}

#[test]
fn p1_what_waits_for_a_person_is_not_retryable() {
    let open = view(State::Unknown, None, false);
    let held = View { held: true, ..open };
    let problem = |view| Problem::about(Code::OutcomeUnknown, "op", view).retry_after(5);
    assert_eq!(problem(&open).retry_after_ms, Some(5));
    let held = problem(&held);
    assert_eq!((held.retryable, held.retry_after_ms), (false, None));
    assert!(held.detail.contains("Do not use another key"));
}

#[test]
fn p1_the_detail_says_what_to_do() {
    let problem = Problem::new(Code::KeyInvalid).because("the key is empty");
    assert_eq!(problem.detail, "the key is empty. Correct the key.");
    assert_eq!(
        problem.r#type.to_string(),
        "urn:oncegate:problem:key_invalid"
    );
}

#[test]
fn i8_a_new_key_is_advised_only_where_it_is_safe() {
    let advice = |code, view: &View| Problem::about(code, "op", view).detail.to_string();
    for state in [State::Dispatched, State::Unknown, State::Released] {
        let open = view(state, None, false);
        assert!(
            !advice(Code::KeyReused, &open).contains("se a new key"),
            "{state:?}"
        );
    }
    let refused = view(State::Refused, Some(false), true);
    assert!(advice(Code::KeyReused, &refused).contains("Use a new key"));
    let generated = view(State::Refused, Some(false), false);
    assert!(!advice(Code::OperationRefused, &generated).contains("new key."));
}

#[test]
fn i8_who_cannot_choose_the_key_is_not_told_to() {
    for (state, executed) in [(State::Executed, Some(true)), (State::Unknown, None)] {
        let generated = View {
            generated: true,
            ..view(state, executed, false)
        };
        let detail = Problem::about(Code::KeyReused, "op", &generated).detail;
        assert!(!detail.contains("a new key"), "{detail}");
        assert!(!detail.contains("another key"), "{detail}");
    }
}

#[test]
fn p1_a_title_fits_every_operation_that_it_is_said_of() {
    let title = |state| Problem::about(Code::OutcomeUnknown, "op", &view(state, None, false)).title;
    // Released: nothing has happened, and that is known.
    assert_eq!(title(State::Released), title(State::Unknown));
    assert!(!title(State::Released).contains("known"));
}

#[test]
fn p2_no_retry_after_where_retrying_is_of_no_use() {
    assert_eq!(
        Problem::new(Code::KeyReused).retry_after(5).retry_after_ms,
        None
    );
    assert_eq!(
        Problem::new(Code::InProgress).retry_after(5).retry_after_ms,
        Some(5)
    );
}
