//! What the gate does by itself, rules A6, A7 and I3.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::outcome::Outcome;

/// An operation without proof, on a route that finishes.
fn lost(origin: Origin) -> Story {
    let mut story = Story::claimed(origin, KeyKind::Client);
    story.0.terms.finish = true;
    story.replied(1, 1, Reply::Lost);
    story
}

impl Story {
    fn probed(&mut self, asked: Inquiry, now_ms: u64, said: Outcome) -> bool {
        let hearing = Hearing {
            asked_attempt: asked.attempt,
            asked_ms: asked.asked_ms,
            said,
            storable: false,
            recorded: None,
        };
        let heard = self.0.clone().answered_probe(now_ms, hearing);
        let changed = heard.is_some();
        if let Some((record, _)) = heard {
            self.0 = record;
        }
        changed
    }

    fn asks(&self, now_ms: u64) -> Inquiry {
        self.0.probe(now_ms).expect("it is unknown")
    }
}

#[test]
fn a6_a_ledger_is_sent_the_same_again_when_the_lease_is_over() {
    let mut story = Story::ledger();
    story.0.terms.finish = true;
    assert_eq!(story.0.next_step(1), Step::At(LEASE_MS));
    assert_eq!(story.0.clone().redispatch(1), None);
    assert_eq!(story.0.next_step(LEASE_MS), Step::Redispatch);
    let (record, attempt) = story.0.redispatch(LEASE_MS).unwrap();
    assert_eq!((attempt, record.view(LEASE_MS).unsettled), (2, 2));
    assert_eq!(record.next_step(LEASE_MS), Step::At(2 * LEASE_MS));
}

#[test]
fn a6_an_origin_that_can_be_read_is_asked_and_one_that_cannot_is_left_alone() {
    let asked = Inquiry {
        attempt: 1,
        asked_ms: 2,
        fingerprint: Some(fingerprint(CARD_A)),
    };
    assert_eq!(lost(Origin::Read).0.next_step(2), Step::Ask(asked));
    assert_eq!(lost(Origin::None).0.next_step(2), Step::Hold);
    assert_eq!(lost(Origin::None).0.probe(2), None);
}

#[test]
fn a6_without_finish_nothing_is_done_by_itself() {
    let steps = [
        (Origin::Ledger, Step::Rest),
        (Origin::Read, Step::Hold),
        (Origin::None, Step::Hold),
    ];
    for (origin, step) in steps {
        let mut story = lost(origin);
        story.0.terms.finish = false;
        assert_eq!(story.0.next_step(2), step);
        assert_eq!(story.0.clone().redispatch(2), None);
    }
}

#[test]
fn a6_what_is_settled_is_left_alone() {
    for outcome in ["executed", "refused", "cancelled", "not_executed"] {
        let mut story = lost(Origin::Ledger);
        story.says(2, 1, outcome);
        assert_eq!(story.0.next_step(3), Step::Rest);
        assert_eq!(story.0.probe(3), None);
    }
}

#[test]
fn a6_a_no_counts_only_if_it_was_asked_for_when_nothing_could_begin_any_more() {
    for said in [Outcome::NotExecuted, Outcome::Refused] {
        let mut story = lost(Origin::Read);
        let early = story.asks(SETTLE_AFTER_MS - 1);
        assert!(!story.probed(early, SETTLE_AFTER_MS + 1, said));
        assert_eq!(story.state(SETTLE_AFTER_MS + 1), State::Unknown);
        let late = story.asks(SETTLE_AFTER_MS);
        assert!(story.probed(late, SETTLE_AFTER_MS + 2, said));
        assert!(story.0.is_settled());
    }
}

#[test]
fn a6_a_yes_counts_at_once_and_whatever_was_asked() {
    let mut story = lost(Origin::Read);
    let asked = story.asks(2);
    assert!(story.probed(asked, 3, Outcome::Executed));
    assert_eq!(story.state(3), State::Executed);

    let mut story = lost(Origin::Ledger);
    let asked = story.asks(2);
    story.0 = story.0.redispatch(3).unwrap().0;
    assert!(story.probed(asked, 4, Outcome::Executed));
    assert_eq!(story.state(4), State::Executed);
}

#[test]
fn i3_a_no_to_an_older_question_does_not_count() {
    for said in [Outcome::NotExecuted, Outcome::Refused] {
        let mut story = lost(Origin::Ledger);
        let asked = story.asks(SETTLE_AFTER_MS);
        story.0 = story.0.redispatch(SETTLE_AFTER_MS + 1).unwrap().0;
        assert!(!story.probed(asked, SETTLE_AFTER_MS + 2, said));
        assert_eq!(story.state(SETTLE_AFTER_MS + 2), State::Dispatched);
        assert_eq!(story.0.view(SETTLE_AFTER_MS + 2).unsettled, 2);
    }
}

#[test]
fn l6_the_refusal_in_a_ledgers_row_counts_at_once_but_not_that_of_another_request() {
    let mut story = lost(Origin::Ledger);
    let asked = story.asks(2);
    let hearing = Hearing {
        asked_attempt: asked.attempt,
        asked_ms: asked.asked_ms,
        said: Outcome::Refused,
        storable: true,
        recorded: Some(fingerprint(CARD_B)),
    };
    assert_eq!(story.0.clone().answered_probe(3, hearing), None);
    let own = Hearing {
        recorded: Some(fingerprint(CARD_A)),
        ..hearing
    };
    let (record, store) = story.0.clone().answered_probe(3, own).unwrap();
    assert!(store && record.view(3).safe_new_key);
    assert!(story.probed(asked, 3, Outcome::Refused));
}

#[test]
fn a1_only_a_ledger_can_promise_a_cancellation_when_it_is_asked() {
    let asked = lost(Origin::Read).asks(SETTLE_AFTER_MS);
    assert!(!lost(Origin::Read).probed(asked, SETTLE_AFTER_MS, Outcome::Cancelled));
    assert!(lost(Origin::Ledger).probed(asked, SETTLE_AFTER_MS, Outcome::Cancelled));
}

#[test]
fn i3_an_answer_that_contradicts_a_closed_record_is_kept_and_every_other_changes_nothing() {
    let mut story = lost(Origin::Read);
    let asked = story.asks(SETTLE_AFTER_MS);
    assert!(story.probed(asked, SETTLE_AFTER_MS, Outcome::Refused));
    for said in [Outcome::NotExecuted, Outcome::Refused, Outcome::Unknown] {
        assert!(!story.probed(asked, SETTLE_AFTER_MS, said));
    }
    assert!(story.probed(asked, SETTLE_AFTER_MS, Outcome::Executed));
    assert!(story.0.view(SETTLE_AFTER_MS).disputed);
    assert!(!story.probed(asked, SETTLE_AFTER_MS, Outcome::Executed));
}

#[test]
fn i7_a_no_about_the_key_speaks_of_every_attempt_and_keeps_a_refusal() {
    let mut story = lost(Origin::Read);
    story.0 = story.0.clone().dispatch(2);
    story.says(3, 2, "refused");
    assert_eq!(story.state(3), State::Unknown);
    let asked = story.asks(SETTLE_AFTER_MS + 2);
    assert!(story.probed(asked, SETTLE_AFTER_MS + 3, Outcome::NotExecuted));
    assert_eq!(story.state(SETTLE_AFTER_MS + 3), State::Refused);
}

#[test]
fn a7_after_the_ledger_may_have_forgotten_nothing_is_done_by_itself() {
    for origin in [Origin::Ledger, Origin::Read] {
        let story = lost(origin);
        assert_ne!(story.0.next_step(30 * DAY_MS - 1), Step::Hold);
        assert_eq!(story.0.next_step(30 * DAY_MS), Step::Hold);
        assert_eq!(story.0.probe(30 * DAY_MS), None);
        assert_eq!(story.0.clone().redispatch(30 * DAY_MS), None);
        assert!(story.0.view(30 * DAY_MS).held);
    }
}
