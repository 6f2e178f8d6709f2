//! Any sequence of what can happen to a record: the invariants of section 2 hold after every step.
//!
//! The first byte chooses route and key, each other one a verb.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oncegate_core::key::KeyKind;
use oncegate_core::proof::Origin;
use oncegate_tests::verbs::{Setting, World, rules, verbs};

/// A record with more attempts has no more to show.
const MOST_ATTEMPTS: u32 = 12;

fuzz_target!(|data: &[u8]| {
    let Some((choice, steps)) = data.split_first() else {
        return;
    };
    let origins = [Origin::Ledger, Origin::Read, Origin::None];
    let kinds = [KeyKind::Client, KeyKind::Generated, KeyKind::Token];
    let setting = Setting::new(
        origins[usize::from(choice % 3)],
        kinds[usize::from(choice / 3 % 3)],
    );
    let mut world = World::default();
    for step in steps {
        let verbs = verbs(world.attempts().min(MOST_ATTEMPTS));
        let change = setting.change(&world, verbs[usize::from(*step) % verbs.len()]);
        rules::ALL.iter().for_each(|rule| rule(&change));
        world = change.after;
    }
});
