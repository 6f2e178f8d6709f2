//! Records of every version, rule I5.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::outcome::Outcome;

#[test]
fn i5_a_record_of_an_unknown_version_is_an_error() {
    let record = Story::ledger().0;
    let stored = Stored::from(record.clone());
    let text = serde_json::to_string(&stored).unwrap();
    let read: Stored = serde_json::from_str(&text).unwrap();
    assert_eq!(read.into_record(), record);
    for changed in [
        text.replace("\"v\":\"2\"", "\"v\":\"3\""),
        text.replace("\"v\":\"2\"", "\"v\":\"1\""),
        text.replace("\"attempt\"", "\"attempts\""),
        text.replace("{\"v\"", "{\"new_field\":1,\"v\""),
    ] {
        assert_ne!(changed, text);
        assert!(
            serde_json::from_str::<Stored>(&changed).is_err(),
            "{changed}"
        );
    }
}

/// As version 0.1 wrote it.
const V1: &str = r#"{"v":"1","state":"unknown","kind":"client","terms":{"origin":"ledger",
    "lease_ms":30000,"result_ttl_ms":86400000,"key_ttl_ms":604800000,
    "ledger_retention_ms":2592000000},"fingerprint":null,"refused":[],"refusal":false,
    "attempt":3,"since":1,"unsettled":[[1,1],[3,3]],"answer":"missing","disputed":false,
    "settled_by":null,"claimed_ms":5,"dispatched_ms":7,"settled_ms":5,"seen_ms":8}"#;

fn read(text: &str) -> Result<Operation, serde_json::Error> {
    serde_json::from_str::<Stored>(text).map(Stored::into_record)
}

#[test]
fn i5_a_record_of_the_first_version_lives_on() {
    let record = read(V1).unwrap();
    let view = record.view(9);
    assert_eq!(
        (view.state, view.attempts, view.unsettled),
        (State::Unknown, 3, 2)
    );
    assert_eq!(record.terms().settle_after_ms, SETTLE_AFTER_MS);
    assert!(!record.is_bound() && !view.disputed);
    let stored = serde_json::to_string(&Stored::from(record.clone())).unwrap();
    assert!(stored.starts_with(r#"{"v":"2""#));
    assert_eq!(read(&stored).unwrap(), record);
}

#[test]
fn l6_a_record_of_the_first_version_can_be_cancelled() {
    let mut story = Story(read(V1).unwrap());
    let hearing = Hearing {
        asked_attempt: 3,
        asked_ms: 9,
        said: Outcome::Cancelled,
        storable: false,
        recorded: None,
    };
    let (kind, terms) = (KeyKind::Client, &terms(Origin::Ledger));
    let heard = Operation::hear(Some(story.0), 9, kind, terms, None, hearing);
    story.0 = heard.expect("the ledger's word counts").0;
    assert_eq!(story.state(9), State::Cancelled);
}

#[test]
fn i3_a_dispute_of_the_first_version_is_still_one() {
    let text = V1
        .replace("\"unknown\"", "\"refused\"")
        .replace("\"disputed\":false", "\"disputed\":true");
    let trouble = read(&text).unwrap().trouble(9).unwrap();
    assert_eq!(
        (trouble.state, trouble.since_ms),
        (TroubleState::Disputed, 8)
    );
}

#[test]
fn i5_the_first_version_is_read_as_strictly_as_the_newest() {
    for (from, to) in [
        ("\"since\":1,", ""),
        ("\"since\":1,", "\"since\":1,\"principal\":null,"),
        (
            "\"origin\":\"ledger\"",
            "\"origin\":\"ledger\",\"finish\":true",
        ),
    ] {
        assert!(read(&V1.replace(from, to)).is_err(), "{to}");
    }
}
