//! What a person does: rules I3, I8, and section 7.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

/// When every courier has ended and nothing that was sent can still begin.
const OVER_MS: u64 = HARD_TIMEOUT_MS;

const RESOLVED: [Resolved; 4] = [
    Resolved::Cancelled,
    Resolved::Executed,
    Resolved::NotExecuted,
    Resolved::Refused,
];

fn lost() -> Story {
    let mut story = Story::claimed(Origin::None, KeyKind::Client);
    story.replied(1, 1, Reply::Lost);
    story
}

fn disputed() -> Story {
    let mut story = Story::ledger();
    story.says(1, 1, "refused");
    story.says(2, 1, "executed");
    story
}

#[test]
fn a_person_settles_what_is_unknown() {
    let ends = [
        (Resolved::Cancelled, State::Cancelled, Some(false), true),
        (Resolved::Executed, State::Executed, Some(true), false),
        (Resolved::NotExecuted, State::Released, None, false),
        (Resolved::Refused, State::Refused, Some(false), true),
    ];
    for (outcome, state, executed, safe_new_key) in ends {
        let mut story = lost();
        assert_eq!(story.resolved(OVER_MS, outcome), Ok(state));
        let view = story.0.view(OVER_MS);
        assert_eq!(
            (view.executed, view.safe_new_key, view.unsettled),
            (executed, safe_new_key, 0)
        );
        assert_eq!(story.0.trouble(OVER_MS), None);
    }
}

#[test]
fn i8_a_person_cannot_settle_while_an_attempt_may_be_under_way() {
    for (settle_after_ms, until_ms) in [(1, OVER_MS), (2 * OVER_MS, 2 * OVER_MS)] {
        for outcome in RESOLVED {
            let mut story = lost();
            story.0.terms.settle_after_ms = settle_after_ms;
            let early = story.resolved(until_ms - 1, outcome);
            assert_eq!(early, Err(ResolveError::TooEarly { until_ms }));
            assert!(story.resolved(until_ms, outcome).is_ok());
        }
    }
}

#[test]
fn i8_the_time_counts_from_the_last_dispatch() {
    let mut story = Story::ledger();
    story.replied(1, 1, Reply::Lost);
    assert_eq!(story.arrives(1_000, CARD_A), Admission::Dispatch(2));
    story.replied(2_000, 2, Reply::Lost);
    let until_ms = 1_000 + OVER_MS;
    let early = story.resolved(until_ms - 1, Resolved::NotExecuted);
    assert_eq!(early, Err(ResolveError::TooEarly { until_ms }));
}

#[test]
fn i3_a_person_who_saw_another_version_settles_nothing() {
    let story = lost();
    let seen = story.0.view(1).revision;
    let (record, attempt) = {
        let mut story = lost();
        story.0.terms.origin = Origin::Ledger;
        story.0.terms.finish = true;
        story.0.redispatch(2).unwrap()
    };
    assert_eq!(attempt, 2);
    let resolution = Resolution {
        revision: seen,
        outcome: Resolved::NotExecuted,
    };
    let current = record.view(2).revision;
    assert!(current > seen);
    let error = record.resolve(2 + OVER_MS, resolution).unwrap_err();
    assert_eq!(error, ResolveError::Revision { current });
}

#[test]
fn i3_no_word_of_a_person_stands_against_proof() {
    for outcome in RESOLVED {
        let mut story = lost();
        story.says(2, 1, "executed");
        let error = match outcome {
            Resolved::Executed => ResolveError::Settled(State::Executed),
            _ => ResolveError::Executed,
        };
        assert_eq!(story.resolved(OVER_MS, outcome), Err(error));
    }
}

#[test]
fn i3_a_person_who_knows_that_it_was_executed_begins_a_dispute() {
    for (word, state) in [("refused", State::Refused), ("cancelled", State::Cancelled)] {
        let mut story = Story::ledger();
        story.says(1, 1, word);
        let again = story.resolved(OVER_MS, Resolved::NotExecuted);
        assert_eq!(again, Err(ResolveError::Settled(state)));
        assert_eq!(
            story.resolved(OVER_MS, Resolved::Executed),
            Ok(State::Executed)
        );
        let view = story.0.view(OVER_MS);
        assert!(view.disputed && !view.safe_new_key);
    }
}

#[test]
fn i3_a_dispute_ends_when_a_person_confirms_the_proof() {
    for outcome in RESOLVED {
        let mut story = disputed();
        let resolved = story.resolved(3, outcome);
        if outcome == Resolved::Executed {
            assert_eq!(resolved, Ok(State::Executed));
            assert_eq!(story.0.trouble(3), None);
            assert_eq!(
                story.arrives(4, CARD_A),
                Admission::Turn(Turn::ResultUnavailable)
            );
        } else {
            assert_eq!(resolved, Err(ResolveError::Executed));
        }
    }
}

#[test]
fn i3_a_dispute_does_not_expire_and_its_record_lives_one_key_ttl_from_the_end_of_it() {
    let mut story = disputed();
    let ttl_ms = story.0.terms.key_ttl_ms;
    let late_ms = 100 * ttl_ms;
    assert_eq!(story.0.keep_until_ms(), None);
    assert!(!story.0.is_expired(late_ms));
    assert!(story.0.trouble(late_ms).is_some());
    assert_eq!(
        story.resolved(late_ms, Resolved::Executed),
        Ok(State::Executed)
    );
    assert_eq!(story.0.keep_until_ms(), Some(late_ms + ttl_ms));
    assert!(!story.0.is_expired(late_ms + ttl_ms - 1));
    assert!(story.0.is_expired(late_ms + ttl_ms));
}

#[test]
fn i3_proof_after_a_persons_word_is_not_dropped() {
    for outcome in [Resolved::Cancelled, Resolved::Refused] {
        let mut story = lost();
        story.resolved(OVER_MS, outcome).unwrap();
        story.says(OVER_MS + 1, 1, "executed");
        let view = story.0.view(OVER_MS + 1);
        assert_eq!((view.executed, view.disputed), (Some(true), true));
    }
    let mut story = lost();
    story.resolved(OVER_MS, Resolved::NotExecuted).unwrap();
    story.says(OVER_MS + 1, 1, "executed");
    assert_eq!(story.state(OVER_MS + 1), State::Executed);
}

#[test]
fn what_is_released_can_be_cancelled_by_a_person() {
    let mut story = lost();
    story.says(2, 1, "not_executed");
    let again = story.resolved(OVER_MS, Resolved::NotExecuted);
    assert_eq!(again, Err(ResolveError::Settled(State::Released)));
    assert_eq!(
        story.resolved(OVER_MS, Resolved::Cancelled),
        Ok(State::Cancelled)
    );
}

#[test]
fn p4_a_person_cannot_undo_a_refusal_of_this_request() {
    let mut story = Story::claimed(Origin::Read, KeyKind::Generated);
    story.0 = story.0.clone().dispatch(1);
    story.says(2, 2, "refused");
    assert_eq!(
        story.resolved(OVER_MS + 1, Resolved::NotExecuted),
        Ok(State::Refused)
    );
}

#[test]
fn erasing_keeps_the_tombstone() {
    let mut story = Story::ledger();
    assert_eq!(story.0.clone().erase(1), Err(NotSettled));
    story.says(2, 1, "executed");
    let kept_until_ms = story.0.keep_until_ms();
    story.0 = story.0.erase(3).unwrap();
    assert!(story.0.view(3).erased && !story.0.has_stored_answer());
    assert_eq!(story.0.keep_until_ms(), kept_until_ms);
    assert_eq!(
        story.arrives(4, CARD_A),
        Admission::Turn(Turn::ResultUnavailable)
    );
    assert_eq!(story.arrives(4, CARD_B), Admission::Turn(Turn::KeyReused));
    // A completion that is told again does not bring the content back.
    assert!(!story.says(5, 1, "executed").store);
}

#[test]
fn what_was_erased_and_is_asked_for_again_has_content_again() {
    let mut story = Story::ledger();
    story.says(1, 1, "not_executed");
    story.0 = story.0.erase(2).unwrap();
    assert_eq!(story.arrives(3, CARD_A), Admission::Dispatch(2));
    assert!(!story.0.view(3).erased);
}

#[test]
fn a6_trouble_is_what_nobody_has_proof_of() {
    let unknown = |since_ms| {
        Some(Trouble {
            state: TroubleState::Unknown,
            since_ms,
        })
    };
    let mut story = Story::claimed_at(5, Origin::Ledger, KeyKind::Client);
    assert_eq!(story.0.trouble(6), None);
    assert_eq!(story.0.trouble(5 + LEASE_MS), unknown(5));
    // The next attempt is under way, and the first one is lost all the same.
    story.arrives(5 + LEASE_MS, CARD_A);
    assert_eq!(story.0.trouble(6 + LEASE_MS), unknown(5));
    story.says(7 + LEASE_MS, 2, "executed");
    assert_eq!(story.0.trouble(8 + LEASE_MS), None);
}

#[test]
fn a6_what_only_a_person_can_settle_is_held_once_nobody_listens_any_more() {
    let story = lost();
    let held = |now_ms| story.0.trouble(now_ms).unwrap().state == TroubleState::Held;
    for (now_ms, expected) in [(OVER_MS - 1, false), (OVER_MS, true)] {
        assert_eq!(held(now_ms), expected);
        assert_eq!(story.0.view(now_ms).held, expected);
    }
}

#[test]
fn i3_a_dispute_is_the_most_urgent_trouble() {
    let trouble = disputed().0.trouble(9).unwrap();
    assert_eq!(trouble.state, TroubleState::Disputed);
    assert_eq!(trouble.since_ms, 2);
    assert!(TroubleState::Disputed < TroubleState::Held);
    assert!(TroubleState::Held < TroubleState::Unknown);
}
