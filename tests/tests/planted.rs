//! The witness can see: each bug that is planted is caught, by the sentence that it contradicts.

use oncegate_tests::{Oracle, Plant, World};

/// Within so many worlds each bug must be caught; the rarest takes about a thousand.
const SEEDS: u64 = 10_000;

/// Other sentences may be contradicted before; this one must be, too.
#[track_caller]
fn caught(plant: Plant, by: Oracle) {
    let failures = (0..SEEDS).filter_map(|seed| World::new(seed).with(plant).run().err());
    let mut oracles = Vec::new();
    for failure in failures {
        if failure.violation.oracle == by {
            return println!("{plant:?}: {failure}");
        }
        oracles.push(failure.violation.oracle);
    }
    panic!("{plant:?} was caught by {oracles:?} only, in {SEEDS} worlds");
}

#[test]
fn planted_answer_before_write_is_caught() {
    caught(Plant::AnswerBeforeWrite, Oracle::NothingIsTakenBack);
}

#[test]
fn planted_claim_after_dispatch_is_caught() {
    caught(Plant::ClaimAfterDispatch, Oracle::OneEffectPerKey);
}

#[test]
fn planted_completion_of_newest_is_caught() {
    caught(Plant::CompletionOfNewest, Oracle::NotExecutedIsTrue);
}

#[test]
fn planted_end_before_write_is_caught() {
    caught(Plant::EndBeforeWrite, Oracle::NothingIsTakenBack);
}

#[test]
fn planted_epoch_raised_on_executed_is_caught() {
    caught(Plant::EpochRaisedOnExecuted, Oracle::OneEffectPerPurchase);
}

#[test]
fn planted_fingerprint_ignored_is_caught() {
    caught(Plant::FingerprintIgnored, Oracle::AnswerIsOurs);
}

#[test]
fn planted_headerless_believed_is_caught() {
    caught(Plant::HeaderlessBelieved, Oracle::FailedIsFinal);
}

#[test]
fn planted_key_changed_on_retry_is_caught() {
    caught(Plant::KeyChangedOnRetry, Oracle::OneEffectPerPurchase);
}

#[test]
fn planted_later_not_executed_frees_is_caught() {
    caught(Plant::LaterNotExecutedFrees, Oracle::NotExecutedIsTrue);
}

#[test]
fn planted_lease_over_frees_is_caught() {
    caught(Plant::LeaseOverFrees, Oracle::OneEffectPerKey);
}

#[test]
fn planted_record_lost_on_eviction_is_caught() {
    caught(Plant::RecordLostOnEviction, Oracle::OneEffectPerKey);
}

#[test]
fn planted_refusal_not_committed_is_caught() {
    caught(Plant::RefusalNotCommitted, Oracle::FailedIsFinal);
}

#[test]
fn planted_row_after_effect_is_caught() {
    caught(Plant::RowAfterEffect, Oracle::OneEffectPerKey);
}

#[test]
fn planted_waiter_dispatches_is_caught() {
    caught(Plant::WaiterDispatches, Oracle::OneEffectPerKey);
}

#[test]
fn planted_alarm_throws_is_caught() {
    caught(Plant::AlarmThrows, Oracle::EverythingSettles);
}

#[test]
fn planted_in_progress_is_released_is_caught() {
    caught(Plant::InProgressIsReleased, Oracle::NotExecutedIsTrue);
}

#[test]
fn planted_late_proof_dropped_is_caught() {
    caught(Plant::LateProofDropped, Oracle::ProofCounts);
}

#[test]
fn planted_numbers_as_doubles_is_caught() {
    caught(Plant::NumbersAsDoubles, Oracle::ExecutedIsTrue);
}

#[test]
fn planted_open_rows_dropped_is_caught() {
    caught(Plant::OpenRowsDropped, Oracle::OneEffectPerKey);
}

#[test]
fn planted_principal_ignored_is_caught() {
    caught(Plant::PrincipalIgnored, Oracle::AnswerIsOurs);
}

#[test]
fn planted_refusal_replayed_to_others_is_caught() {
    caught(Plant::RefusalReplayedToOthers, Oracle::AnswerIsOurs);
}

#[test]
fn planted_scope_from_user_is_caught() {
    caught(Plant::ScopeFromUser, Oracle::OneEffectPerPurchase);
}

#[test]
fn planted_stub_error_is_origin_error_is_caught() {
    caught(Plant::StubErrorIsOriginError, Oracle::NotExecutedIsTrue);
}

#[test]
fn planted_ttl_is_lease_is_caught() {
    caught(Plant::TtlIsLease, Oracle::OneEffectPerKey);
}

#[test]
fn planted_unknown_version_is_absent_is_caught() {
    caught(Plant::UnknownVersionIsAbsent, Oracle::OneEffectPerKey);
}

#[test]
fn planted_waiter_releases_is_caught() {
    caught(Plant::WaiterReleases, Oracle::OneEffectPerKey);
}
