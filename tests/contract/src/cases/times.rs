//! Times: nothing is dropped that must be kept, however often the tables turn.

use super::*;
use crate::shelf::Machine;

pub(crate) fn i5_what_is_not_settled_is_kept_over_all_spans(machine: &impl Machine) {
    kept_over_all_spans(machine, &claimed(NOW_MS));
}

pub(crate) fn i3_what_is_disputed_is_kept_over_all_spans(machine: &impl Machine) {
    let refused = answered(claimed(NOW_MS), NOW_MS, 1, "refused").0;
    kept_over_all_spans(machine, &answered(refused, NOW_MS, 1, "executed").0);
}

fn kept_over_all_spans(machine: &impl Machine, record: &Operation) {
    let operation = identity("a");
    let shelf = machine.open(NOW_MS);
    put(&shelf, NOW_MS, &operation, record.clone(), Written::NOTHING);
    let found = shelf.open_after(None, 1).expect("the rows are read");
    assert_eq!(found.open, [operation]);
    for spans in [1, 2, 3, 5, 52, 1_000] {
        let now_ms = NOW_MS + spans * SPAN_MS;
        let shelf = machine.open(now_ms);
        assert_record(&shelf, now_ms, &operation, record);
    }
}

pub(crate) fn a_settled_operation_is_kept_until_its_time_and_no_longer(machine: &impl Machine) {
    let operation = identity("a");
    let shelf = machine.open(NOW_MS);
    complete(&shelf, &operation, NOW_MS, &answer("done"));
    let last_ms = NOW_MS + 7 * DAY_MS - 1;
    assert_record(&shelf, last_ms, &operation, &executed(NOW_MS));
    for days in [7, 14, 21, 400] {
        let now_ms = NOW_MS + days * DAY_MS;
        // Its row may be there or not; both are one to a reader.
        assert!(find(&shelf, now_ms, &operation).is_absent(now_ms));
    }
}

pub(crate) fn an_answer_is_kept_over_a_turn(machine: &impl Machine) {
    let operation = identity("a");
    let record = executed_for(NOW_MS, 60 * DAY_MS);
    let shelf = machine.open(NOW_MS);
    put(
        &shelf,
        NOW_MS,
        &operation,
        record.clone(),
        with(&answer("done")),
    );
    for days in [6, 7, 13, 20, 27, 59] {
        let now_ms = NOW_MS + days * DAY_MS;
        assert_record(&shelf, now_ms, &operation, &record);
        assert_answer(&shelf, now_ms, &operation, &answer("done"));
    }
    // The next attempt that is told of changes the record and not the answer.
    let now_ms = NOW_MS + 59 * DAY_MS;
    let later = answered(record, now_ms, 1, "unknown").0;
    put(&shelf, now_ms, &operation, later, Written::NOTHING);
    assert_answer(&shelf, now_ms, &operation, &answer("done"));
}

pub(crate) fn what_is_written_after_a_turn_hides_what_was_written_before(machine: &impl Machine) {
    let operation = identity("a");
    let shelf = machine.open(NOW_MS);
    put(
        &shelf,
        NOW_MS,
        &operation,
        claimed(NOW_MS),
        Written::NOTHING,
    );
    let now_ms = NOW_MS + SPAN_MS;
    let done = answered(claimed(NOW_MS), now_ms, 1, "executed").0;
    put(
        &shelf,
        now_ms,
        &operation,
        done.clone(),
        with(&answer("done")),
    );
    for later_ms in [now_ms, now_ms + SPAN_MS - 1] {
        assert_record(&shelf, later_ms, &operation, &done);
        assert_answer(&shelf, later_ms, &operation, &answer("done"));
    }
    let gone_ms = now_ms + 2 * SPAN_MS;
    assert!(find(&shelf, gone_ms, &operation).is_absent(gone_ms));
}

pub(crate) fn a_time_without_end_is_kept_without_end(machine: &impl Machine) {
    let operation = identity("a");
    let record = executed_for(NOW_MS, u64::MAX);
    put(
        &machine.open(NOW_MS),
        NOW_MS,
        &operation,
        record.clone(),
        with(&answer("done")),
    );
    for years in [1, 100, 10_000] {
        let now_ms = NOW_MS + years * 365 * DAY_MS;
        let shelf = machine.open(now_ms);
        assert_record(&shelf, now_ms, &operation, &record);
        assert_answer(&shelf, now_ms, &operation, &answer("done"));
    }
}

pub(crate) fn t2_a_clock_that_steps_back_loses_nothing(machine: &impl Machine) {
    let operation = identity("a");
    let ahead_ms = NOW_MS + 30 * DAY_MS;
    let shelf = machine.open(ahead_ms);
    complete(&shelf, &operation, ahead_ms, &answer("done"));
    for now_ms in [NOW_MS, 0, ahead_ms] {
        let shelf = machine.open(now_ms);
        assert_record(&shelf, now_ms, &operation, &executed(ahead_ms));
        assert_answer(&shelf, now_ms, &operation, &answer("done"));
    }
}
