//! Whose key it is: rules K3, K4, P4.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

#[test]
fn k3_another_request_under_the_same_key_is_turned_away() {
    let mut story = Story::ledger();
    assert_eq!(story.arrives(1, CARD_B), Admission::Turn(Turn::KeyReused));
    story.says(2, 1, "executed");
    assert_eq!(story.arrives(3, CARD_B), Admission::Turn(Turn::KeyReused));

    let mut refused = Story::ledger();
    refused.says(1, 1, "refused");
    assert_eq!(refused.arrives(2, CARD_B), Admission::Turn(Turn::KeyReused));
}

#[test]
fn k3_a_released_operation_binds_no_fingerprint() {
    let mut story = Story::ledger();
    story.says(1, 1, "not_executed");
    assert_eq!(story.arrives(2, CARD_B), Admission::Dispatch(2));
    assert_eq!(story.0.fingerprint(), Some(fingerprint(CARD_B)));
    assert_eq!(story.arrives(3, CARD_A), Admission::Turn(Turn::KeyReused));
}

#[test]
fn k3_an_answer_is_never_replayed_to_another_request() {
    let mut story = Story::claimed(Origin::None, KeyKind::Client);
    story.says(1, 1, "not_executed");
    assert_eq!(story.arrives(2, CARD_B), Admission::Dispatch(2));
    // An origin that lied: attempt 1, for another request, did execute.
    let settled = story.says(3, 1, "executed");
    assert!(!settled.store);
    assert_eq!(
        story.arrives(4, CARD_B),
        Admission::Turn(Turn::ResultUnavailable)
    );
}

#[test]
fn k3_a_key_that_the_ledger_knows_for_another_request_is_reused() {
    let mut story = Story::ledger();
    let settling = Settling {
        attempt: 1,
        reply: Reply::Answered {
            status: 422,
            outcome: Some("executed"),
            value: None,
        },
        storable: true,
        recorded: Some(fingerprint(CARD_B)),
    };
    let (record, settled) = story.0.clone().settle(1, settling);
    story.0 = record;
    let expected = Settled {
        store: false,
        superseded: true,
        share: false,
        changed: true,
    };
    assert_eq!(settled, expected);
    assert_eq!(story.arrives(2, CARD_A), Admission::Turn(Turn::KeyReused));
    assert_eq!(
        story.arrives(2, CARD_B),
        Admission::Turn(Turn::ResultUnavailable)
    );
}

#[test]
fn i3_an_answer_from_before_a_record_expired_is_not_the_answer_of_the_next_one() {
    let mut story = Story::claimed(Origin::None, KeyKind::Client);
    story.says(1, 1, "not_executed");
    let (record, admission) = Operation::arrive(
        Some(story.0.clone()),
        8 * DAY_MS,
        KeyKind::Client,
        &terms(Origin::None),
        None,
        fingerprint(CARD_B),
    );
    assert_eq!(admission, Admission::Dispatch(2));
    story.0 = record;
    let settled = story.says(8 * DAY_MS + 1, 1, "executed");
    assert!(!settled.store && !settled.share);
}

#[test]
fn p4_another_card_for_the_same_order_starts_a_new_attempt() {
    let mut story = Story::claimed(Origin::Ledger, KeyKind::Generated);
    story.says(1, 1, "refused");
    assert_eq!(story.arrives(2, CARD_A), Admission::Replay);
    assert_eq!(story.arrives(3, CARD_B), Admission::Dispatch(2));
    assert_eq!(story.arrives(4, CARD_A), Admission::Turn(Turn::KeyReused));
    story.says(4, 2, "not_executed");
    assert_eq!(story.arrives(4, CARD_A), Admission::Turn(Turn::Refused));
    assert_eq!(story.arrives(4, CARD_B), Admission::Dispatch(3));
    story.says(5, 3, "executed");
    assert_eq!(story.arrives(6, CARD_B), Admission::Replay);
    assert_eq!(story.arrives(7, CARD_A), Admission::Turn(Turn::KeyReused));
}

#[test]
fn p4_a_generated_key_takes_at_most_eight_refusals() {
    let mut story = Story::claimed(Origin::Ledger, KeyKind::Generated);
    story.says(1, 1, "refused");
    for card in 2..=8 {
        assert_eq!(story.arrives(2, card), Admission::Dispatch(u32::from(card)));
        story.says(3, u32::from(card), "refused");
    }
    assert_eq!(story.arrives(4, 9), Admission::Turn(Turn::Refused));
}

#[test]
fn an_answer_that_cannot_be_stored_leaves_a_result_that_is_unavailable() {
    let mut story = Story::ledger();
    let reply = Reply::Answered {
        status: 201,
        outcome: Some("executed"),
        value: None,
    };
    let (record, settled) = story.0.clone().settle(
        1,
        Settling {
            attempt: 1,
            reply,
            storable: false,
            recorded: None,
        },
    );
    story.0 = record;
    assert!(!settled.store);
    assert_eq!(
        story.arrives(2, CARD_A),
        Admission::Turn(Turn::ResultUnavailable)
    );
}

#[test]
fn k4_who_is_somebody_else_hears_nothing_whatever_the_state_and_the_request() {
    let outcomes = ["executed", "refused", "cancelled", "in_progress"];
    for outcome in outcomes {
        for kind in [KeyKind::Client, KeyKind::Generated, KeyKind::Token] {
            let mut story = Story::bound(Origin::Ledger, kind);
            let mismatch = Admission::Turn(Turn::PrincipalMismatch);
            for now_ms in [1, 3] {
                for somebody in [None, person("mallory")] {
                    for card in [CARD_A, CARD_B] {
                        let before = story.0.clone();
                        assert_eq!(story.arrives_from(now_ms, somebody, card), mismatch);
                        assert_eq!(story.0, before);
                    }
                    let look = Operation::look(Some(&story.0), now_ms, somebody);
                    assert_eq!(look, Err(Turn::PrincipalMismatch));
                    let (record, terms) = (Some(story.0.clone()), &terms(Origin::Ledger));
                    let cancel = Operation::cancel(record, now_ms, kind, terms, somebody);
                    assert_eq!(cancel, Err(Turn::PrincipalMismatch));
                }
                story.says(2, 1, outcome);
            }
            let look = Operation::look(Some(&story.0), 3, person("alice"));
            assert_eq!(look, Ok(Some(story.0.view(3))));
        }
    }
}

#[test]
fn k4_the_principal_comes_before_the_fingerprint() {
    let mut story = Story::bound(Origin::Ledger, KeyKind::Client);
    let mallory = story.arrives_from(1, person("mallory"), CARD_B);
    assert_eq!(mallory, Admission::Turn(Turn::PrincipalMismatch));
    let alice = story.arrives_from(1, person("alice"), CARD_B);
    assert_eq!(alice, Admission::Turn(Turn::KeyReused));
}

#[test]
fn k4_a_released_operation_binds_no_principal() {
    let mut story = Story::bound(Origin::None, KeyKind::Client);
    story.says(1, 1, "not_executed");
    assert!(Operation::look(Some(&story.0), 2, person("bob")).is_ok());
    let bob = story.arrives_from(2, person("bob"), CARD_A);
    assert_eq!(bob, Admission::Dispatch(2));
    let alice = story.arrives_from(3, person("alice"), CARD_A);
    assert_eq!(alice, Admission::Turn(Turn::PrincipalMismatch));
}

#[test]
fn k4_an_answer_is_never_told_to_the_next_principal() {
    let mut story = Story::bound(Origin::None, KeyKind::Client);
    story.says(1, 1, "not_executed");
    story.arrives_from(2, person("bob"), CARD_A);
    // An origin that lied: Alice's attempt did execute, and its answer is hers.
    let settled = story.says(3, 1, "executed");
    assert!(!settled.store && !settled.share && settled.superseded);
    let bob = story.arrives_from(4, person("bob"), CARD_A);
    assert_eq!(bob, Admission::Turn(Turn::ResultUnavailable));
}

#[test]
fn k4_a_record_without_a_principal_is_everybodys() {
    let mut story = Story::ledger();
    let wait = Admission::Wait {
        lease_ends_ms: LEASE_MS,
    };
    assert_eq!(story.arrives_from(1, person("alice"), CARD_A), wait);
    assert!(!story.0.is_bound());
}

#[test]
fn k4_a_key_that_was_cancelled_before_it_was_used_is_its_principals() {
    let (kind, terms) = (KeyKind::Client, &terms(Origin::None));
    let (record, _) = Operation::cancel(None, 1, kind, terms, person("alice")).unwrap();
    let mut story = Story(record);
    let bob = story.arrives_from(2, person("bob"), CARD_A);
    assert_eq!(bob, Admission::Turn(Turn::PrincipalMismatch));
    let alice = story.arrives_from(2, person("alice"), CARD_A);
    assert_eq!(alice, Admission::Turn(Turn::Cancelled));
}

#[test]
fn t2_a_released_key_that_another_route_takes_over_has_that_routes_terms() {
    let mut story = Story::ledger();
    story.says(1, 1, "not_executed");
    let (record, kind) = (Some(story.0.clone()), KeyKind::Client);
    let other = terms(Origin::None);
    let (record, admission) = Operation::arrive(record, 2, kind, &other, None, fingerprint(CARD_B));
    assert_eq!(admission, Admission::Dispatch(2));
    // What is sent to an origin without a ledger is not sent again like to one that has one.
    let mut story = Story(record);
    story.replied(3, 2, Reply::Lost);
    assert_eq!(story.arrives(4, CARD_B), Admission::Turn(Turn::Unknown));
}

#[test]
fn t2_the_terms_of_a_claim_hold_until_nothing_is_open() {
    let later = Terms {
        key_ttl_ms: 1,
        ..terms(Origin::Ledger)
    };
    let arrive = |record, now_ms| {
        let (record, kind) = (Some(record), KeyKind::Client);
        Operation::arrive(record, now_ms, kind, &later, None, fingerprint(CARD_A)).0
    };
    let mut story = Story::ledger();
    story.replied(1, 1, Reply::Lost);
    story.0 = arrive(story.0, 2);
    assert_eq!(
        (story.0.attempt, story.0.terms()),
        (2, &terms(Origin::Ledger))
    );
    story.says(3, 2, "not_executed");
    story.says(3, 1, "not_executed");
    story.0 = arrive(story.0, 4);
    assert_eq!((story.0.attempt, story.0.terms()), (3, &later));
}

#[test]
fn p4_a_refusal_is_not_told_to_another_request_under_the_key() {
    let mut story = Story::claimed(Origin::Ledger, KeyKind::Generated);
    assert!(story.says(1, 1, "refused").store);
    story.arrives(2, CARD_B);
    assert!(!story.0.has_stored_answer());
    assert_eq!(story.state(3), State::Dispatched);
    // The refused attempt is out of the join: what counts is the new card's.
    story.says(4, 2, "executed");
    assert_eq!(story.state(5), State::Executed);
}
