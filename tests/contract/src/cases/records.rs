//! Records: what was written is what is read, whoever reads it.

use super::*;
use crate::shelf::Machine;

pub(crate) fn nothing_is_absent(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let found = find(&shelf, NOW_MS, &identity("never-seen"));
    assert!(found.record.is_none() && found.answer.is_none());
    assert_eq!(found.place, Place::Absent);
    assert_eq!(shelf.request(&identity("never-seen")), Ok(None));
    assert_eq!(shelf.next_due(), Ok(None));
}

pub(crate) fn a_claim_is_read_back(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let (operation, record) = (identity("a"), claimed(NOW_MS));
    put(&shelf, NOW_MS, &operation, record.clone(), Written::NOTHING);
    assert_record(&shelf, NOW_MS, &operation, &record);
    assert!(find(&shelf, NOW_MS, &operation).answer.is_none());
}

pub(crate) fn what_was_written_outlives_its_object(machine: &impl Machine) {
    let (operation, record) = (identity("a"), executed(NOW_MS));
    put(
        &machine.open(NOW_MS),
        NOW_MS,
        &operation,
        record.clone(),
        with(&answer("done")),
    );
    for later_ms in [NOW_MS, NOW_MS + 1_000] {
        let successor = machine.open(later_ms);
        assert_record(&successor, later_ms, &operation, &record);
        assert_answer(&successor, later_ms, &operation, &answer("done"));
    }
}

pub(crate) fn operations_do_not_see_each_other(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let names: Vec<String> = (0..100).map(|number| format!("key-{number}")).collect();
    for name in &names {
        complete(&shelf, &identity(name), NOW_MS, &answer(name));
    }
    for name in &names {
        assert_answer(&shelf, NOW_MS, &identity(name), &answer(name));
    }
    assert!(find(&shelf, NOW_MS, &identity("key-100")).record.is_none());
}
