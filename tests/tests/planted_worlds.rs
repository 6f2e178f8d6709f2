//! The explorer can see: bugs that chance would seldom show, each found by the sentence that it
//! contradicts, on a shortest way.

use oncegate_core::key::KeyKind;
use oncegate_core::proof::Origin;
use oncegate_tests::check::Small;
use oncegate_tests::{Oracle, Plant};

/// Explores the worlds that `fit` until the sentence is contradicted.
#[track_caller]
fn caught(plant: Plant, by: Oracle, fit: impl Fn(&Small) -> bool) {
    let mut others = Vec::new();
    let worlds = Small::ALL.into_iter().chain([Small::RESTORED]);
    for world in worlds.filter(fit) {
        let found = world.with(plant).contradict(by).found;
        match found.iter().find(|found| found.violation.oracle == by) {
            Some(found) => return println!("{plant:?}:\n{found}"),
            None => others.extend(found.iter().map(|found| found.violation.oracle)),
        }
    }
    panic!("{plant:?} was caught by {others:?} only");
}

fn with_a_second_key(world: &Small) -> bool {
    world.may.second_key
}

#[test]
fn planted_expires_with_its_claim_is_caught() {
    let days = |world: &Small| world.name.contains("times") && world.may.operator;
    caught(Plant::ExpiresWithItsClaim, Oracle::ExpiredIsNotAbsent, days);
}

#[test]
fn planted_principal_ignored_is_caught() {
    let strangers = |world: &Small| world.may.stranger;
    caught(Plant::PrincipalIgnored, Oracle::AnswerIsOurs, strangers);
}

#[test]
fn planted_generated_refusal_says_safe_is_caught() {
    let order_numbers = |world: &Small| world.kind == KeyKind::Generated;
    caught(
        Plant::GeneratedRefusalSaysSafe,
        Oracle::SafeNewKeyIsSafe,
        order_numbers,
    );
}

#[test]
fn planted_operator_looks_too_early_is_caught() {
    let settled_by_people = |world: &Small| world.origin == Origin::None && world.may.operator;
    let (plant, by) = (Plant::OperatorLooksTooEarly, Oracle::SafeNewKeyIsSafe);
    caught(plant, by, settled_by_people);
}

#[test]
fn planted_operator_too_early_is_caught() {
    let settled_by_people = |world: &Small| world.origin == Origin::None && world.may.operator;
    caught(
        Plant::OperatorTooEarly,
        Oracle::NotExecutedIsTrue,
        settled_by_people,
    );
}

#[test]
fn planted_released_says_safe_is_caught() {
    caught(
        Plant::ReleasedSaysSafe,
        Oracle::SafeNewKeyIsSafe,
        with_a_second_key,
    );
}

#[test]
fn planted_stale_probe_believed_is_caught() {
    let asks = |world: &Small| world.origin == Origin::Read;
    caught(Plant::StaleProbeBelieved, Oracle::NotExecutedIsTrue, asks);
}

#[test]
fn planted_alarm_throws_is_caught() {
    caught(Plant::AlarmThrows, Oracle::EverythingSettles, |world| {
        world.may.finish && world.origin == Origin::Read
    });
}

#[test]
fn planted_epoch_raised_on_executed_is_caught() {
    caught(
        Plant::EpochRaisedOnExecuted,
        Oracle::OneEffectPerPurchase,
        |world| world.may.second_key,
    );
}

#[test]
fn planted_late_proof_dropped_is_caught() {
    caught(Plant::LateProofDropped, Oracle::ProofCounts, |world| {
        world.origin == Origin::None
    });
}

#[test]
fn planted_dispute_expires_is_caught() {
    let restored = |world: &Small| world.may.restore;
    let by = Oracle::UnknownNeverExpires;
    caught(Plant::DisputeExpires, by, restored);
}

#[test]
fn planted_open_rows_dropped_is_caught() {
    caught(
        Plant::OpenRowsDropped,
        Oracle::UnknownNeverExpires,
        |world| world.may.purge,
    );
}

#[test]
fn planted_refusal_not_committed_is_caught() {
    caught(Plant::RefusalNotCommitted, Oracle::FailedIsFinal, |world| {
        world.attempts == 3
    });
}

#[test]
fn planted_row_after_effect_is_caught() {
    caught(Plant::RowAfterEffect, Oracle::OneEffectPerKey, |world| {
        world.attempts == 3
    });
}

#[test]
fn planted_ttl_is_lease_is_caught() {
    caught(Plant::TtlIsLease, Oracle::OneOwner, |world| {
        world.origin == Origin::None
    });
}

#[test]
fn planted_waiter_releases_is_caught() {
    caught(Plant::WaiterReleases, Oracle::WaitersOwnNothing, |world| {
        world.origin == Origin::None
    });
}
