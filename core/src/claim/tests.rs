#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::identity::Identity;
use crate::key::Key;

const NOW_MS: u64 = 1_900_000_000_000;
const LEASE_MS: u64 = 30_000;
const WINDOW_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
const UNDATED: Age = Age {
    sent_ms: None,
    window_ms: WINDOW_MS,
};

fn owners() -> Owners<'static> {
    let key = Key::from_value("m-1").unwrap();
    Owners::new(b"secret", Identity::of_claim(b"secret", "mail", &key))
}

/// A claim, and who owns it.
fn claimed(record: Option<Operation>, now_ms: u64, nonce: &str) -> (Operation, String) {
    let decided = claim(
        record,
        now_ms,
        maker(nonce),
        &terms(LEASE_MS, WINDOW_MS),
        UNDATED,
    );
    assert_eq!(decided.answer, Answer::Acquired);
    let record = decided.record.unwrap();
    let owner = owners().owner(&record);
    (record, owner)
}

fn answer_to(record: &Operation, now_ms: u64, nonce: &str, age: Age) -> Answer {
    let terms = terms(LEASE_MS, WINDOW_MS);
    let decided = claim(Some(record.clone()), now_ms, maker(nonce), &terms, age);
    assert_eq!(
        decided.changed,
        decided.answer == Answer::Acquired && decided.record.as_ref() != Some(record)
    );
    decided.answer
}

fn is_owner(record: &Operation, owner: &str) -> bool {
    owners().is_owner(Some(record), owner)
}

#[test]
fn one_holds_it_and_the_others_hear_busy_and_then_done() {
    let (record, owner) = claimed(None, NOW_MS, "a");
    assert_eq!(answer_to(&record, NOW_MS + 1, "b", UNDATED), Answer::Busy);
    let done = complete(Some(record.clone()), NOW_MS + 2, is_owner(&record, &owner));
    assert_eq!(
        (done.answer, done.changed, done.stores_result),
        (Answer::Done, true, true)
    );
    let record = done.record.unwrap();
    assert!(record.has_stored_answer());
    assert_eq!(answer_to(&record, NOW_MS + 3, "b", UNDATED), Answer::Done);
    // Said again by whom its answer did not reach.
    let again = complete(Some(record.clone()), NOW_MS + 4, is_owner(&record, &owner));
    assert_eq!(
        (again.answer, again.changed, again.stores_result),
        (Answer::Done, false, false)
    );
}

#[test]
fn a_call_whose_answer_was_lost_is_known_when_it_is_made_again() {
    let (record, owner) = claimed(None, NOW_MS, "a");
    let terms = terms(LEASE_MS, WINDOW_MS);
    let again = claim(
        Some(record.clone()),
        NOW_MS + 5,
        maker("a"),
        &terms,
        UNDATED,
    );
    assert_eq!((again.answer, again.changed), (Answer::Acquired, false));
    assert_eq!(owners().owner(&again.record.unwrap()), owner);
}

#[test]
fn after_a_takeover_the_earlier_owner_is_not_heard() {
    let (first, old) = claimed(None, NOW_MS, "a");
    let over_ms = NOW_MS + LEASE_MS;
    assert_eq!(answer_to(&first, over_ms - 1, "b", UNDATED), Answer::Busy);
    let (second, new) = claimed(Some(first.clone()), over_ms, "b");
    assert!(fence(&second) > fence(&first));
    assert!(!is_owner(&second, &old) && is_owner(&second, &new));
    for decided in [
        complete(Some(second.clone()), over_ms, is_owner(&second, &old)),
        heartbeat(
            Some(second.clone()),
            over_ms,
            is_owner(&second, &old),
            LEASE_MS,
        ),
        release(Some(second.clone()), over_ms, is_owner(&second, &old)),
    ] {
        assert_eq!((decided.answer, decided.changed), (Answer::Lost, false));
    }
    // Nothing that was lost keeps the record open or in trouble.
    let done = complete(Some(second), over_ms + 1, true).record.unwrap();
    assert!(done.is_settled() && done.trouble(over_ms + 1).is_none());
}

#[test]
fn whose_lease_is_over_is_heard_until_somebody_takes_over() {
    let (record, _) = claimed(None, NOW_MS, "a");
    let late_ms = NOW_MS + 5 * LEASE_MS;
    let beat = heartbeat(Some(record.clone()), late_ms, true, 2 * LEASE_MS);
    assert_eq!(beat.answer, Answer::Held);
    let beaten = beat.record.unwrap();
    assert_eq!(
        beaten.view(late_ms).lease_ends_ms,
        Some(late_ms + 2 * LEASE_MS)
    );
    assert_eq!(fence(&beaten), fence(&record));
    assert_eq!(complete(Some(record), late_ms, true).answer, Answer::Done);
}

#[test]
fn what_is_released_is_free_at_once_and_its_owner_is_nobody() {
    let (record, owner) = claimed(None, NOW_MS, "a");
    let released = release(Some(record), NOW_MS, true);
    assert_eq!(
        (released.answer, released.changed),
        (Answer::Released, true)
    );
    let record = released.record.unwrap();
    let again = release(Some(record.clone()), NOW_MS, is_owner(&record, &owner));
    assert_eq!((again.answer, again.changed), (Answer::Released, false));
    assert_eq!(
        complete(Some(record.clone()), NOW_MS, true).answer,
        Answer::Lost
    );
    assert_eq!(
        heartbeat(Some(record.clone()), NOW_MS, true, LEASE_MS).answer,
        Answer::Lost
    );
    // In the same millisecond: another claim all the same.
    let (next, new) = claimed(Some(record.clone()), NOW_MS, "b");
    assert!(fence(&next) > fence(&record) && new != owner);
}

#[test]
fn a_late_copy_of_a_call_takes_nothing_once_its_claim_has_ended() {
    let (record, _) = claimed(None, NOW_MS, "a");
    let released = release(Some(record.clone()), NOW_MS, true).record.unwrap();
    assert_eq!(answer_to(&released, NOW_MS, "a", UNDATED), Answer::Busy);
    // Nor after others have had it: released, ...
    let (second, _) = claimed(Some(released), NOW_MS, "b");
    assert_eq!(answer_to(&second, NOW_MS, "a", UNDATED), Answer::Busy);
    let released = release(Some(second), NOW_MS, true).record.unwrap();
    for late in ["a", "b"] {
        assert_eq!(answer_to(&released, NOW_MS, late, UNDATED), Answer::Busy);
    }
    // ... or taken over, and that lease over, too.
    let over_ms = NOW_MS + LEASE_MS;
    let (taken, _) = claimed(Some(record), over_ms, "b");
    let late_ms = over_ms + LEASE_MS;
    assert_eq!(answer_to(&taken, late_ms, "a", UNDATED), Answer::Busy);
    assert_eq!(answer_to(&taken, late_ms, "c", UNDATED), Answer::Acquired);
    // What is done is told to everybody.
    let done = complete(Some(taken), late_ms, true).record.unwrap();
    assert_eq!(answer_to(&done, late_ms, "a", UNDATED), Answer::Done);
}

#[test]
fn however_often_a_message_is_released_it_can_be_claimed() {
    let mut record = None;
    for number in 0..20 {
        let (claim, _) = claimed(record, NOW_MS, &format!("{number}"));
        record = release(Some(claim), NOW_MS, true).record;
    }
    let record = record.unwrap();
    // The last seven calls are remembered.
    for number in 13..20 {
        let late = answer_to(&record, NOW_MS, &format!("{number}"), UNDATED);
        assert_eq!(late, Answer::Busy, "{number}");
    }
}

#[test]
fn a_call_that_is_made_again_after_its_lease_goes_on_with_its_claim() {
    let (record, owner) = claimed(None, NOW_MS, "a");
    let late_ms = NOW_MS + 2 * LEASE_MS;
    let terms = terms(LEASE_MS, WINDOW_MS);
    let again = claim(Some(record.clone()), late_ms, maker("a"), &terms, UNDATED);
    assert_eq!((again.answer, again.changed), (Answer::Acquired, true));
    let again = again.record.unwrap();
    assert_eq!(
        (fence(&again), owners().owner(&again)),
        (fence(&record), owner)
    );
    let ends_ms = again.view(late_ms).lease_ends_ms;
    assert_eq!(ends_ms, Some(late_ms + LEASE_MS));
}

#[test]
fn a_message_too_old_is_refused_unless_it_is_known() {
    let old = Age {
        sent_ms: Some(NOW_MS - WINDOW_MS - 1),
        ..UNDATED
    };
    let terms = terms(LEASE_MS, WINDOW_MS);
    let decided = claim(None, NOW_MS, maker("a"), &terms, old);
    assert_eq!((decided.answer, decided.changed), (Answer::TooOld, false));
    let young = Age {
        sent_ms: Some(NOW_MS - WINDOW_MS),
        ..UNDATED
    };
    let record = claim(None, NOW_MS, maker("a"), &terms, young)
        .record
        .unwrap();
    assert_eq!(answer_to(&record, NOW_MS, "b", old), Answer::Busy);
    let done = complete(Some(record), NOW_MS, true).record.unwrap();
    assert_eq!(answer_to(&done, NOW_MS, "b", old), Answer::Done);
}

#[test]
fn what_is_done_is_known_for_longer_than_its_message_can_come_again() {
    // The sender's clock is a day ahead, which is as much as is believed.
    let sent_ms = NOW_MS + MARGIN_MS;
    let age = Age {
        sent_ms: Some(sent_ms),
        ..UNDATED
    };
    let (record, _) = claimed(None, NOW_MS, "a");
    let done = complete(Some(record), NOW_MS, true).record.unwrap();
    for now_ms in [NOW_MS, sent_ms + WINDOW_MS - 1] {
        assert_eq!(answer_to(&done, now_ms, "b", age), Answer::Done);
    }
    assert_eq!(
        answer_to(&done, sent_ms + WINDOW_MS + 1, "b", age),
        Answer::TooOld
    );
    // The next life of the key: fences go on.
    let later_ms = sent_ms + WINDOW_MS + 1;
    let (next, _) = claimed(Some(done.clone()), later_ms, "b");
    assert!(fence(&next) > fence(&done));
}

#[test]
fn an_owner_is_of_one_claim() {
    let (record, owner) = claimed(None, NOW_MS, "a");
    assert_eq!(owner.len(), 32);
    assert!(is_owner(&record, &owner));
    for wrong in ["", "00", &format!("{owner}00"), &"0".repeat(32)] {
        assert!(!is_owner(&record, wrong));
    }
    assert!(!owners().is_owner(None, &owner));
    let other = Owners::new(b"another", Identity::from_bytes([7; 32]));
    assert_ne!(other.owner(&record), owner);
}

fn read(text: &str, verb: Verb) -> Result<Call, String> {
    let asked: Asked = serde_json::from_str(text).map_err(|error| format!("{error}"))?;
    Call::read(asked, verb, NOW_MS).map_err(|error| format!("{error}"))
}

#[test]
fn a_call_says_everything_or_is_refused_with_its_place() {
    let nonce = "\"nonce\": \"0123456789abcdef\"";
    let call = read(
        &format!("{{\"scope\": \"orders/mail\", {nonce}, \"items\": [{{\"key\": \"m-1\"}}]}}"),
        Verb::Claim,
    )
    .unwrap();
    assert_eq!(
        (call.scope.as_str(), call.lease_ms, call.maker),
        ("orders/mail", 30_000, Some(maker("0123456789abcdef")))
    );
    for (verb, text, said) in [
        (
            Verb::Claim,
            "\"items\": []",
            "items: there are 0, and must be 1 to 100",
        ),
        (
            Verb::Claim,
            "\"items\": [{\"key\": \"k\"}]",
            "nonce: is missing; draw one for each call, and send the same again if its answer is lost",
        ),
        (
            Verb::Claim,
            "\"nonce\": \"short\", \"items\": [{\"key\": \"k\"}]",
            "nonce: must be 16 to 64 printable ASCII characters, drawn at random",
        ),
        (
            Verb::Release,
            "\"lease_ms\": 5000, \"items\": [{\"key\": \"k\", \"owner\": \"o\"}]",
            "lease_ms: only a claim or a heartbeat has one",
        ),
        (
            Verb::Heartbeat,
            "\"lease_ms\": 5, \"items\": [{\"key\": \"k\", \"owner\": \"o\"}]",
            "lease_ms: is 5, and must be 1000 to 3600000",
        ),
        (
            Verb::Complete,
            "\"items\": [{\"key\": \"k\"}]",
            "items[0].owner: is missing; the claim's answer has it",
        ),
        (
            Verb::Release,
            "\"items\": [{\"key\": \"k\", \"owner\": \"o\", \"result\": \"r\"}]",
            "items[0].result: only what is completed has one",
        ),
    ] {
        let text = format!("{{\"scope\": \"mail\", {text}}}");
        assert_eq!(read(&text, verb).unwrap_err(), said, "{text}");
    }
    let scope = "scope: must be 1 to 64 letters, digits and -_.:/";
    for wrong in ["", "a b", "ä", &"s".repeat(65)] {
        let text = format!("{{\"scope\": \"{wrong}\", {nonce}, \"items\": [{{\"key\": \"k\"}}]}}");
        assert_eq!(read(&text, Verb::Claim).unwrap_err(), scope);
    }
}

#[test]
fn what_is_wrong_with_one_item_keeps_none_of_the_others() {
    let long = "x".repeat(LONGEST_RESULT + 1);
    let text = format!(
        "{{\"scope\": \"mail\", \"items\": [{{\"key\": \"a,b\", \"owner\": \"o\"}}, {{\"key\": \"b\", \"owner\": \"o\", \"result\": \"{long}\"}}, {{\"key\": \"c\", \"owner\": \"o\"}}, {{\"key\": \"c\", \"owner\": \"o\"}}]}}"
    );
    let call = read(&text, Verb::Complete).unwrap();
    let said: Vec<_> = call.items.iter().map(|item| item.key.is_ok()).collect();
    assert_eq!(said, [false, false, true, true]);
    let again: Vec<_> = call.items.iter().map(|item| item.is_again).collect();
    assert_eq!(again, [false, false, false, true]);
}
