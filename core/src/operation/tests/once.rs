//! Rules I1 to I5, I7, I8, A1.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

#[test]
fn i1_a_duplicate_waits_while_the_attempt_is_open() {
    let mut story = Story::ledger();
    let wait = Admission::Wait {
        lease_ends_ms: LEASE_MS,
    };
    assert_eq!(story.arrives(1, CARD_A), wait);
    assert_eq!(story.arrives(LEASE_MS - 1, CARD_A), wait);
}

#[test]
fn i1_after_the_lease_only_a_ledger_is_sent_the_key_again() {
    assert_eq!(
        Story::ledger().arrives(LEASE_MS, CARD_A),
        Admission::Dispatch(2)
    );
    for origin in [Origin::Read, Origin::None] {
        let mut story = Story::claimed(origin, KeyKind::Client);
        assert_eq!(
            story.arrives(LEASE_MS, CARD_A),
            Admission::Turn(Turn::Unknown)
        );
    }
}

#[test]
fn i3_a_late_reply_settles_its_own_attempt() {
    let mut story = Story::ledger();
    assert_eq!(story.arrives(LEASE_MS, CARD_A), Admission::Dispatch(2));
    let settled = story.says(LEASE_MS + 1, 1, "executed");
    assert!(settled.store);
    assert_eq!(story.state(LEASE_MS + 1), State::Executed);
    assert_eq!(story.arrives(LEASE_MS + 2, CARD_A), Admission::Replay);
    assert!(story.says(LEASE_MS + 3, 2, "executed").superseded);
}

#[test]
fn i3_a_reply_counts_once() {
    let mut story = Story::claimed(Origin::None, KeyKind::Client);
    story.says(1, 1, "not_executed");
    assert_eq!(story.arrives(2, CARD_A), Admission::Dispatch(2));
    story.says(3, 1, "refused");
    assert_eq!(story.state(3), State::Dispatched);
}

#[test]
fn i3_proof_that_contradicts_a_closed_record_sets_disputed() {
    let mut story = Story::ledger();
    story.says(1, 1, "refused");
    assert!(story.0.view(1).safe_new_key);
    story.says(2, 1, "executed");
    let view = story.0.view(2);
    assert_eq!((view.state, view.executed), (State::Executed, Some(true)));
    assert!(view.disputed && !view.safe_new_key);
    // The refusal on record is not told again.
    assert_eq!(
        story.arrives(3, CARD_A),
        Admission::Turn(Turn::ResultUnavailable)
    );
    assert_eq!(story.arrives(3, CARD_B), Admission::Turn(Turn::KeyReused));
}

#[test]
fn i5_an_unknown_operation_never_expires() {
    let mut story = Story::claimed(Origin::None, KeyKind::Client);
    story.replied(1, 1, Reply::Lost);
    assert!(!story.0.is_expired(1_000 * DAY_MS));
    assert!(!story.0.is_settled());
}

#[test]
fn i7_not_executed_of_a_later_attempt_does_not_free_the_operation() {
    let mut story = Story::ledger();
    story.replied(1, 1, Reply::Lost);
    assert_eq!(story.arrives(2, CARD_A), Admission::Dispatch(2));
    story.says(3, 2, "not_executed");
    assert_eq!(story.state(3), State::Unknown);
    assert_eq!(story.0.view(3).unsettled, 1);
}

#[test]
fn i7_a_refusal_is_remembered_until_the_other_attempts_are_settled() {
    let mut story = Story::claimed(Origin::Read, KeyKind::Client);
    // Two open attempts cannot arise at such an origin; the join must hold all the same.
    story.0 = story.0.clone().dispatch(1);
    story.says(2, 2, "refused");
    assert_eq!(story.state(2), State::Unknown);
    assert!(!story.0.view(2).safe_new_key);
    story.says(3, 1, "not_executed");
    assert_eq!(story.state(3), State::Refused);
    assert!(story.0.view(3).safe_new_key);
}

#[test]
fn i7_the_word_of_a_ledger_settles_every_attempt() {
    for (word, state) in [
        ("executed", State::Executed),
        ("refused", State::Refused),
        ("cancelled", State::Cancelled),
    ] {
        let mut story = Story::ledger();
        story.replied(1, 1, Reply::Lost);
        story.arrives(2, CARD_A);
        story.says(3, 2, word);
        assert_eq!(story.state(3), state);
        assert_eq!(story.0.view(3).unsettled, 0);
    }
}

#[test]
fn a1_in_progress_leaves_the_operation_unknown() {
    let mut story = Story::ledger();
    story.says(1, 1, "in_progress");
    assert_eq!(story.state(1), State::Unknown);
    assert_eq!(story.arrives(2, CARD_A), Admission::Dispatch(2));
    story.says(3, 2, "not_executed");
    assert_eq!(story.state(3), State::Unknown);
}

#[test]
fn i8_a_new_key_is_safe_only_after_refused_and_cancelled() {
    let mut story = Story::ledger();
    assert!(!story.0.view(0).safe_new_key);
    story.says(1, 1, "not_executed");
    assert_eq!(story.state(1), State::Released);
    assert!(!story.0.view(1).safe_new_key);

    for (kind, safe) in [
        (KeyKind::Client, true),
        (KeyKind::Token, true),
        (KeyKind::Generated, false),
    ] {
        let mut story = Story::claimed(Origin::Ledger, kind);
        story.says(1, 1, "refused");
        assert_eq!(story.0.view(1).safe_new_key, safe);
    }
}

#[test]
fn i3_a_completion_that_is_told_twice_is_still_the_attempts_own() {
    let mut story = Story::ledger();
    assert!(!story.says(1, 1, "executed").superseded);
    assert!(!story.says(2, 1, "executed").superseded);
    assert!(story.says(3, 2, "executed").superseded);
}

#[test]
fn i7_what_a_route_lists_does_not_free_an_operation_with_an_earlier_attempt() {
    for status in [503, 409] {
        let mut story = Story::claimed(Origin::Read, KeyKind::Client);
        story.0.terms.rules = Rules {
            not_executed: [503].into(),
            refused: [409].into(),
            ..Rules::default()
        };
        story.replied(1, 1, Reply::Lost);
        story.0 = story.0.clone().dispatch(2);
        story.answers(3, 2, status);
        let view = story.0.view(3);
        assert_eq!((view.state, view.safe_new_key), (State::Unknown, false));
        // The earlier one did it after all.
        story.answers(4, 1, 200);
        assert_eq!(story.state(4), State::Executed);
    }
}

#[test]
fn a3_without_an_earlier_attempt_what_a_route_lists_settles() {
    for (status, state) in [(503, State::Released), (409, State::Refused)] {
        let mut story = Story::claimed(Origin::None, KeyKind::Client);
        story.0.terms.rules = Rules {
            not_executed: [503].into(),
            refused: [409].into(),
            ..Rules::default()
        };
        story.answers(1, 1, status);
        assert_eq!(story.state(1), state);
    }
}
