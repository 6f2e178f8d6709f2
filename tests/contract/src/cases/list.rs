//! The list of what the alarm has to see to, and the list of what is open.

use oncegate_store::Told;

use super::*;
use crate::shelf::Machine;

pub(crate) fn the_list_gives_what_is_due_and_no_more(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let [first, second, third] = ["a", "b", "c"].map(identity);
    for (operation, due_ms) in [(third, 300), (first, 100), (second, 200), (second, 900)] {
        shelf.attend(&operation, due_ms).expect("it is attended");
    }
    assert_eq!(shelf.next_due(), Ok(Some(100)));
    assert_eq!(due(&shelf, 99, 40), []);
    assert_eq!(due(&shelf, 200, 40), [first, second]);
    assert_eq!(
        due(&shelf, 1_000, 2),
        [first, second],
        "the longest waiting first"
    );
    let tried = oncegate_store::Attention {
        tries: 3,
        told: Told::Held,
        ..shelf.due(100, 1).expect("the list is read")[0]
    };
    shelf.postpone(tried, 5_000).expect("it is postponed");
    assert_eq!(due(&shelf, 1_000, 40), [second, third]);
    shelf.rest(&second).expect("it is taken off");
    shelf.rest(&second).expect("and may be taken off again");
    assert_eq!(due(&shelf, 5_000, 40), [third, first]);
    assert_eq!(shelf.due(5_000, 40).expect("the list is read")[1], tried);
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
    shelf.attend(&operation, NOW_MS).expect("it is attended");
    for spans in [1, 2, 50] {
        let now_ms = NOW_MS + spans * SPAN_MS;
        let shelf = machine.open(now_ms);
        assert_record(&shelf, now_ms, &operation, &claimed(NOW_MS));
        assert_eq!(due(&shelf, now_ms, 40), [operation]);
    }
}

pub(crate) fn what_is_open_is_listed_page_by_page(machine: &impl Machine) {
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
    while let Ok(page) = shelf.open_after(after.as_ref(), 7) {
        assert!(page.len() <= 7);
        let Some((last, _)) = page.last() else { break };
        after = Some(*last);
        all.extend(page.into_iter().map(|(operation, _)| operation));
    }
    assert_eq!(all, open);
}

fn due(shelf: &impl Shelf, now_ms: u64, limit: u64) -> Vec<Identity> {
    let due = shelf.due(now_ms, limit).expect("the list is read");
    due.into_iter()
        .map(|attention| attention.operation)
        .collect()
}
