//! Small worlds, seen whole: what the contract forbids is in no state that can be reached.
//!
//! The worlds are explored once; each test then asks for its own sentences. `ONCEGATE_WORLD` limits
//! the exploration to the worlds whose name contains it.

use std::sync::LazyLock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use oncegate_tests::Oracle;
use oncegate_tests::check::{Explored, Small};

static WORLDS: LazyLock<Vec<(Small, Explored)>> = LazyLock::new(explore_all);

/// One world at a time for each processor.
fn explore_all() -> Vec<(Small, Explored)> {
    let only = std::env::var("ONCEGATE_WORLD").unwrap_or_default();
    let worlds: Vec<_> = Small::ALL
        .into_iter()
        .filter(|world| world.name.contains(&only))
        .collect();
    assert!(!worlds.is_empty(), "no world's name contains {only:?}");
    let explored = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let explore = || {
            while let Some(world) = worlds.get(next.fetch_add(1, Ordering::Relaxed)) {
                let whole = explore(*world);
                explored.lock().unwrap().push((*world, whole));
            }
        };
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(explore);
        }
    });
    let explored = explored.into_inner().unwrap();
    let states: usize = explored.iter().map(|(_, whole)| whole.states).sum();
    let steps: usize = explored.iter().map(|(_, whole)| whole.steps).sum();
    println!("{} worlds, {states} states, {steps} steps", explored.len());
    explored
}

fn explore(world: Small) -> Explored {
    let started = Instant::now();
    let whole = world.explore();
    println!(
        "{}: {} states, {} steps, {} ms",
        world.name,
        whole.states,
        whole.steps,
        started.elapsed().as_millis()
    );
    whole
}

/// In no state of any world is one of these sentences contradicted.
#[track_caller]
fn holds(oracles: &[Oracle]) {
    for (_, whole) in WORLDS.iter() {
        let contradicts = |oracle| oracles.contains(&oracle);
        if let Some(found) = whole
            .found
            .iter()
            .find(|found| contradicts(found.violation.oracle))
        {
            panic!("{found}");
        }
    }
}

#[test]
fn i1_no_attempt_begins_beside_another_one_except_at_a_ledger_after_the_lease() {
    holds(&[Oracle::OneOwner]);
}

#[test]
fn i2_what_is_said_to_be_executed_is_and_stays_so() {
    holds(&[Oracle::ExecutedIsTrue, Oracle::NothingIsTakenBack]);
}

#[test]
fn i3_proof_counts_however_late_and_whatever_was_decided_meanwhile() {
    holds(&[Oracle::ProofCounts]);
}

#[test]
fn i4_who_starts_no_attempt_changes_nothing() {
    holds(&[Oracle::WaitersOwnNothing]);
}

#[test]
fn i5_unknown_never_expires_and_everything_settles_once_faults_stop() {
    holds(&[Oracle::UnknownNeverExpires, Oracle::EverythingSettles]);
}

#[test]
fn i6_an_answer_that_has_expired_is_not_earned_again() {
    holds(&[Oracle::ExpiredIsNotAbsent]);
}

#[test]
fn i7_released_is_said_when_no_attempt_had_or_can_have_an_effect() {
    holds(&[Oracle::NotExecutedIsTrue]);
}

#[test]
fn i8_no_new_key_is_called_safe_from_which_two_effects_can_be_reached() {
    holds(&[Oracle::SafeNewKeyIsSafe, Oracle::OneEffectPerPurchase]);
}

#[test]
fn k4_nobody_gets_the_answer_of_another_payload_or_person() {
    holds(&[Oracle::AnswerIsOurs]);
}

#[test]
fn l3_there_is_at_most_one_effect_under_a_key() {
    holds(&[Oracle::OneEffectPerKey]);
}

#[test]
fn t4_nobody_is_told_failed_while_an_effect_exists_or_can_still_happen() {
    holds(&[Oracle::FailedIsFinal]);
}

/// The sentence of A6: where there is no ledger, a status that lies can still charge twice. A ledger
/// cannot be lied about: the worlds above have the same lies.
#[test]
fn a6_without_a_ledger_a_status_that_lies_can_charge_twice() {
    for world in Small::LIED_TO {
        let whole = explore(world);
        let charges_twice = |oracle| oracle == Oracle::OneEffectPerKey;
        assert!(
            whole
                .found
                .iter()
                .any(|found| charges_twice(found.violation.oracle))
        );
    }
}

/// What a ledger says that was set back may be anything. What came of it stays on the list all the same.
#[test]
fn i3_a_dispute_outlives_every_time_that_the_record_was_given() {
    let whole = explore(Small::RESTORED);
    let expires = |oracle| oracle == Oracle::UnknownNeverExpires;
    assert!(
        !whole
            .found
            .iter()
            .any(|found| expires(found.violation.oracle))
    );
}
