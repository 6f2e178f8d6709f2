//! Answers that are passed through as they come, rule P6.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::outcome::Status;

impl Story {
    /// The head of an answer has come.
    fn begins(&mut self, now_ms: u64, status: u16, outcome: Option<&str>) -> Streaming {
        let head = Settling {
            attempt: 1,
            reply: Reply::Answered {
                status,
                outcome,
                value: None,
            },
            storable: true,
            recorded: None,
        };
        let (record, streaming) = self.0.clone().begin_streaming(now_ms, head);
        self.0 = record;
        streaming
    }
}

#[test]
fn p6_the_header_of_a_ledger_is_proof_before_the_body() {
    for (outcome, state, status) in [
        ("executed", State::Executed, Status::Executed),
        ("refused", State::Refused, Status::Refused),
    ] {
        let mut story = Story::ledger();
        let streaming = story.begins(1, 200, Some(outcome));
        assert_eq!((streaming.status, streaming.changed), (status, true));
        assert_eq!(story.state(1), state);
        assert!(!story.0.has_stored_answer());
        // Whatever becomes of the body.
        assert!(!story.replied(2, 1, Reply::Lost).changed);
        assert_eq!(story.state(2), state);
    }
}

#[test]
fn p6_elsewhere_the_record_is_marked_and_settled_at_the_end() {
    let mut story = Story::claimed(Origin::None, KeyKind::Client);
    let streaming = story.begins(1, 200, None);
    assert_eq!(streaming.status, Status::Executed);
    assert!(streaming.changed && !streaming.superseded);
    assert_eq!(story.state(2), State::Dispatched);
    let settled = story.answers(3, 1, 200);
    assert!(!settled.store, "what was passed through is stored nowhere");
    assert_eq!(
        story.arrives(4, CARD_A),
        Admission::Turn(Turn::ResultUnavailable)
    );
}

#[test]
fn p6_an_answer_that_breaks_off_stays_unknown() {
    let mut story = Story::claimed(Origin::None, KeyKind::Client);
    story.begins(1, 200, None);
    story.replied(2, 1, Reply::Lost);
    assert_eq!(story.state(2), State::Unknown);
    assert!(!story.0.is_settled());
}

#[test]
fn p6_nobody_is_told_no_by_a_head_whose_body_may_break_off() {
    for status in [402, 404, 500] {
        let mut story = Story::claimed(Origin::Read, KeyKind::Client);
        assert_eq!(story.begins(1, status, None).status, Status::Unknown);
        assert_eq!(story.state(1), State::Dispatched);
    }
}

#[test]
fn p6_a_late_head_of_a_closed_operation_is_superseded() {
    let mut story = Story::claimed(Origin::Read, KeyKind::Client);
    story.0 = story.0.clone().dispatch(1);
    story.says(2, 2, "executed");
    let before = story.0.clone();
    let streaming = story.begins(3, 200, None);
    assert!(streaming.superseded && !streaming.changed);
    assert_eq!((streaming.status, &story.0), (Status::Executed, &before));
}
