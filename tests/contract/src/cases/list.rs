//! The list of what the alarm has to see to, and the list of what is open.

use oncegate_core::operation::TroubleState;
use oncegate_store::Attention;

use super::*;
use crate::shelf::Machine;

pub(crate) fn the_list_gives_what_is_due_and_no_more(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let [first, second, third] = ["a", "b", "c"].map(identity);
    for (operation, due_ms) in [(third, 300), (first, 100), (second, 200)] {
        assert_eq!(shelf.note(&operation, due_ms), Ok(true));
    }
    assert_eq!(shelf.note(&second, 1), Ok(false), "it is on the list");
    assert_eq!(shelf.next_due(), Ok(Some(100)));
    assert_eq!(due(&shelf, 99, 40), []);
    assert_eq!(due(&shelf, 200, 40), [first, second]);
    let longest_waiting = due(&shelf, 1_000, 2);
    assert_eq!(longest_waiting, [first, second]);
}

pub(crate) fn the_list_keeps_what_was_tried_and_told(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let operation = identity("a");
    shelf.note(&operation, 100).expect("it is noted");
    let tried = Attention {
        operation,
        due_ms: 500,
        settle_ms: 9_000,
        tries: 3,
        told: None,
    };
    shelf.postpone(tried).expect("it is postponed");
    assert_eq!(shelf.due(500, 40), Ok(vec![tried]));
    let held = Some(TroubleState::Held);
    shelf.heard(&operation, held, 500).expect("it was heard");
    let told = Attention {
        due_ms: 9_000,
        told: held,
        ..tried
    };
    assert_eq!(shelf.due(8_999, 40), Ok(vec![]), "nothing to do before");
    assert_eq!(shelf.due(9_000, 40), Ok(vec![told]));
}

pub(crate) fn what_has_changed_meanwhile_stays_on_the_list(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let operation = identity("a");
    assert_eq!(shelf.hurry(&operation, 50), Ok(false), "it is not on it");
    shelf.note(&operation, 900).expect("it is noted");
    assert_eq!(shelf.hurry(&operation, 50), Ok(true));
    assert_eq!(shelf.hurry(&operation, 70), Ok(true), "never later");
    for late in [900, 70] {
        shelf.rest(&operation, late).expect("it is left alone");
        let heard = shelf.heard(&operation, Some(TroubleState::Unknown), late);
        heard.expect("it was heard");
        assert_eq!(due(&shelf, 50, 40), [operation]);
    }
    shelf.rest(&operation, 50).expect("it is taken off");
    shelf
        .rest(&operation, 50)
        .expect("and may be taken off again");
    assert_eq!(shelf.next_due(), Ok(None));
}

pub(crate) fn the_list_outlives_turns_and_objects(machine: &impl Machine) {
    let operation = identity("a");
    let shelf = machine.open(NOW_MS);
    put(
        &shelf,
        NOW_MS,
        &operation,
        claimed(NOW_MS),
        Written::NOTHING,
    );
    shelf.note(&operation, NOW_MS).expect("it is noted");
    for spans in [1, 2, 50] {
        let now_ms = NOW_MS + spans * SPAN_MS;
        let shelf = machine.open(now_ms);
        assert_record(&shelf, now_ms, &operation, &claimed(NOW_MS));
        assert_eq!(due(&shelf, now_ms, 40), [operation]);
    }
}

pub(crate) fn what_is_open_is_found_by_looking_at_some_at_a_time(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let later_ms = NOW_MS + SPAN_MS;
    let (mut open, mut all) = (Vec::new(), Vec::new());
    for number in 0..40 {
        let operation = identity(&format!("key-{number}"));
        // Some are written in this span, some in the next, some in both; every third is settled.
        let now_ms = if number < 25 { NOW_MS } else { later_ms };
        put(
            &shelf,
            now_ms,
            &operation,
            claimed(now_ms),
            Written::NOTHING,
        );
        if number % 5 == 0 {
            let lost = answered(claimed(now_ms), later_ms, 1, "unknown").0;
            put(&shelf, later_ms, &operation, lost, Written::NOTHING);
        }
        if number % 3 == 0 {
            put(
                &shelf,
                later_ms,
                &operation,
                executed(now_ms),
                Written::NOTHING,
            );
        } else {
            open.push(operation);
        }
    }
    open.sort_by_key(|operation| *operation.as_bytes());
    let mut after = None;
    let mut looks = 0;
    while let Ok(found) = shelf.open_after(after.as_ref(), 7) {
        all.extend(found.open);
        looks += 1;
        after = found.last;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((all, looks), (open, 6));
}

fn due(shelf: &impl Shelf, now_ms: u64, limit: u64) -> Vec<Identity> {
    let due = shelf.due(now_ms, limit).expect("the list is read");
    due.into_iter()
        .map(|attention| attention.operation)
        .collect()
}
