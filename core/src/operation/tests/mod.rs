mod cancel;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::fingerprint::{Fingerprint, Parts};
use crate::key::KeyKind;
use crate::proof::{Origin, Reply, Rules};

const LEASE_MS: u64 = 30_000;
const DAY_MS: u64 = 86_400_000;
const SETTLE_AFTER_MS: u64 = 900_000;

fn terms(origin: Origin) -> Terms {
    Terms {
        route: "orders".into(),
        origin,
        lease_ms: LEASE_MS,
        result_ttl_ms: DAY_MS,
        key_ttl_ms: 7 * DAY_MS,
        ledger_retention_ms: 30 * DAY_MS,
        settle_after_ms: SETTLE_AFTER_MS,
        finish: false,
        rules: Rules::default(),
    }
}

fn fingerprint(body: u8) -> Fingerprint {
    Fingerprint::of(&Parts {
        method: "POST",
        path_and_query: "/orders",
        content_type: "application/json",
        content_encoding: "",
        body_sha256: [body; 32],
    })
}

const CARD_A: u8 = 1;
const CARD_B: u8 = 2;

/// A record, and the verbs of a story told about it.
struct Story(Operation);

impl Story {
    fn claimed(origin: Origin, kind: KeyKind) -> Self {
        Self::claimed_at(0, origin, kind)
    }

    fn claimed_at(now_ms: u64, origin: Origin, kind: KeyKind) -> Self {
        let (record, admission) = Operation::arrive(
            None,
            now_ms,
            kind,
            &terms(origin),
            None,
            fingerprint(CARD_A),
        );
        assert_eq!(admission, Admission::Dispatch(1));
        Self(record)
    }

    fn ledger() -> Self {
        Self::claimed(Origin::Ledger, KeyKind::Client)
    }

    fn arrives(&mut self, now_ms: u64, card: u8) -> Admission {
        let (record, admission) = self.0.clone().admit(now_ms, None, fingerprint(card));
        self.0 = record;
        admission
    }

    fn replied(&mut self, now_ms: u64, attempt: u32, reply: Reply<'_>) -> Settled {
        let settling = Settling {
            attempt,
            reply,
            storable: true,
            recorded: None,
        };
        let (record, settled) = self.0.clone().settle(now_ms, settling);
        self.0 = record;
        settled
    }

    fn says(&mut self, now_ms: u64, attempt: u32, outcome: &str) -> Settled {
        self.replied(
            now_ms,
            attempt,
            Reply::Answered {
                status: 200,
                outcome: Some(outcome),
                value: None,
            },
        )
    }

    fn state(&self, now_ms: u64) -> State {
        self.0.view(now_ms).state
    }
}

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
fn i3_a_completion_that_is_told_twice_is_still_the_attempts_own() {
    let mut story = Story::ledger();
    assert!(!story.says(1, 1, "executed").superseded);
    assert!(!story.says(2, 1, "executed").superseded);
    assert!(story.says(3, 2, "executed").superseded);
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
