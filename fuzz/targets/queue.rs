//! Any message of a queue: it has one key, which is of its queue and of what it names, or a sentence says
//! why it has none; and what is said of another request never acknowledges it.
//!
//! The first line is the message's id, the second the gate's decision about it, the rest its body. A body
//! that says how a queue is configured is tried as that, too.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use oncegate_core::outcome::Status;
use oncegate_core::policy::{Policy, RouteConfig};
use oncegate_core::queue::{Fate, Queue, QueueConfig, read};
use serde_json::json;

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let route = json!([{"name": "mail", "methods": ["POST"], "path": "/mail", "origin": "ledger"}]);
    let routes: Vec<RouteConfig> = serde_json::from_value(route).expect("a route");
    Policy::new(&routes, false).expect("a policy")
});

/// One whose messages are known by their id, and one by what they name.
static QUEUES: LazyLock<Vec<Queue>> = LazyLock::new(|| {
    let queues = json!([
        {"queue": "mail", "path": "/mail"},
        {"queue": "mail-no", "path": "/mail", "key": "/order/no"},
    ]);
    let configs: Vec<QueueConfig> = serde_json::from_value(queues).expect("queues");
    read(&configs, &POLICY).expect("queues that can be used")
});

const STATES: [Option<Status>; 8] = [
    None,
    Some(Status::Cancelled),
    Some(Status::Executed),
    Some(Status::InProgress),
    Some(Status::NotExecuted),
    Some(Status::Refused),
    Some(Status::Replayed),
    Some(Status::Unknown),
];

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(3, |byte| *byte == b'\n');
    let mut text = || std::str::from_utf8(lines.next().unwrap_or_default());
    let (Ok(id), Ok(decision)) = (text(), text()) else {
        return;
    };
    let body = lines.next().unwrap_or_default();
    for queue in QUEUES.iter() {
        match queue.key(id, body) {
            Ok(key) => {
                let own = format!("queue:{}:", queue.name());
                assert!(key.as_str().starts_with(&own), "{}", key.as_str());
                assert!(key.as_str().len() <= 255 && key.as_str().is_ascii());
                // A redelivery has the same one.
                assert_eq!(queue.key(id, body).ok(), Some(key));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let [by_id, by_body] = [QUEUES[0].key(id, b""), QUEUES[1].key("another", body)];
    assert_eq!(by_id, QUEUES[0].key(id, body));
    assert_eq!(by_body, QUEUES[1].key(id, body));
    for state in STATES {
        let is_settled = matches!(state, Some(Status::Executed | Status::Replayed));
        match Fate::of(state, Some(decision)) {
            Fate::Done => assert!(is_settled && decision != "key_reused"),
            Fate::Refused => {
                assert!(matches!(state, Some(Status::Refused | Status::Cancelled)));
            }
            Fate::Again | Fate::Poison => {}
        }
    }
    if let Ok(config) = serde_json::from_slice::<QueueConfig>(body)
        && let Err(error) = read(&[config], &POLICY)
    {
        assert!(error.to_string().starts_with("queue '"), "{error}");
    }
});
