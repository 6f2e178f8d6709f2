//! Tokens: never expired with a record, and without one only while that is sure (rule K2).

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::token::Lifetime;

const ISSUED_MS: u64 = 1_900_000_000_000;
const KEY_TTL_MS: u64 = 7 * DAY_MS;

const LIFETIME: Lifetime = Lifetime {
    issued_ms: ISSUED_MS,
    ttl_ms: 300_000,
    key_ttl_ms: KEY_TTL_MS,
};

fn judge(record: Option<&Operation>, now_ms: u64) -> Judged {
    let asked_for = Some(fingerprint(CARD_A));
    Operation::judge_token(
        record,
        now_ms,
        &LIFETIME,
        &terms(Origin::None),
        None,
        asked_for,
    )
}

fn claimed(now_ms: u64) -> Operation {
    let terms = terms(Origin::None).of_token(now_ms, &LIFETIME);
    Operation::arrive(
        None,
        now_ms,
        KeyKind::Token,
        &terms,
        None,
        fingerprint(CARD_A),
    )
    .0
}

#[test]
fn k2_a_token_that_was_tried_at_4_59_works_at_5_01() {
    let tried = claimed(ISSUED_MS + 299_000);
    for now_ms in [
        ISSUED_MS + 301_000,
        ISSUED_MS + KEY_TTL_MS,
        ISSUED_MS + 99 * KEY_TTL_MS,
    ] {
        assert_eq!(judge(Some(&tried), now_ms), Judged::Good);
    }
}

#[test]
fn k2_an_expired_token_that_was_never_used_is_closed_for_good() {
    assert_eq!(judge(None, ISSUED_MS + 299_999), Judged::Good);
    for now_ms in [ISSUED_MS + 300_000, ISSUED_MS + KEY_TTL_MS - 1] {
        let Judged::Unused(record) = judge(None, now_ms) else {
            panic!("it is safe to say so")
        };
        let view = record.view(now_ms);
        assert_eq!((view.state, view.safe_new_key), (State::Cancelled, true));
        assert_eq!(record.kind(), KeyKind::Token);
        // A copy that was on its way meanwhile finds it so.
        let terms = terms(Origin::None);
        let late = Operation::arrive(
            Some(*record),
            now_ms,
            KeyKind::Token,
            &terms,
            None,
            fingerprint(CARD_A),
        );
        assert_eq!(late.1, Admission::Turn(Turn::Cancelled));
    }
}

#[test]
fn k2_whoever_sends_an_unused_token_again_hears_that_it_has_expired_until_it_is_cancelled() {
    let late_ms = ISSUED_MS + 300_000;
    let Judged::Unused(closed) = judge(None, late_ms) else {
        panic!("it was never used")
    };
    assert_eq!(judge(Some(&closed), late_ms + 1), Judged::StillUnused);
    let terms = terms(Origin::None);
    let of_cancellation = |record: Option<&Operation>| {
        Operation::judge_token(record, late_ms, &LIFETIME, &terms, None, None)
    };
    assert_eq!(of_cancellation(Some(&closed)), Judged::Good);
    let cancel = |record: Operation| {
        Operation::cancel(Some(record), late_ms, KeyKind::Token, &terms, None).unwrap()
    };
    let (cancelled, cancellation) = cancel(*closed);
    assert_eq!(cancellation, Cancellation::Cancelled);
    // Who is about to go on with another token hears of it.
    assert_eq!(judge(Some(&cancelled), late_ms), Judged::Good);
    assert_eq!(cancel(cancelled).1, Cancellation::Decided);
    let Judged::Unused(cancelled) = of_cancellation(None) else {
        panic!("it was never used")
    };
    assert_eq!(judge(Some(&cancelled), late_ms), Judged::Good);
    // One that was used is told of as ever.
    let used = claimed(ISSUED_MS);
    assert_eq!(judge(Some(&used), late_ms), Judged::Good);
}

#[test]
fn k2_of_a_token_whose_record_may_be_gone_nothing_is_said() {
    for now_ms in [ISSUED_MS + KEY_TTL_MS, ISSUED_MS + 99 * KEY_TTL_MS] {
        assert_eq!(judge(None, now_ms), Judged::Forgotten);
    }
}

#[test]
fn k2_a_record_that_has_expired_says_that_the_token_was_used() {
    let mut story = Story(claimed(ISSUED_MS));
    story.answers(ISSUED_MS, 1, 201);
    let late_ms = ISSUED_MS + KEY_TTL_MS;
    assert!(story.0.is_expired(late_ms));
    assert_eq!(judge(Some(&story.0), late_ms), Judged::Forgotten);
}

#[test]
fn k2_a_record_outlives_what_its_token_promises_whatever_is_configured_since() {
    let short = Terms {
        key_ttl_ms: 1,
        ..terms(Origin::None)
    };
    let ttl_ms = |now_ms| short.clone().of_token(now_ms, &LIFETIME).key_ttl_ms;
    assert_eq!(ttl_ms(ISSUED_MS), KEY_TTL_MS);
    assert_eq!(ttl_ms(ISSUED_MS + 299_000), KEY_TTL_MS - 299_000);
    let long = Terms {
        key_ttl_ms: 2 * KEY_TTL_MS,
        ..terms(Origin::None)
    };
    assert_eq!(
        long.of_token(ISSUED_MS, &LIFETIME).key_ttl_ms,
        2 * KEY_TTL_MS
    );
}

/// Else its record would go while its token still says that none can have gone.
#[test]
fn k2_a_token_of_a_clock_that_is_ahead_is_never_called_unused_after_its_use() {
    let mut story = Story(claimed(ISSUED_MS - 60_000));
    story.answers(ISSUED_MS - 60_000, 1, 201);
    let gone_ms = story.0.keep_until_ms().expect("it is settled");
    assert_eq!(judge(None, gone_ms), Judged::Forgotten);
}
