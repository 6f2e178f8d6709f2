//! The browser, seen whole: two tabs, their storage and every interleaving with crashes, lost and late
//! messages; and that it would be seen if a shell got one of these things wrong.

use std::sync::LazyLock;

use oncegate_tests::Oracle;
use oncegate_tests::check::Explored;
use oncegate_tests::tabs::{TabBug, Tabs};

static WORLDS: LazyLock<Vec<(&str, Explored)>> = LazyLock::new(|| {
    let explore = |world: Tabs| {
        let whole = world.explore();
        println!(
            "{}: {} states, {} steps",
            world.name, whole.states, whole.steps
        );
        (world.name, whole)
    };
    Tabs::ALL.into_iter().map(explore).collect()
});

#[track_caller]
fn holds(oracles: &[Oracle]) {
    for (name, whole) in WORLDS.iter() {
        for found in &whole.found {
            assert!(
                !oracles.contains(&found.violation.oracle),
                "{name}:\n{found}"
            );
        }
    }
}

/// One of the worlds shows the bug, by this sentence.
#[track_caller]
fn caught(bug: TabBug, by: Oracle) {
    let seen = Tabs::ALL.into_iter().any(|world| {
        let found = world.with(bug).seek(by).found;
        found.iter().any(|found| found.violation.oracle == by)
    });
    assert!(seen, "{bug:?} goes unseen");
}

#[test]
fn t4_however_tabs_crash_and_messages_are_lost_an_intent_has_one_effect() {
    holds(&[Oracle::OneEffectPerPurchase, Oracle::OneEffectPerKey]);
}

#[test]
fn t4_no_tab_says_failed_of_what_has_happened_or_can_still_happen() {
    holds(&[Oracle::FailedIsFinal]);
}

#[test]
fn t4_a_key_is_replaced_only_after_it_was_refused_or_cancelled() {
    holds(&[Oracle::SafeNewKeyIsSafe]);
}

#[test]
fn t4_done_is_said_of_effects_and_of_the_payload_that_had_them() {
    holds(&[Oracle::ExecutedIsTrue, Oracle::AnswerIsOurs]);
}

#[test]
fn every_event_of_a_tab_is_expected() {
    holds(&[Oracle::MachinesAreObeyed]);
}

#[test]
fn planted_an_absent_key_taken_for_a_cancelled_one_is_caught() {
    caught(TabBug::AbsentIsCancelled, Oracle::FailedIsFinal);
}

#[test]
fn planted_an_epoch_that_rises_when_executed_is_caught() {
    caught(TabBug::EpochRaisedOnExecuted, Oracle::OneEffectPerPurchase);
}

#[test]
fn planted_a_proxys_error_taken_for_a_refusal_is_caught() {
    caught(TabBug::ErrorIsRefusal, Oracle::FailedIsFinal);
}

#[test]
fn planted_a_key_that_is_sent_although_too_old_is_caught() {
    caught(TabBug::KeyNeverTooOld, Oracle::OneEffectPerKey);
}

#[test]
fn planted_a_key_for_each_click_is_caught() {
    caught(TabBug::KeyPerClick, Oracle::OneEffectPerPurchase);
}

#[test]
fn planted_unknown_told_as_failed_is_caught() {
    caught(TabBug::UnknownIsFailed, Oracle::FailedIsFinal);
}
