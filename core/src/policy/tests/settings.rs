//! What a route may say, and what an operator hears who says something else.

use alloc::format;
use alloc::string::{String, ToString};

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::config;
use crate::outcome::Outcome;
use crate::policy::*;
use crate::proof::Place as ValuePlace;

/// A route with these settings, as JSON members. `origin` has to be among them.
fn read(settings: &str) -> Result<Route, String> {
    let json = format!(r#"{{"name":"r","methods":["POST"],"path":"/pay",{settings}}}"#);
    let config: RouteConfig = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    Route::new(&config, false).map_err(|error| error.to_string())
}

#[track_caller]
fn refuses(settings: &str, message: &str) {
    let error = read(settings).err().unwrap_or_default();
    let said = error.strip_prefix("route 'r': ").unwrap_or(&error);
    assert_eq!(said, message);
}

const NONE: &str = r#""origin":"none""#;
const READ: &str = r#""origin":"read""#;
const LEDGER: &str = r#""origin":"ledger""#;

#[test]
fn settings_have_defaults() {
    let route = read(LEDGER).unwrap();
    assert_eq!((route.wait_ms, route.client_timeout_ms), (10_000, 20_000));
    assert_eq!((route.max_waiters, route.max_body_bytes), (500, 1_048_576));
    assert_eq!((route.mode, route.scope), (Mode::Enforce, Scope::Host));
    assert_eq!((route.bind, route.ask.is_none()), (None, true));
    assert_eq!(route.terms.settle_after_ms, 900_000);
    assert!(!route.terms.finish);
    assert_eq!(
        (route.answers.store, route.answers.max_bytes),
        (Store::Answer, 1_900_000)
    );
    assert!(!route.answers.stream && !route.answers.seal);
}

#[test]
fn a_setting_that_is_not_known_is_refused() {
    let error = read(&format!(r#"{LEDGER},"lease":1"#)).unwrap_err();
    assert!(
        error.starts_with("unknown field `lease`, expected"),
        "{error}"
    );
    let error = read(&format!(
        r#"{READ},"ask":{{"path":"/{{key}}","executed":[200],"absent":[404]}}"#
    ));
    assert!(error.unwrap_err().starts_with("unknown field `absent`"));
    let error = read(&format!(r#"{NONE},"outcome":{{"json":"/a","ok":[1]}}"#));
    assert!(error.unwrap_err().starts_with("unknown field `ok`"));
}

#[test]
fn a6_the_operator_has_to_say_what_the_origin_can_do() {
    let error = read(r#""mode":"enforce""#).unwrap_err();
    assert!(error.starts_with("missing field `origin`"), "{error}");
    refuses(
        &format!(r#"{NONE},"finish":true"#),
        "finish needs an origin that can settle an operation: \"ledger\" or \"read\"",
    );
    assert!(
        read(&format!(r#"{LEDGER},"finish":true"#))
            .unwrap()
            .terms
            .finish
    );
}

#[test]
fn a6_a_read_origin_is_asked_as_the_route_says() {
    let asks = |ask: &str| format!(r#"{READ},"finish":true,"ask":{ask}"#);
    let ask =
        r#"{"path":"/by-key/{key}?full=1","executed":[200],"not_executed":[404],"refused":[410]}"#;
    let route = read(&asks(ask)).unwrap();
    let ask = route.ask.unwrap();
    assert_eq!(ask.path_and_query("a/b c"), "/by-key/a%2Fb%20c?full=1");
    assert_eq!(ask.judge(200), Outcome::Executed);
    assert_eq!(ask.judge(404), Outcome::NotExecuted);
    assert_eq!(ask.judge(410), Outcome::Refused);
    assert_eq!(ask.judge(500), Outcome::Unknown);

    refuses(
        &format!(r#"{READ},"finish":true"#),
        "ask is missing: with finish, the gate asks this origin",
    );
    assert!(read(READ).is_ok());
    for origin in [NONE, LEDGER] {
        let settings = format!(r#"{origin},"ask":{{"path":"/{{key}}","executed":[200]}}"#);
        refuses(&settings, "ask goes with origin = \"read\"");
    }
    let path = "ask has no path such as /payments/by-key/{key}, with {key} once";
    for wrong in ["{key}", "/key", "/{key}/{key}", "/{key}#a"] {
        let ask = format!(r#"{{"path":"{wrong}","executed":[200],"not_executed":[404]}}"#);
        refuses(&asks(&ask), path);
    }
    refuses(
        &asks(r#"{"path":"/{key}","executed":[200],"not_executed":[200]}"#),
        "ask lists 200 twice; it can say only one thing",
    );
    refuses(
        &asks(r#"{"path":"/{key}","executed":[200],"not_executed":[600]}"#),
        "ask lists 600, which is no final status (200 to 599)",
    );
    refuses(
        &asks(r#"{"path":"/{key}","executed":[200]}"#),
        "ask lists no status for executed, or none for not_executed or refused",
    );
}

#[test]
fn a2_an_outcome_rule_is_written_into_the_terms() {
    let rule = r#"{"json":"/code","executed":[0,"ok",true],"refused":[7],"else":"not_executed"}"#;
    let route = read(&format!(r#"{NONE},"outcome":{rule}"#)).unwrap();
    let rule = route.terms.rules.outcome.unwrap();
    assert!(matches!(&rule.place, ValuePlace::Json(pointer) if pointer.as_str() == "/code"));
    assert_eq!(rule.executed, ["0", "ok", "true"]);
    assert_eq!(rule.refused, ["7"]);
    assert_eq!(rule.otherwise, Outcome::NotExecuted);
    let header = r#"{"header":"X-Result","executed":["done"]}"#;
    let route = read(&format!(r#"{NONE},"outcome":{header}"#)).unwrap();
    let rule = route.terms.rules.outcome.unwrap();
    assert_eq!(rule.place, ValuePlace::Header("x-result".into()));
    assert_eq!(rule.otherwise, Outcome::Unknown);
}

#[test]
fn a2_an_outcome_rule_says_one_thing() {
    let rule = |rule: &str| format!(r#"{NONE},"outcome":{rule}"#);
    let place = "outcome needs json or header, and only one of them";
    refuses(&rule(r#"{"executed":[0]}"#), place);
    refuses(&rule(r#"{"json":"/a","header":"A","executed":[0]}"#), place);
    refuses(&rule(r#"{"json":"/a"}"#), "outcome lists no value");
    refuses(
        &rule(r#"{"json":"/a","executed":[0],"refused":["0"]}"#),
        "outcome lists 0 twice; it can say only one thing",
    );
    refuses(
        &rule(r#"{"json":"a","executed":[0]}"#),
        "outcome a JSON pointer begins with '/', such as /order/id",
    );
    refuses(
        &rule(r#"{"json":"/a","executed":[""]}"#),
        "outcome values have 1 to 256 characters",
    );
    refuses(
        &format!(r#"{LEDGER},"outcome":{{"json":"/a","executed":[0]}}"#),
        "outcome has no effect with origin = \"ledger\": only Idempotency-Outcome counts there",
    );
    refuses(
        &format!(r#"{NONE},"stream":true,"outcome":{{"json":"/a","executed":[0]}}"#),
        "outcome reads the body, which stream passes on unread",
    );
}

#[test]
fn a3_status_lists_are_disjoint_and_of_final_statuses() {
    let route = read(&format!(
        r#"{NONE},"not_executed":[503],"refused":[409],"unknown":[401]"#
    ));
    let rules = route.unwrap().terms.rules;
    assert_eq!(
        (rules.not_executed, rules.refused, rules.unknown),
        ([503].into(), [409].into(), [401].into())
    );
    refuses(
        &format!(r#"{NONE},"not_executed":[503],"unknown":[401,503]"#),
        "unknown lists 503 twice; it can say only one thing",
    );
    for status in [0, 100, 199, 600, 999] {
        refuses(
            &format!(r#"{NONE},"refused":[{status}]"#),
            &format!("refused lists {status}, which is no final status (200 to 599)"),
        );
    }
    refuses(
        &format!(r#"{LEDGER},"not_executed":[503]"#),
        "not_executed has no effect with origin = \"ledger\": only Idempotency-Outcome counts there",
    );
}

#[test]
fn t1_who_rejects_duplicates_does_not_wait() {
    let route = read(&format!(r#"{NONE},"in_flight":"reject""#)).unwrap();
    assert_eq!((route.wait_ms, route.max_waiters), (0, 0));
    refuses(
        &format!(r#"{NONE},"in_flight":"reject","wait_ms":1"#),
        "wait_ms goes with in_flight = \"wait\"",
    );
    refuses(
        &format!(r#"{NONE},"in_flight":"reject","max_waiters":1"#),
        "max_waiters goes with in_flight = \"wait\"",
    );
    refuses(
        &format!(r#"{NONE},"max_waiters":0"#),
        "max_waiters is 0: say in_flight = \"reject\"",
    );
    refuses(
        &format!(r#"{NONE},"max_waiters":10001"#),
        "max_waiters is over 10000",
    );
}

#[test]
fn a6_a_no_counts_only_after_the_lease() {
    refuses(
        &format!(r#"{READ},"settle_after_s":29"#),
        "settle_after_s is shorter than lease_ms",
    );
    refuses(
        &format!(r#"{READ},"settle_after_s":2592001"#),
        "settle_after_s is longer than ledger_retention_s",
    );
    let route = read(&format!(r#"{READ},"settle_after_s":60"#)).unwrap();
    assert_eq!(route.terms.settle_after_ms, 60_000);
}

#[test]
fn p6_what_is_not_kept_has_no_settings() {
    refuses(
        &format!(r#"{NONE},"max_answer_bytes":1900001"#),
        "max_answer_bytes is over 1900000, what a row can hold",
    );
    for kept in [r#""stream":true"#, r#""store":"status""#] {
        refuses(
            &format!(r#"{NONE},{kept},"max_answer_bytes":1"#),
            "max_answer_bytes has no meaning where answers are not kept",
        );
        refuses(
            &format!(r#"{NONE},{kept},"replay_headers":["X-A"]"#),
            "replay_headers have no meaning where answers are not kept",
        );
        refuses(
            &format!(r#"{NONE},{kept},"seal":true"#),
            "seal has no meaning where neither answers nor requests are kept",
        );
        assert!(read(&format!(r#"{LEDGER},{kept},"seal":true,"finish":true"#)).is_ok());
    }
    refuses(
        &format!(r#"{NONE},"stream":true,"store":"status""#),
        "store has no meaning with stream: nothing of the answer is kept",
    );
}

#[test]
fn p5_what_a_replay_repeats_is_the_answers_own() {
    let route = read(&format!(r#"{NONE},"replay_headers":["X-Order-Id"]"#)).unwrap();
    assert_eq!(route.answers.replay_headers, ["x-order-id"]);
    for name in [
        "Set-Cookie",
        "WWW-Authenticate",
        "Connection",
        "Proxy-Connection",
        "Oncegate-Operation",
    ] {
        refuses(
            &format!(r#"{NONE},"replay_headers":["{name}"]"#),
            "replay_headers names a header field that is of one connection or the gate's own",
        );
    }
    for name in [
        "Access-Control-Allow-Origin",
        "Idempotency-Status",
        "Vary",
        "Retry-After",
    ] {
        refuses(
            &format!(r#"{NONE},"replay_headers":["{name}"]"#),
            "replay_headers names a header field that the gate sets itself",
        );
    }
    for names in [r#""Location""#, r#""X-Order-Id","x-order-id""#] {
        refuses(
            &format!(r#"{NONE},"replay_headers":[{names}]"#),
            "replay_headers names a header field that is replayed already",
        );
    }
}

#[test]
fn claims_need_somebody_who_verifies_tokens() {
    let missing = |field: &str| format!("{field} is a claim, and nothing verifies tokens: set JWT");
    refuses(
        &format!(r#"{NONE},"scope":{{"claim":"tenant"}}"#),
        &missing("scope"),
    );
    refuses(
        &format!(r#"{NONE},"bind":{{"claim":"sub"}}"#),
        &missing("bind"),
    );
    let route = read(&format!(
        r#"{NONE},"scope":{{"header":"X-Tenant"}},"bind":{{"header":"X-User"}}"#
    ));
    let route = route.unwrap();
    assert_eq!(route.bind, Some(Attribute::Header("x-user".into())));
    assert_eq!(
        route.scope,
        Scope::Tenant(Attribute::Header("x-tenant".into()))
    );
    refuses(
        &format!(r#"{NONE},"scope":{{"header":"X Tenant"}}"#),
        "scope names what is no header field",
    );
    assert!(read(&format!(r#"{NONE},"scope":"user""#)).is_err());
}

#[test]
fn names_are_short_and_routes_have_their_own() {
    let named = |name: &str| config(name, "POST", "/pay");
    for name in ["", "a b", "é", "a/b", &"n".repeat(65)] {
        let error = Policy::new(&[named(name)], false).unwrap_err().to_string();
        assert!(
            error.ends_with("name has 1 to 64 letters, digits, '-', '_' and '.'"),
            "{error}"
        );
    }
    let twice = [named("a"), config("a", "POST", "/b")];
    assert_eq!(
        Policy::new(&twice, false).unwrap_err().to_string(),
        "route 'a': name is an earlier route's"
    );
}
