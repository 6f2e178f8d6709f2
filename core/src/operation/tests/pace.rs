//! When to ask again, rule P2.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

/// The bounds of the pause over many seeds.
fn between(now_ms: u64, view: &View, median_ms: Option<u64>) -> (u64, u64) {
    let pauses = (0..200).map(|seed| retry_after_ms(now_ms, view, median_ms, seed).unwrap());
    pauses.fold((u64::MAX, 0), |(least, most), pause| {
        (least.min(pause), most.max(pause))
    })
}

#[test]
fn p2_the_pause_is_a_second_or_twice_the_median_and_never_longer_than_the_lease() {
    let view = Story::ledger().0.view(0);
    for (now_ms, median_ms, pause_ms) in [
        (0, None, 1_000),
        (0, Some(300), 1_000),
        (0, Some(2_000), 4_000),
        (0, Some(60_000), LEASE_MS),
        (LEASE_MS - 600, Some(2_000), 600),
        (LEASE_MS - 600, None, 600),
    ] {
        let (least, most) = between(now_ms, &view, median_ms);
        assert!(least >= pause_ms && least < pause_ms + pause_ms / 20 + 1);
        assert!(most <= pause_ms + pause_ms / 4 && most > pause_ms + pause_ms / 5);
    }
}

#[test]
fn p2_no_pause_where_asking_again_is_of_no_use() {
    for outcome in ["executed", "refused", "cancelled"] {
        let mut story = Story::ledger();
        story.says(1, 1, outcome);
        assert_eq!(retry_after_ms(1, &story.0.view(1), None, 0), None);
    }
    let mut held = Story::claimed(Origin::None, KeyKind::Client);
    held.replied(1, 1, Reply::Lost);
    let pause = |now_ms| retry_after_ms(now_ms, &held.0.view(now_ms), None, 0);
    assert!(pause(1).is_some(), "a late answer may still come");
    assert_eq!(pause(HARD_TIMEOUT_MS), None);
}

#[test]
fn p2_what_is_released_or_unknown_at_a_ledger_may_be_sent_again() {
    let mut story = Story::ledger();
    story.replied(1, 1, Reply::Lost);
    assert!(retry_after_ms(1, &story.0.view(1), None, 0).is_some());
    story.says(2, 1, "not_executed");
    assert!(retry_after_ms(2, &story.0.view(2), None, 0).is_some());
}

#[test]
fn p2_the_median_is_that_of_the_latest_attempts() {
    let mut pace = Pace::default();
    assert_eq!(pace.median_ms(), None);
    pace.took(700);
    assert_eq!(pace.median_ms(), Some(700));
    for took_ms in [10, 20, 30, 9_000] {
        pace.took(took_ms);
    }
    assert_eq!(pace.median_ms(), Some(30));
    for _ in 0..100 {
        pace.took(5);
    }
    assert_eq!(pace.median_ms(), Some(5));
}
