use alloc::string::ToString;
use alloc::vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

mod keys;
mod settings;

use super::*;

/// A route with nothing but what has no default.
pub(super) fn config(name: &str, method: &str, path: &str) -> RouteConfig {
    let json =
        format!(r#"{{"name":"{name}","methods":["{method}"],"path":"{path}","origin":"ledger"}}"#);
    serde_json::from_str(&json).unwrap()
}

pub(super) fn route(config: RouteConfig) -> Route {
    Route::new(&config, false).unwrap()
}

fn policy(routes: &[RouteConfig]) -> Policy {
    Policy::new(routes, false).unwrap()
}

fn orders() -> RouteConfig {
    config("orders", "POST", "/orders")
}

#[track_caller]
fn refuses(routes: Vec<RouteConfig>, message: &str) {
    let error = Policy::new(&routes, false).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn k5_a_path_that_matches_only_in_canonical_form_is_refused() {
    let policy = policy(&[orders()]);
    assert!(matches!(
        policy.find("POST", "/orders", false),
        Match::Protected(_)
    ));
    for path in [
        "/orders/",
        "//orders",
        "/%6Frders",
        "/x/../orders",
        "/orders;a",
    ] {
        assert!(
            matches!(policy.find("POST", path, false), Match::NotCanonical(_)),
            "{path}"
        );
    }
    assert!(matches!(
        policy.find("GET", "/orders", false),
        Match::OtherMethod(_)
    ));
    assert!(matches!(
        policy.find("POST", "/orders/1", false),
        Match::Unprotected
    ));
}

#[test]
fn k5_a_path_is_known_under_its_other_methods() {
    let routes = [
        orders(),
        config("pay", "PUT", "/pay/:id"),
        config("void", "DELETE", "/pay/:id"),
    ];
    let policy = policy(&routes);
    match policy.find("POST", "/pay/1", false) {
        Match::OtherMethod(route) => assert_eq!(route.name, "pay"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        policy.find("POST", "/PAY/1/", false),
        Match::OtherMethod(_)
    ));
    let [orders, pay] = ["orders", "pay"].map(|name| policy.route(Some(name)).unwrap());
    assert!(policy.looks_into(pay, "/pay/1", "application/json"));
    assert!(!policy.looks_into(orders, "/orders", "application/json"));
    let form = "application/x-www-form-urlencoded";
    assert!(policy.looks_into(orders, "/orders", form));
    assert!(!policy.looks_into(pay, "/pay/1", "text/plain"));
}

#[test]
fn k5_a_path_whose_case_counts() {
    let sensitive = RouteConfig {
        case_sensitive_path: true,
        ..orders()
    };
    let policy = policy(&[sensitive, config("other", "POST", "/other")]);
    assert!(matches!(
        policy.find("POST", "/Orders", false),
        Match::Unprotected
    ));
    assert!(matches!(
        policy.find("POST", "/orders/", false),
        Match::NotCanonical(_)
    ));
    assert!(matches!(
        policy.find("POST", "/Other", false),
        Match::NotCanonical(_)
    ));
}

#[test]
fn k5_a_method_override_on_a_protected_path_is_refused() {
    let policy = policy(&[orders()]);
    for method in ["GET", "POST", "PUT"] {
        assert!(matches!(
            policy.find(method, "/orders", true),
            Match::NotCanonical(_)
        ));
        assert!(matches!(
            policy.find(method, "/orders/", true),
            Match::NotCanonical(_)
        ));
    }
    assert!(matches!(
        policy.find("GET", "/catalog", true),
        Match::Unprotected
    ));
}

#[test]
fn t1_t2_the_times_have_an_order() {
    refuses(
        vec![RouteConfig {
            wait_ms: Some(20_001),
            ..orders()
        }],
        "route 'orders': wait_ms is longer than client_timeout_ms",
    );
    refuses(
        vec![RouteConfig {
            client_timeout_ms: Some(25_000),
            ..orders()
        }],
        "route 'orders': client_timeout_ms must be under 25000, the deadline for the store",
    );
    refuses(
        vec![RouteConfig {
            result_ttl_s: Some(8 * times::DAY_S),
            ..orders()
        }],
        "route 'orders': result_ttl_s is longer than key_ttl_s",
    );
}

#[test]
fn l9_the_ledger_remembers_longer_than_the_gate() {
    refuses(
        vec![RouteConfig {
            ledger_retention_s: Some(13 * times::DAY_S),
            ..orders()
        }],
        "route 'orders': ledger_retention_s must be at least twice key_ttl_s",
    );
}

#[test]
fn a_question_is_about_the_route_that_it_names_or_whose_request_it_names() {
    let both = policy(&[orders(), config("pay", "PUT", "/orders/:id/pay")]);
    let asked = |name, path, method| {
        both.asked(name, path, method)
            .map(|route| route.name.as_str())
    };
    assert_eq!(asked(None, Some("/orders"), Some("POST")), Some("orders"));
    assert_eq!(asked(None, Some("/orders/7/pay"), None), Some("pay"));
    // The name has the last word; a path that no route protects says nothing.
    assert_eq!(
        asked(Some("orders"), Some("/orders/7/pay"), None),
        Some("orders")
    );
    assert_eq!(asked(Some("other"), Some("/orders"), None), None);
    assert_eq!(asked(None, Some("/other"), None), None);
    assert_eq!(asked(None, None, None), None);
    let one = policy(&[orders()]);
    assert!(one.asked(None, Some("/other"), Some("PUT")).is_some());
}

#[test]
fn a_question_that_fits_several_routes_is_about_none() {
    let all = ["PUT", "PATCH", "POST"].map(|method| config(method, method, "/orders/:id"));
    let shared = policy(&all);
    let asked = |method| {
        let route = shared.asked(None, Some("/orders/7"), method);
        route.map(|route| route.name.as_str())
    };
    for method in ["PUT", "PATCH", "POST"] {
        assert_eq!(asked(Some(method)), Some(method));
    }
    // Neither POST nor the first in the file is meant by saying nothing, nor any by a method that none takes.
    assert_eq!(asked(None), None);
    assert_eq!(asked(Some("DELETE")), None);
    assert_eq!(
        shared
            .asked(Some("PUT"), None, None)
            .map(|route| route.name.as_str()),
        Some("PUT")
    );
}

#[test]
fn a_route_is_found_by_its_name_or_by_being_the_only_one() {
    let one = policy(&[orders()]);
    assert!(one.route(None).is_some() && one.route(Some("orders")).is_some());
    assert!(one.route(Some("order")).is_none());
    let two = policy(&[orders(), config("b", "PUT", "/b")]);
    assert!(two.route(None).is_none() && two.route(Some("b")).is_some());
}

#[test]
fn errors_name_route_and_field() {
    refuses(
        vec![config("o", "post", "/a")],
        "route 'o': methods are of POST, PUT, PATCH and DELETE, in capitals",
    );
    refuses(
        vec![config("o", "POST", "a")],
        "route 'o': path must begin with '/'",
    );
    refuses(
        vec![
            config("one", "POST", "/a/:id"),
            config("two", "POST", "/a/b"),
        ],
        "route 'two': path matches requests that route 'one' matches too",
    );
    assert!(
        Policy::new(
            &[config("one", "POST", "/a"), config("two", "PUT", "/a")],
            false
        )
        .is_ok()
    );
}

#[test]
fn a_policy_that_protects_nothing_does_not_start() {
    refuses(
        vec![],
        "routes are missing; without one, every request passes unprotected",
    );
    for method in ["GET", "", "PURGE"] {
        assert!(
            Policy::new(&[config("o", method, "/a")], false).is_err(),
            "{method}"
        );
    }
    refuses(
        vec![config("o", "POST", "/.oncegate/x")],
        "route 'o': path is the gate's own",
    );
}

#[test]
fn k5_a_slash_at_the_end_is_the_routes_or_refused() {
    let found = |path: &str, asked: &str| {
        let policy = policy(&[config("orders", "POST", path)]);
        match policy.find("POST", asked, false) {
            Match::Protected(_) => "protected",
            Match::NotCanonical(_) => "refused",
            Match::OtherMethod(_) | Match::Unprotected => "passed",
        }
    };
    for (path, asked, what) in [
        ("/orders", "/orders/", "refused"),
        ("/orders/", "/orders/", "protected"),
        ("/orders/", "/orders", "refused"),
        ("/orders/", "/orders/1", "passed"),
        ("/orders/*", "/orders/", "refused"),
        ("/orders/*", "/orders", "passed"),
        ("/orders/:id/", "/orders/1/", "protected"),
        ("/orders/:id", "/orders/", "passed"),
    ] {
        assert_eq!(found(path, asked), what, "{path} {asked}");
    }
}

#[test]
fn k5_a_segment_that_only_some_origins_see_hides_nothing() {
    let policy = policy(&[config("orders", "POST", "/orders/*")]);
    let plain = policy.find("POST", "/orders/%00", false);
    assert!(matches!(plain, Match::Protected(_)), "{plain:?}");
    for path in [
        "//orders/%00",
        "/orders%01/%00",
        "/orders/%00/",
        "/orders/%2f",
        "/orders/%2F%2f",
        "/orders/%5c",
        "/orders/;a",
        "/orders/%3b",
    ] {
        let found = policy.find("POST", path, false);
        assert!(matches!(found, Match::NotCanonical(_)), "{path}: {found:?}");
    }
}
