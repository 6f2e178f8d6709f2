//! Rules I6, T2, A7, and steps of the clock.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

#[test]
fn i6_between_result_ttl_and_key_ttl_the_answer_is_expired() {
    let mut story = Story::ledger();
    story.says(5, 1, "executed");
    assert_eq!(story.arrives(DAY_MS + 4, CARD_A), Admission::Replay);
    assert_eq!(
        story.arrives(DAY_MS + 5, CARD_A),
        Admission::Turn(Turn::ResultExpired)
    );
    assert!(!story.0.is_expired(7 * DAY_MS + 4));
    assert!(story.0.is_expired(7 * DAY_MS + 5));
}

#[test]
fn a7_the_ledgers_memory_counts_from_the_last_time_that_nothing_was_open() {
    let mut story = Story::ledger();
    story.says(1, 1, "not_executed");
    assert_eq!(story.arrives(6 * DAY_MS, CARD_A), Admission::Dispatch(2));
    story.replied(6 * DAY_MS, 2, Reply::Lost);
    assert_eq!(story.arrives(31 * DAY_MS, CARD_A), Admission::Dispatch(3));
    story.replied(31 * DAY_MS, 3, Reply::Lost);
    assert_eq!(
        story.arrives(37 * DAY_MS, CARD_A),
        Admission::Turn(Turn::Unknown)
    );
}

#[test]
fn a7_after_the_ledger_may_have_forgotten_nothing_is_sent() {
    let mut story = Story::ledger();
    story.replied(1, 1, Reply::Lost);
    assert_eq!(
        story.arrives(30 * DAY_MS, CARD_A),
        Admission::Turn(Turn::Unknown)
    );
}

#[test]
fn t2_a_settled_record_is_kept_one_key_ttl_after_it_settled() {
    let mut story = Story::ledger();
    story.replied(1, 1, Reply::Lost);
    assert!(!story.0.is_expired(20 * DAY_MS));
    story.says(20 * DAY_MS, 1, "executed");
    assert!(!story.0.is_expired(27 * DAY_MS - 1));
    assert!(story.0.is_expired(27 * DAY_MS));
}

#[test]
fn t2_a_clock_that_steps_back_does_not_lengthen_a_lease() {
    let mut story = Story::claimed_at(1_000_000, Origin::Ledger, KeyKind::Client);
    story.replied(1_000_000 + LEASE_MS, 1, Reply::Lost);
    assert_eq!(story.arrives(5, CARD_A), Admission::Dispatch(2));
    assert_eq!(
        story.0.view(5).lease_ends_ms,
        Some(1_000_000 + 2 * LEASE_MS)
    );
}
