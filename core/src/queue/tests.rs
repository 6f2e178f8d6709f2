use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::outcome::Status;
use crate::policy::RouteConfig;

const ROUTES: [&str; 5] = [
    r#"{"name":"mail","methods":["POST"],"path":"/mail","origin":"ledger","key_headers":["X-Message"]}"#,
    r#"{"name":"orders","methods":["PUT"],"path":"/orders/:id","origin":"ledger"}"#,
    r#"{"name":"made","methods":["POST"],"path":"/made","origin":"ledger","key":"generated","key_from":{"json":"/no"}}"#,
    r#"{"name":"shops","methods":["POST"],"path":"/shops","origin":"ledger","scope":{"header":"X-Shop"}}"#,
    r#"{"name":"bound","methods":["POST"],"path":"/bound","origin":"ledger","bind":{"header":"X-User"}}"#,
];

fn queues(configs: &str) -> Result<Vec<Queue>, String> {
    let routes = ROUTES.map(|route| serde_json::from_str::<RouteConfig>(route).unwrap());
    let policy = Policy::new(&routes, false).unwrap();
    let configs: Vec<QueueConfig> =
        serde_json::from_str(configs).map_err(|error| error.to_string())?;
    read(&configs, &policy).map_err(|error| error.to_string())
}

fn queue(settings: &str) -> Result<Queue, String> {
    queues(&format!("[{{{settings}}}]")).map(|mut queues| queues.remove(0))
}

#[test]
fn a_queue_goes_to_the_route_of_its_path() {
    let mail = queue(r#""queue":"mail-1","path":"/mail""#).unwrap();
    assert_eq!((mail.route(), mail.method()), ("mail", "POST"));
    assert_eq!(mail.url(), "https://mail-1.queue.invalid/mail");
    assert_eq!(mail.key_header(), "x-message");
    let orders = queue(r#""queue":"o","path":"/orders/7","method":"PUT""#).unwrap();
    assert_eq!(
        (orders.route(), orders.key_header()),
        ("orders", "idempotency-key")
    );
}

#[test]
fn a_message_has_the_key_of_its_id_in_its_queue() {
    let mail = queue(r#""queue":"mail","path":"/mail""#).unwrap();
    let key = mail.key("0123456789abcdef0123456789abcdef", b"").unwrap();
    assert_eq!(
        key.to_header(),
        "queue:mail:0123456789abcdef0123456789abcdef"
    );
    assert!(matches!(
        mail.key("a,b", b""),
        Err(MessageKeyError::Invalid(_))
    ));
}

#[test]
fn a_message_has_the_key_that_its_body_names() {
    let mail = queue(r#""queue":"mail","path":"/mail","key":"/order/no""#).unwrap();
    let key = mail.key("1", br#"{"order":{"no":12345678901234567890}}"#);
    assert_eq!(key.unwrap().as_str(), "queue:mail:12345678901234567890");
    for body in ["{}", "no JSON", r#"{"order":{"no":1,"no":2}}"#] {
        let key = mail.key("1", body.as_bytes());
        assert!(matches!(key, Err(MessageKeyError::Missing(_))), "{body}");
    }
    let long = format!(r#"{{"order":{{"no":"{}"}}}}"#, "9".repeat(255));
    assert!(matches!(
        mail.key("1", long.as_bytes()),
        Err(MessageKeyError::Invalid(_))
    ));
}

#[test]
fn what_cannot_be_used_is_refused_with_queue_and_field() {
    for (settings, message) in [
        (
            r#""queue":"Mail","path":"/mail""#,
            "queue 'Mail': queue is no name of a queue: 1 to 63 of a-z, 0-9, '-' and '_'",
        ),
        (
            r#""queue":"-a","path":"/mail""#,
            "queue '-a': queue is no name of a queue: 1 to 63 of a-z, 0-9, '-' and '_'",
        ),
        (
            r#""queue":"m","path":"/nowhere""#,
            "queue 'm': path '/nowhere' is no path that a route protects",
        ),
        (
            r#""queue":"m","path":"/orders/7?a=1","method":"PUT""#,
            "queue 'm': path '/orders/7?a=1' is no path that a route protects",
        ),
        (
            r#""queue":"m","path":"/mail/""#,
            "queue 'm': path '/mail/' is no path that a route protects",
        ),
        (
            r#""queue":"m","path":"/orders/7""#,
            "queue 'm': method POST is none that a route protects at this path",
        ),
        (
            r#""queue":"m","path":"/made""#,
            "queue 'm': path leads to route 'made', which takes no client's keys",
        ),
        (
            r#""queue":"m","path":"/shops""#,
            "queue 'm': path leads to route 'shops', which has a scope, and a message has no tenant",
        ),
        (
            r#""queue":"m","path":"/bound""#,
            "queue 'm': path leads to route 'bound', which has a bind, and a message has no principal",
        ),
        (
            r#""queue":"m","path":"/mail","key":"order""#,
            "queue 'm': key is not \"message_id\", and a JSON pointer begins with '/', such as /order/id",
        ),
    ] {
        assert_eq!(queue(settings).unwrap_err(), message);
    }
    let twice = queues(r#"[{"queue":"m","path":"/mail"},{"queue":"m","path":"/mail"}]"#);
    assert_eq!(twice.unwrap_err(), "queue 'm': queue is there twice");
    let unknown = queue(r#""queue":"m","path":"/mail","retries":1"#);
    assert!(unknown.unwrap_err().starts_with("unknown field `retries`"));
}

#[test]
fn only_what_is_settled_leaves_the_queue() {
    for (state, fate) in [
        (Status::Executed, Fate::Done),
        (Status::Replayed, Fate::Done),
        (Status::Refused, Fate::Refused),
        (Status::Cancelled, Fate::Refused),
        (Status::InProgress, Fate::Again),
        (Status::NotExecuted, Fate::Again),
        (Status::Unknown, Fate::Again),
    ] {
        assert_eq!(Fate::of(Some(state), Some("dispatched")), fate);
    }
    for decision in [None, Some("gate_unavailable"), Some("quota_exceeded")] {
        assert_eq!(Fate::of(None, decision), Fate::Again);
    }
}

#[test]
fn i1_what_is_said_of_another_request_does_not_acknowledge_a_message() {
    for state in [None, Some(Status::Replayed), Some(Status::Refused)] {
        for decision in ["key_reused", "key_invalid", "request_too_large"] {
            assert_eq!(Fate::of(state, Some(decision)), Fate::Poison);
        }
    }
    // An answer that is no longer there was given once.
    assert_eq!(
        Fate::of(Some(Status::Replayed), Some("result_expired")),
        Fate::Done
    );
}
