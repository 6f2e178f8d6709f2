//! Every record that a few verbs in any order can make: each change is an arrow of the contract's
//! diagram, and the invariants of section 2 hold in every one of them.

use std::collections::HashSet;

use oncegate_core::key::KeyKind;
use oncegate_core::proof::Origin;
use oncegate_tests::verbs::{Change, Setting, World, rules, verbs};

const DEPTH: usize = 4;

/// Goes through all worlds that [`DEPTH`] verbs reach, and shows each change to `check`.
#[track_caller]
fn everywhere(check: impl Fn(&Change<'_>)) {
    for origin in [Origin::Ledger, Origin::Read, Origin::None] {
        for kind in [KeyKind::Client, KeyKind::Generated] {
            explore(&Setting::new(origin, kind), &check);
        }
    }
}

fn explore(setting: &Setting, check: &impl Fn(&Change<'_>)) {
    let mut layer = vec![World::default()];
    let mut seen = HashSet::new();
    for depth in 1..=DEPTH {
        let mut next = Vec::new();
        for before in &layer {
            for verb in verbs(before.attempts()) {
                let change = setting.change(before, verb);
                check(&change);
                let after = change.after;
                if depth < DEPTH && seen.insert(format!("{:?}{}", after.record, after.now_ms)) {
                    next.push(after);
                }
            }
        }
        layer = next;
    }
}

#[test]
fn i1_an_attempt_begins_only_where_none_can_be_under_way_or_the_ledger_protects() {
    everywhere(rules::one_owner);
}

#[test]
fn i3_every_change_is_an_arrow_of_the_diagram() {
    everywhere(rules::arrow);
}

#[test]
fn i3_a_revision_rises_with_every_change_and_with_nothing_else() {
    everywhere(rules::revision);
}

#[test]
fn i3_what_is_told_twice_changes_nothing_the_second_time() {
    everywhere(rules::told_twice);
}

#[test]
fn i5_a_record_with_an_attempt_that_is_not_settled_is_kept_without_end() {
    everywhere(rules::kept);
}

#[test]
fn i7_what_counts_as_settled_has_no_attempt_that_is_not() {
    everywhere(rules::joined);
}

#[test]
fn i8_a_new_key_is_safe_only_where_nothing_happened_and_nothing_can() {
    everywhere(rules::safe_new_key);
}

#[test]
fn k4_a_stranger_changes_and_hears_nothing_unless_nothing_has_happened() {
    everywhere(rules::strangers);
}

#[test]
fn a6_the_gate_acts_by_itself_only_where_it_may() {
    everywhere(rules::steps);
}
