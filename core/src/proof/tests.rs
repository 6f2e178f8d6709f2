//! What an answer proves: rules A1 to A3.

use alloc::string::String;
use alloc::vec::Vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::body::pointer::Pointer;

fn texts(values: &[&str]) -> Vec<String> {
    values.iter().copied().map(String::from).collect()
}

/// As for an API that answers 200 with a code inside.
fn by_code(otherwise: Outcome) -> Rules {
    Rules {
        outcome: Some(OutcomeRule {
            place: Place::Json(Pointer::parse("/code").unwrap()),
            executed: texts(&["0", "200"]),
            refused: texts(&["declined"]),
            not_executed: texts(&["busy"]),
            otherwise,
        }),
        ..Rules::default()
    }
}

fn says(rules: &Rules, status: u16, body: &str, others_settled: bool) -> Outcome {
    let place = &rules.outcome.as_ref().unwrap().place;
    let value = place.value_in(body.as_bytes());
    let reply = Reply::Answered {
        status,
        outcome: None,
        value: value.as_deref(),
    };
    judge(Origin::None, rules, reply, others_settled)
}

fn status(rules: &Rules, status: u16, others_settled: bool) -> Outcome {
    let reply = Reply::Answered {
        status,
        outcome: None,
        value: None,
    };
    judge(Origin::Read, rules, reply, others_settled)
}

#[test]
fn a2_the_value_in_the_answer_decides_and_not_the_status() {
    let rules = by_code(Outcome::Unknown);
    for (body, outcome) in [
        (r#"{"code":0}"#, Outcome::Executed),
        (r#"{"code":"0"}"#, Outcome::Executed),
        (r#"{"code":200}"#, Outcome::Executed),
        (r#"{"code":"declined"}"#, Outcome::Refused),
        (r#"{"code":"busy"}"#, Outcome::NotExecuted),
        (r#"{"code":"new"}"#, Outcome::Unknown),
        (r#"{"code":2e2}"#, Outcome::Unknown),
        (r#"{"code":null}"#, Outcome::Unknown),
    ] {
        for code in [200, 400, 404, 500, 503] {
            assert_eq!(says(&rules, code, body, true), outcome, "{code} {body}");
        }
    }
}

#[test]
fn a2_a_good_status_without_a_value_proves_nothing() {
    for otherwise in [Outcome::Executed, Outcome::Refused, Outcome::NotExecuted] {
        let rules = by_code(otherwise);
        for body in [
            "",
            "<html>",
            "{}",
            r#"{"code":{}}"#,
            r#"{"code":[0]}"#,
            r#"{"code":0,"code":0}"#,
        ] {
            assert_eq!(says(&rules, 200, body, true), Outcome::Unknown, "{body}");
            assert_eq!(says(&rules, 502, body, true), Outcome::Unknown, "{body}");
            assert_eq!(says(&rules, 421, body, true), Outcome::NotExecuted);
        }
    }
}

#[test]
fn a2_else_is_for_answers_and_not_for_failures() {
    for otherwise in [Outcome::Executed, Outcome::Refused, Outcome::NotExecuted] {
        let rules = by_code(otherwise);
        let body = r#"{"code":"1234"}"#;
        assert_eq!(says(&rules, 200, body, true), otherwise);
        assert_eq!(says(&rules, 402, body, true), otherwise);
        for code in [408, 409, 500, 502, 503, 504] {
            assert_eq!(says(&rules, code, body, true), Outcome::Unknown, "{code}");
        }
    }
}

#[test]
fn a2_a_refusal_may_be_the_doing_of_an_attempt_that_is_open() {
    let rules = by_code(Outcome::Refused);
    for body in [r#"{"code":"declined"}"#, r#"{"code":"other"}"#] {
        assert_eq!(says(&rules, 200, body, false), Outcome::Unknown);
        assert_eq!(says(&rules, 200, body, true), Outcome::Refused);
    }
}

#[test]
fn a2_a_value_that_is_too_long_equals_none_that_is_listed() {
    let long = "x".repeat(LONGEST_VALUE + 1);
    let mut rules = by_code(Outcome::Unknown);
    let rule = rules.outcome.as_mut().unwrap();
    rule.executed = texts(&[&long[1..]]);
    let body = |value: &str| alloc::format!(r#"{{"code":"{value}"}}"#);
    assert_eq!(
        says(&rules, 200, &body(&long[1..]), true),
        Outcome::Executed
    );
    for extra in [0, 1, 10_000] {
        let value = "x".repeat(LONGEST_VALUE + 1 + extra);
        assert_eq!(says(&rules, 200, &body(&value), true), Outcome::Unknown);
    }
}

#[test]
fn a3_a_route_that_knows_better_says_so_by_status() {
    let rules = Rules {
        not_executed: [503, 409].into(),
        refused: [409, 404].into(),
        unknown: [401, 404, 200].into(),
        outcome: None,
    };
    assert_eq!(status(&rules, 503, true), Outcome::NotExecuted);
    assert_eq!(status(&rules, 409, true), Outcome::Refused);
    for code in [401, 404, 200] {
        assert_eq!(status(&rules, code, true), Outcome::Unknown);
    }
    assert_eq!(status(&rules, 201, true), Outcome::Executed);
    assert_eq!(status(&rules, 500, true), Outcome::Unknown);
}

#[test]
fn a3_what_a_route_lists_speaks_for_its_own_attempt_only() {
    let rules = Rules {
        not_executed: [503].into(),
        refused: [409].into(),
        ..Rules::default()
    };
    assert_eq!(status(&rules, 503, false), Outcome::NotExecuted);
    assert_eq!(status(&rules, 409, false), Outcome::Unknown);
}

#[test]
fn a1_a_ledgers_header_stands_above_every_rule() {
    let mut rules = by_code(Outcome::Executed);
    rules.not_executed = [200].into();
    for (outcome, expected) in [
        (None, Outcome::Unknown),
        (Some("refused"), Outcome::Refused),
    ] {
        let reply = Reply::Answered {
            status: 200,
            outcome,
            value: Some("0"),
        };
        assert_eq!(judge(Origin::Ledger, &rules, reply, true), expected);
    }
}

#[test]
fn a1_the_header_of_another_origin_stands_above_the_rules_of_its_route() {
    let reply = Reply::Answered {
        status: 200,
        outcome: Some("not_executed"),
        value: Some("0"),
    };
    let judged = judge(Origin::Read, &by_code(Outcome::Unknown), reply, true);
    assert_eq!(judged, Outcome::NotExecuted);
}

#[test]
fn rules_survive_storage() {
    let rules = by_code(Outcome::NotExecuted);
    let text = serde_json::to_string(&rules).unwrap();
    assert_eq!(serde_json::from_str::<Rules>(&text).unwrap(), rules);
    assert_eq!(serde_json::to_string(&Rules::default()).unwrap(), "{}");
    assert!(serde_json::from_str::<Rules>(r#"{"executed":[503]}"#).is_err());
}

fn answered(status: u16, outcome: Option<&str>) -> Reply<'_> {
    Reply::Answered {
        status,
        outcome,
        value: None,
    }
}

fn ledger(status: u16, outcome: Option<&str>) -> Outcome {
    judge(
        Origin::Ledger,
        &Rules::default(),
        answered(status, outcome),
        true,
    )
}

fn other(status: u16, others_settled: bool) -> Outcome {
    let reply = answered(status, None);
    judge(Origin::None, &Rules::default(), reply, others_settled)
}

#[test]
fn a1_a_ledger_origin_is_believed_by_its_header_only() {
    assert_eq!(ledger(200, Some("executed")), Outcome::Executed);
    assert_eq!(ledger(402, Some("refused")), Outcome::Refused);
    assert_eq!(ledger(503, Some("not_executed")), Outcome::NotExecuted);
    assert_eq!(ledger(410, Some("cancelled")), Outcome::Cancelled);
    assert_eq!(ledger(409, Some("in_progress")), Outcome::InProgress);
    for status in [200, 201, 302, 400, 404, 421, 429, 500, 503, 521] {
        assert_eq!(ledger(status, None), Outcome::Unknown);
        assert_eq!(ledger(status, Some("done")), Outcome::Unknown);
    }
}

#[test]
fn a1_only_a_ledger_can_promise_a_cancellation() {
    let reply = answered(410, Some("cancelled"));
    let judged = judge(Origin::Read, &Rules::default(), reply, true);
    assert_eq!(judged, Outcome::Unknown);
}

#[test]
fn a3_status_of_other_origins() {
    for status in [200, 201, 204, 302, 304] {
        assert_eq!(other(status, false), Outcome::Executed);
    }
    for status in [421, 425, 521, 523, 525, 526, 530] {
        assert_eq!(other(status, false), Outcome::NotExecuted);
    }
    for status in [401, 403, 404, 405, 411, 413, 414, 415, 426, 429, 431] {
        assert_eq!(other(status, true), Outcome::NotExecuted);
        assert_eq!(other(status, false), Outcome::Unknown);
    }
    for status in [400, 402, 406, 410, 422, 451] {
        assert_eq!(other(status, true), Outcome::Refused);
        assert_eq!(other(status, false), Outcome::Unknown);
    }
    for status in [
        100, 408, 409, 412, 423, 500, 502, 503, 504, 522, 524, 600, 999,
    ] {
        assert_eq!(other(status, true), Outcome::Unknown);
    }
}

#[test]
fn a3_a_reply_that_is_not_whole_proves_nothing() {
    for origin in [Origin::Ledger, Origin::Read, Origin::None] {
        let judged = judge(origin, &Rules::default(), Reply::Lost, true);
        assert_eq!(judged, Outcome::Unknown);
    }
}

#[test]
fn a2_json_that_cannot_be_read_may_hide_a_value() {
    let place = Place::Json(Pointer::parse("/code").unwrap());
    let hides = |content_type, body| place.may_hide_value(content_type, body);
    for body in [
        &b"{\"code\":0,\"code\":1}"[..],
        b"{\"code\":0} x",
        b"{\"code\":\"\xff\"}",
        b" ",
    ] {
        assert!(hides("application/json; charset=utf-8", Some(body)));
        assert!(
            !hides("text/html", Some(body)),
            "something else has answered"
        );
    }
    assert!(hides("application/problem+JSON", None));
    assert!(!hides("application/json", Some(b"{\"error\":1}")));
    assert!(
        !hides("application/json", Some(b"")),
        "no bytes hide nothing"
    );
    assert!(!Place::Header("x".into()).may_hide_value("application/json", None));
    let marked = b"\xef\xbb\xbf{\"code\":0}";
    assert_eq!(place.value_in(marked).as_deref(), Some("0"));
    assert!(!hides("application/json", Some(marked)));
}
