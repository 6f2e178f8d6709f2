//! Cancelling, rules L6 and A7.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::outcome::Outcome;

fn heard(asked_attempt: u32, said: Outcome, storable: bool) -> Hearing {
    Hearing {
        asked_attempt,
        asked_ms: 0,
        said,
        storable,
        recorded: None,
    }
}

impl Story {
    /// A customer cancels, and the ledger says `said`.
    fn cancelled(&mut self, now_ms: u64, said: Outcome) -> State {
        let asked = self.0.view(now_ms).attempts;
        let (record, cancellation) = Operation::cancel(
            Some(self.0.clone()),
            now_ms,
            KeyKind::Client,
            &terms(Origin::Ledger),
            None,
        )
        .unwrap();
        assert!(matches!(cancellation, Cancellation::Ask(inquiry) if inquiry.attempt == asked));
        self.0 = record;
        self.hears(now_ms, asked, said);
        self.state(now_ms)
    }

    fn hears(&mut self, now_ms: u64, asked: u32, said: Outcome) {
        let record = Some(self.0.clone());
        let (kind, terms) = (KeyKind::Client, &terms(Origin::Ledger));
        let hearing = heard(asked, said, true);
        if let Some((record, _)) = Operation::hear(record, now_ms, kind, terms, None, hearing) {
            self.0 = record;
        }
    }
}

#[test]
fn l6_a_cancelled_key_is_dead_for_every_request() {
    let mut story = Story::ledger();
    assert_eq!(story.cancelled(1, Outcome::Cancelled), State::Cancelled);
    let view = story.0.view(1);
    assert_eq!(
        (view.executed, view.safe_new_key, view.unsettled),
        (Some(false), true, 0)
    );
    for card in [CARD_A, CARD_B] {
        assert_eq!(story.arrives(2, card), Admission::Turn(Turn::Cancelled));
    }
    story.says(3, 1, "executed");
    let view = story.0.view(3);
    assert_eq!((view.executed, view.safe_new_key), (Some(true), false));
}

#[test]
fn l6_a_ledger_is_always_asked_even_about_a_key_that_was_never_seen() {
    let (kind, terms) = (KeyKind::Client, &terms(Origin::Ledger));
    let (_, cancellation) = Operation::cancel(None, 1, kind, terms, None).unwrap();
    assert_eq!(
        cancellation,
        Cancellation::Ask(Inquiry {
            attempt: 0,
            asked_ms: 1,
            fingerprint: None
        })
    );
    for (said, state) in [
        (Outcome::Cancelled, State::Cancelled),
        (Outcome::Executed, State::Executed),
        (Outcome::Refused, State::Refused),
    ] {
        let record = Operation::hear(None, 2, kind, terms, None, heard(0, said, true))
            .unwrap()
            .0;
        assert_eq!(record.view(2).state, state);
    }
    assert_eq!(
        Operation::hear(None, 2, kind, terms, None, heard(0, Outcome::Unknown, true)),
        None
    );
}

#[test]
fn l6_a_cancellation_that_comes_too_late_says_executed() {
    let mut story = Story::ledger();
    assert_eq!(story.cancelled(1, Outcome::Executed), State::Executed);
    assert!(!story.0.view(1).safe_new_key);
    assert_eq!(story.arrives(2, CARD_A), Admission::Replay);
}

#[test]
fn i3_a_stale_refusal_does_not_close_a_newer_attempt() {
    let mut story = Story::ledger();
    story.replied(1, 1, Reply::Lost);
    assert_eq!(story.arrives(2, CARD_A), Admission::Dispatch(2));
    story.hears(3, 1, Outcome::Refused);
    assert_eq!(story.state(3), State::Dispatched);
    story.hears(4, 2, Outcome::Refused);
    assert_eq!(story.state(4), State::Refused);
}

#[test]
fn a_ledger_that_says_nothing_leaves_the_operation_as_it_was() {
    for said in [Outcome::Unknown, Outcome::InProgress, Outcome::NotExecuted] {
        assert_eq!(Story::ledger().cancelled(1, said), State::Dispatched);
    }
}

#[test]
fn other_origins_cancel_only_what_is_released() {
    for origin in [Origin::Read, Origin::None] {
        let (kind, terms) = (KeyKind::Client, &terms(origin));
        let cancel = |record, now_ms| {
            let cancelled = Operation::cancel(record, now_ms, kind, terms, None);
            let (record, cancellation) = cancelled.unwrap();
            let state = record.view(now_ms).state;
            let changed = cancellation == Cancellation::Cancelled;
            assert_eq!(changed, state == State::Cancelled);
            state
        };
        assert_eq!(cancel(None, 1), State::Cancelled);
        let mut story = Story::claimed(origin, kind);
        assert_eq!(cancel(Some(story.0.clone()), 1), State::Dispatched);
        story.replied(2, 1, Reply::Lost);
        assert_eq!(cancel(Some(story.0.clone()), 2), State::Unknown);
        story.says(3, 1, "not_executed");
        assert_eq!(cancel(Some(story.0.clone()), 3), State::Cancelled);
    }
}

#[test]
fn a7_after_the_ledger_may_have_forgotten_nothing_is_cancelled() {
    let mut story = Story::ledger();
    story.replied(1, 1, Reply::Lost);
    let record = Some(story.0.clone());
    let (kind, terms) = (KeyKind::Client, &terms(Origin::Ledger));
    let (record, cancellation) = Operation::cancel(record, 30 * DAY_MS, kind, terms, None).unwrap();
    assert_eq!(cancellation, Cancellation::Decided);
    assert_eq!(record.view(30 * DAY_MS).state, State::Unknown);
}

#[test]
fn l6_what_a_late_cancellation_hears_of_another_request_is_not_this_ones_answer() {
    let (kind, terms) = (KeyKind::Client, &terms(Origin::Ledger));
    let hearing = Hearing {
        recorded: Some(fingerprint(CARD_B)),
        ..heard(0, Outcome::Executed, true)
    };
    let (record, store) = Operation::hear(None, 1, kind, terms, None, hearing).unwrap();
    assert!(!store);
    assert_eq!(record.fingerprint(), Some(fingerprint(CARD_B)));
    let mut story = Story(record);
    assert_eq!(story.arrives(2, CARD_A), Admission::Turn(Turn::KeyReused));
    assert_eq!(
        story.arrives(2, CARD_B),
        Admission::Turn(Turn::ResultUnavailable)
    );
}

#[test]
fn l6_a_ledgers_no_says_nothing_of_a_key_that_another_route_has_by_now() {
    for said in [Outcome::Cancelled, Outcome::Refused] {
        let mut story = Story::ledger();
        story.says(1, 1, "not_executed");
        let (kind, asked_under) = (KeyKind::Client, terms(Origin::Ledger));
        for origin in [Origin::None, Origin::Ledger] {
            let other = Terms {
                route: "refunds".into(),
                ..terms(origin)
            };
            let record = Some(story.0.clone());
            let (record, _) = Operation::arrive(record, 2, kind, &other, None, fingerprint(CARD_B));
            for asked_attempt in [1, 2] {
                let hearing = heard(asked_attempt, said, true);
                let record = Some(record.clone());
                let heard = Operation::hear(record, 3, kind, &asked_under, None, hearing);
                assert_eq!(heard, None);
            }
        }
    }
}

#[test]
fn l6_another_cards_refusal_is_no_answer_under_a_generated_key() {
    for (kind, counts) in [(KeyKind::Generated, false), (KeyKind::Client, true)] {
        let story = Story::claimed(Origin::Ledger, kind);
        let hearing = Hearing {
            recorded: Some(fingerprint(CARD_B)),
            ..heard(1, Outcome::Refused, true)
        };
        let terms = &terms(Origin::Ledger);
        let heard = Operation::hear(Some(story.0), 2, kind, terms, None, hearing);
        assert_eq!(heard.is_some(), counts);
    }
}
