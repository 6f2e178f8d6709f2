//! Requests that the gate can send by itself: kept as long as they may be needed, and not longer.

use oncegate_store::StoredRequest;

use super::*;
use crate::shelf::Machine;

fn request() -> StoredRequest<Bytes> {
    StoredRequest {
        head: r#"{"path":"/orders?a=%20"}"#.to_owned(),
        body: Some(vec![0, 255, 10, 13]),
    }
}

fn claim_with_request(shelf: &impl Shelf, operation: &Identity) {
    let written = Written {
        answer: None,
        request: Some(&request()),
    };
    put(shelf, NOW_MS, operation, claimed(NOW_MS), written);
}

pub(crate) fn a_request_is_kept_until_its_operation_is_settled(machine: &impl Machine) {
    let shelf = machine.open(NOW_MS);
    let operation = identity("a");
    claim_with_request(&shelf, &operation);
    assert_eq!(shelf.request(&operation), Ok(Some(request())));
    let lost = answered(claimed(NOW_MS), NOW_MS, 1, "unknown").0;
    put(&shelf, NOW_MS, &operation, lost.clone(), Written::NOTHING);
    assert_eq!(shelf.request(&operation), Ok(Some(request())));
    let done = answered(lost, NOW_MS, 1, "executed").0;
    put(&shelf, NOW_MS, &operation, done, with(&answer("done")));
    assert_eq!(shelf.request(&operation), Ok(None));
    // Not even if one is given with it.
    let written = Written {
        answer: None,
        request: Some(&request()),
    };
    put(&shelf, NOW_MS, &operation, executed(NOW_MS), written);
    assert_eq!(shelf.request(&operation), Ok(None));
    assert_answer(&shelf, NOW_MS, &operation, &answer("done"));
}

pub(crate) fn a_request_is_kept_over_turns_and_writes(machine: &impl Machine) {
    let operation = identity("a");
    claim_with_request(&machine.open(NOW_MS), &operation);
    let mut record = claimed(NOW_MS);
    for turn in 1..=4 {
        let now_ms = NOW_MS + turn * SPAN_MS;
        let shelf = machine.open(now_ms);
        assert_record(&shelf, now_ms, &operation, &record);
        assert_eq!(shelf.request(&operation), Ok(Some(request())));
        record = answered(record, now_ms, 1, "unknown").0;
        put(&shelf, now_ms, &operation, record.clone(), Written::NOTHING);
        assert_eq!(shelf.request(&operation), Ok(Some(request())));
    }
}
