//! Answers: kept with the record that speaks of them, whole, and only so long.

use super::*;
use crate::shelf::Machine;

pub(crate) fn a_completion_stores_its_answer(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let operation = identity("a");
    let every_byte = Answer {
        status: 299,
        headers: vec![
            (
                "content-type".to_owned(),
                "application/x-\"ü\"\\".to_owned(),
            ),
            ("link".to_owned(), String::new()),
        ],
        body: Some((0..=255).collect()),
    };
    complete(&shelf, &operation, NOW_MS, &every_byte);
    assert_record(&shelf, NOW_MS, &operation, &executed(NOW_MS));
    assert_answer(&shelf, NOW_MS, &operation, &every_byte);
}

pub(crate) fn an_empty_body_stays_empty(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let empty = Answer {
        status: 204,
        headers: Vec::new(),
        body: None,
    };
    complete(&shelf, &identity("a"), NOW_MS, &empty);
    assert_answer(&shelf, NOW_MS, &identity("a"), &empty);
}

pub(crate) fn a_large_answer_comes_back_whole(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let large = Answer {
        body: Some((0..1_890_000_u32).map(|at| (at % 251) as u8).collect()),
        ..answer("")
    };
    complete(&shelf, &identity("a"), NOW_MS, &large);
    assert_answer(&shelf, NOW_MS, &identity("a"), &large);
}

pub(crate) fn a_record_written_alone_keeps_its_answer(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let operation = identity("a");
    complete(&shelf, &operation, NOW_MS, &answer("done"));
    let later = answered(executed(NOW_MS), NOW_MS + 5, 1, "unknown").0;
    put(
        &shelf,
        NOW_MS + 5,
        &operation,
        later.clone(),
        Written::NOTHING,
    );
    assert_record(&shelf, NOW_MS + 5, &operation, &later);
    assert_answer(&shelf, NOW_MS + 5, &operation, &answer("done"));
}

pub(crate) fn an_answer_that_the_record_does_not_speak_of_goes(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let operation = identity("a");
    complete(&shelf, &operation, NOW_MS, &answer("a name and an address"));
    let erased = executed(NOW_MS).erase(NOW_MS).expect("it is settled");
    put(&shelf, NOW_MS, &operation, erased.clone(), Written::NOTHING);
    assert_record(&shelf, NOW_MS, &operation, &erased);
    assert!(find(&shelf, NOW_MS, &operation).answer.is_none());
}

pub(crate) fn what_is_erased_is_forgotten(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let (now_ms, operation, other) = (NOW_MS + SPAN_MS, identity("a"), identity("b"));
    complete(&shelf, &operation, NOW_MS, &answer("a name and an address"));
    put(&shelf, NOW_MS, &other, claimed(NOW_MS), Written::NOTHING);
    let erased = executed(NOW_MS).erase(now_ms).expect("it is settled");
    put(&shelf, now_ms, &operation, erased.clone(), Written::NOTHING);
    shelf.forget_earlier(&operation).expect("it is forgotten");
    assert_record(&shelf, now_ms, &operation, &erased);
    assert!(find(&shelf, now_ms, &operation).answer.is_none());
    shelf.forget_earlier(&other).expect("nothing is done");
    assert_record(&shelf, now_ms, &other, &claimed(NOW_MS));
}

pub(crate) fn a_new_answer_replaces_the_one_before(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let operation = identity("a");
    let claim = claimed_for(NOW_MS, KeyKind::Generated, 7 * DAY_MS);
    let (refused, settled) = answered(claim, NOW_MS, 1, "refused");
    assert!(settled.store);
    put(
        &shelf,
        NOW_MS,
        &operation,
        refused.clone(),
        with(&answer("no")),
    );
    // Another card for the same order.
    let terms = terms(7 * DAY_MS);
    let (second, _) = Operation::arrive(
        Some(refused),
        NOW_MS,
        KeyKind::Generated,
        &terms,
        None,
        fingerprint(2),
    );
    put(&shelf, NOW_MS, &operation, second.clone(), Written::NOTHING);
    assert!(find(&shelf, NOW_MS, &operation).answer.is_none());
    let (paid, _) = answered(second, NOW_MS, 2, "executed");
    put(
        &shelf,
        NOW_MS,
        &operation,
        paid.clone(),
        with(&answer("yes")),
    );
    assert_record(&shelf, NOW_MS, &operation, &paid);
    assert_answer(&shelf, NOW_MS, &operation, &answer("yes"));
}
