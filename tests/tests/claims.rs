//! A message is never lost and never done twice, whatever becomes of workers, calls and answers; and each
//! bug that is planted is found.

use oncegate_tests::claims::{Bug, Oracle, explore};

#[test]
fn a_message_is_never_lost_and_never_done_twice() {
    match explore(None) {
        Ok(explored) => {
            println!("{} states", explored.states);
            assert!(explored.states > 10_000, "{explored:?}");
        }
        Err(violation) => panic!("{violation}"),
    }
}

#[track_caller]
fn found(bug: Bug, oracle: Oracle) {
    let violation = explore(Some(bug)).expect_err("nothing was found");
    println!("{bug:?}: {violation}");
    assert_eq!(violation.oracle, oracle);
}

#[test]
fn planted_anybody_completes_is_found() {
    found(Bug::AnybodyCompletes, Oracle::FencedOff);
}

#[test]
fn planted_anybody_releases_is_found() {
    found(Bug::AnybodyReleases, Oracle::FencedOff);
}

#[test]
fn planted_calls_are_forgotten_is_found() {
    found(Bug::CallsForgotten, Oracle::OnceACall);
}

#[test]
fn planted_done_is_forgotten_is_found() {
    found(Bug::DoneIsForgotten, Oracle::DoneOnce);
}

#[test]
fn planted_early_takeover_is_found() {
    found(Bug::EarlyTakeover, Oracle::OneHolder);
}

#[test]
fn planted_fence_stands_is_found() {
    found(Bug::FenceStands, Oracle::FenceRises);
}

#[test]
fn planted_maker_ignored_is_found() {
    found(Bug::MakerIgnored, Oracle::NotLockedOut);
}

#[test]
fn planted_no_takeover_is_found() {
    found(Bug::NoTakeover, Oracle::NeverLost);
}

#[test]
fn planted_old_owners_are_heard_is_found() {
    found(Bug::OldOwnersAreHeard, Oracle::FencedOff);
}
