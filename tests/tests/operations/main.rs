//! Random sequences of everything that can happen to a record: nothing panics, and the invariants of
//! section 2 hold after every step.

mod sequence;

use std::cell::Cell;

use oncegate_core::key::KeyKind;
use oncegate_core::operation::{Admission, Operation, State, Stored};
use oncegate_core::outcome::{Outcome, Status};
use oncegate_core::proof::Origin;
use oncegate_core::recent::REPLAYS_FOR_MS;

use sequence::{Sequence, Step};

const SEQUENCES: u64 = 1_000;
const STEPS: u64 = 40;

/// Runs many sequences and shows each step to `check`, with the record before it.
#[track_caller]
fn always(check: impl Fn(&Sequence, Option<&Operation>, &Step)) {
    for seed in 0..SEQUENCES {
        let mut sequence = Sequence::new(seed);
        for _ in 0..STEPS {
            let before = sequence.record.clone();
            let step = sequence.step();
            check(&sequence, before.as_ref(), &step);
        }
    }
}

#[test]
fn i1_an_attempt_begins_only_where_none_is_open_or_the_ledger_protects() {
    always(|sequence, before, step| {
        let (Some(before), Step::Arrived(Admission::Dispatch(_))) = (before, step) else {
            return;
        };
        let view = before.view(sequence.now_ms);
        let reopened = view.state == State::Refused && sequence.kind == KeyKind::Generated;
        let allowed = before.is_expired(sequence.now_ms)
            || view.state == State::Released
            || view.state == State::Unknown && sequence.origin == Origin::Ledger
            || reopened;
        assert!(allowed, "{before:?} {:?}", sequence.record);
    });
}

#[test]
fn i2_what_a_dispatch_needs_survives_storage() {
    always(|sequence, _, _| {
        let Some(record) = &sequence.record else {
            return;
        };
        let text = serde_json::to_string(&Stored::from(record.clone())).unwrap();
        let read: Stored = serde_json::from_str(&text).unwrap();
        assert_eq!(&read.into_record(), record);
    });
}

#[test]
fn i3_attempts_are_numbered_without_gaps_and_a_closed_record_stays_closed() {
    always(|sequence, before, step| {
        let Some(before) = before.filter(|before| !before.is_expired(sequence.now_ms)) else {
            return;
        };
        let (old, new) = (
            before.view(sequence.now_ms),
            sequence.record.as_ref().unwrap(),
        );
        let new = new.view(sequence.now_ms);
        match step {
            Step::Arrived(Admission::Dispatch(attempt)) => {
                assert_eq!(*attempt, old.attempts + 1);
            }
            _ => assert_eq!(new.attempts, old.attempts),
        }
        // Contradicted by proof, a closed record counts as executed.
        let kept = new.state == old.state || new.disputed;
        let is_closed = matches!(old.state, State::Cancelled | State::Executed);
        assert!(!is_closed || kept, "{old:?} {new:?}");
        // Only another card for the same order opens a refusal again (P4).
        let reopens = matches!(step, Step::Arrived(_)) && sequence.kind == KeyKind::Generated;
        assert!(old.state != State::Refused || kept || reopens);
    });
}

#[test]
fn i3_an_attempt_that_was_settled_says_nothing_more_unless_it_executed() {
    always(|sequence, before, step| {
        let (
            Some(before),
            Step::Settled {
                outcome,
                was_open: false,
                ..
            },
        ) = (before, step)
        else {
            return;
        };
        let settled_all = before.view(sequence.now_ms).unsettled == 0;
        let may_speak = *outcome == Some(Outcome::Executed) || outcome.is_none();
        if settled_all && !may_speak {
            let after = sequence.record.as_ref().unwrap().view(sequence.now_ms);
            assert_eq!(after.state, before.view(sequence.now_ms).state);
        }
    });
}

#[test]
fn i4_only_a_dispatch_changes_the_record_on_arrival() {
    always(|sequence, before, step| {
        if let (Some(before), Step::Arrived(admission)) = (before, step)
            && !matches!(admission, Admission::Dispatch(_))
        {
            assert_eq!(sequence.record.as_ref(), Some(before));
        }
    });
}

#[test]
fn i5_a_record_without_proof_or_in_dispute_is_kept_for_ever() {
    always(|sequence, _, _| {
        let Some(record) = &sequence.record else {
            return;
        };
        let view = record.view(sequence.now_ms);
        if view.disputed || matches!(view.state, State::Dispatched | State::Unknown) {
            assert!(!record.is_expired(u64::MAX));
            assert_eq!(record.keep_until_ms(), None);
        }
    });
}

#[test]
fn i6_an_executed_operation_is_not_run_again_before_its_key_expires() {
    always(|sequence, before, step| {
        if let (Some(before), Step::Arrived(Admission::Dispatch(_))) = (before, step) {
            let executed = before.view(sequence.now_ms).state == State::Executed;
            assert!(!executed || before.is_expired(sequence.now_ms));
        }
    });
}

#[test]
fn i6_what_is_given_again_for_a_moment_would_be_replayed_until_its_end() {
    let given = Cell::new(0);
    always(|sequence, _, _| {
        let Some(record) = &sequence.record else {
            return;
        };
        let for_ms = record.replays_for_ms(sequence.now_ms);
        assert!(for_ms <= REPLAYS_FOR_MS);
        // An answer that came with a cancellation may be of a request that has never arrived.
        let Some(fingerprint) = record.fingerprint().filter(|_| for_ms > 0) else {
            return;
        };
        given.set(given.get() + 1);
        let last_ms = sequence.now_ms + for_ms - 1;
        let view = record.view(last_ms);
        assert_eq!((view.state, view.disputed), (State::Executed, false));
        let (kind, terms) = (record.kind(), record.terms().clone());
        let same = Some(record.clone());
        let (_, admission) = Operation::arrive(same, last_ms, kind, &terms, None, fingerprint);
        assert_eq!(admission, Admission::Replay);
        let erased = record.clone().erase(sequence.now_ms);
        assert_eq!(
            erased.map(|record| record.replays_for_ms(sequence.now_ms)),
            Ok(0)
        );
    });
    assert!(given.get() > 0);
}

#[test]
fn i7_a_settled_state_other_than_executed_has_no_unsettled_attempt() {
    always(|sequence, _, _| {
        let Some(record) = &sequence.record else {
            return;
        };
        let view = record.view(sequence.now_ms);
        if matches!(
            view.state,
            State::Refused | State::Released | State::Cancelled
        ) {
            assert_eq!(view.unsettled, 0, "{record:?}");
        }
    });
}

#[test]
fn i7_executed_wins_whatever_the_other_attempts_say() {
    always(|sequence, before, step| {
        let (
            Some(before),
            Step::Settled {
                outcome: Some(Outcome::Executed),
                attempt,
                ..
            },
        ) = (before, step)
        else {
            return;
        };
        let old = before.view(sequence.now_ms);
        let new = sequence.record.as_ref().unwrap().view(sequence.now_ms);
        let closed = matches!(old.state, State::Cancelled | State::Refused);
        assert!(*attempt <= new.attempts);
        assert_eq!((new.state, new.executed), (State::Executed, Some(true)));
        assert!(!closed || new.disputed);
    });
}

#[test]
fn i8_a_new_key_is_safe_only_where_nothing_happened_or_can() {
    always(|sequence, _, _| {
        let Some(record) = &sequence.record else {
            return;
        };
        let view = record.view(sequence.now_ms);
        if view.safe_new_key {
            assert_eq!((view.executed, view.unsettled), (Some(false), 0));
            let refused = view.state == State::Refused && sequence.kind != KeyKind::Generated;
            assert!(refused || view.state == State::Cancelled, "{record:?}");
        }
    });
}

#[test]
fn p3_the_status_is_the_operations_and_never_one_attempts() {
    always(|sequence, _, _| {
        let Some(record) = &sequence.record else {
            return;
        };
        let view = record.view(sequence.now_ms);
        let status = view.state.status();
        let says_no = [Status::Refused, Status::Cancelled, Status::NotExecuted].contains(&status);
        assert!(!says_no || view.unsettled == 0, "{record:?}");
    });
}
