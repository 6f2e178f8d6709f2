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
    for world in Small::ALL.into_iter().filter(fit) {
        let found = world.with(plant).explore().found;
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
