//! Locks under crashes, evictions, lost and late messages and clocks that are set, in drawn worlds and in every
//! state of small ones; and that it would be seen if a shell got one of these things wrong.

use std::sync::LazyLock;

use oncegate_tests::drawn::{self, Failed};
use oncegate_tests::locks::{Clients, LockBug, LockOracle, LockSummary, explore, run};

const SEEDS: u64 = 3_000;

static RUNS: LazyLock<Vec<Result<LockSummary, Failed<LockOracle>>>> =
    LazyLock::new(|| (0..SEEDS).map(|seed| run(seed, None)).collect());

#[track_caller]
fn holds(oracle: LockOracle) {
    drawn::holds(&RUNS, oracle);
}

#[track_caller]
fn caught(bug: LockBug, by: LockOracle) {
    drawn::caught(SEEDS, run, bug, by);
}

#[test]
fn a_grant_has_a_greater_fence_than_all_before() {
    holds(LockOracle::FencesGrow);
}

#[test]
fn no_two_have_a_lock_at_once() {
    holds(LockOracle::OneHolder);
}

#[test]
fn who_waits_for_somebody_that_is_gone_waits_for_a_moment() {
    holds(LockOracle::GoneCostAMoment);
}

#[test]
fn a_free_lock_is_with_the_first_who_waits() {
    holds(LockOracle::NoLostWakeUp);
    holds(LockOracle::ServedInOrder);
}

#[test]
fn one_request_has_one_lock() {
    holds(LockOracle::OneLockPerRequest);
}

#[test]
fn nobody_starves() {
    holds(LockOracle::NobodyStarves);
    let mut sum = LockSummary::default();
    for run in RUNS.iter().flatten() {
        sum.grants += run.grants;
        sum.handed += run.handed;
        sum.evictions += run.evictions;
    }
    println!("{SEEDS} worlds: {sum:?}");
    assert!(sum.handed > SEEDS && sum.evictions > SEEDS);
}

#[test]
fn planted_time_counted_from_the_answer_is_caught() {
    caught(LockBug::CountedFromAnswer, LockOracle::OneHolder);
}

#[test]
fn planted_fences_that_begin_at_the_clock_are_caught() {
    caught(LockBug::FenceFromClock, LockOracle::FencesGrow);
}

#[test]
fn planted_a_hand_over_for_the_whole_ttl_is_caught() {
    caught(LockBug::HandedForTtl, LockOracle::GoneCostAMoment);
}

#[test]
fn planted_a_key_that_is_ignored_is_caught() {
    caught(LockBug::KeyIgnored, LockOracle::OneLockPerRequest);
}

#[test]
fn planted_the_last_before_the_first_is_caught() {
    caught(LockBug::LastFirst, LockOracle::ServedInOrder);
}

#[test]
fn planted_a_release_by_anyone_is_caught() {
    caught(LockBug::ReleasedByAnyone, LockOracle::OneHolder);
}

#[test]
fn planted_a_row_after_the_answer_is_caught() {
    caught(LockBug::RowAfterAnswer, LockOracle::OneHolder);
}

#[test]
fn planted_a_lost_wake_up_is_caught() {
    caught(LockBug::WakeLost, LockOracle::NoLostWakeUp);
}

#[test]
fn in_every_state_of_a_small_world_one_has_the_lock_nobody_sleeps_and_nobody_starves() {
    for clients in [Clients::Two, Clients::Three] {
        match explore(clients, None) {
            Ok(explored) => {
                println!("{clients:?}: {} states", explored.states);
                assert!(explored.states > 10_000, "{explored:?}");
            }
            Err(violation) => panic!("{violation}"),
        }
    }
}

#[track_caller]
fn found(clients: Clients, bug: LockBug, oracle: LockOracle) {
    let violation = explore(clients, Some(bug)).expect_err("nothing was found");
    println!("{bug:?}: {violation}");
    assert_eq!(violation.oracle, oracle);
}

#[test]
fn planted_bugs_are_found_in_a_small_world() {
    found(
        Clients::Two,
        LockBug::FenceFromClock,
        LockOracle::FencesGrow,
    );
    found(
        Clients::Two,
        LockBug::HandedForTtl,
        LockOracle::GoneCostAMoment,
    );
    found(
        Clients::Two,
        LockBug::KeyIgnored,
        LockOracle::OneLockPerRequest,
    );
    found(
        Clients::Three,
        LockBug::ReleasedByAnyone,
        LockOracle::OneHolder,
    );
    found(Clients::Two, LockBug::WakeLost, LockOracle::NoLostWakeUp);
}
