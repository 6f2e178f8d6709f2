//! Events are never lost and never executed twice, whatever becomes of deliveries, gates, queues and shops;
//! and it would be seen if a shell, or an operator, got one of these things wrong.

use std::sync::LazyLock;

use oncegate_tests::drawn::{self, Failed};
use oncegate_tests::webhooks::{WebhookBug, WebhookOracle, WebhookSummary, run};

const SEEDS: u64 = 2_000;

static RUNS: LazyLock<Vec<Result<WebhookSummary, Failed<WebhookOracle>>>> =
    LazyLock::new(|| (0..SEEDS).map(|seed| run(seed, None)).collect());

#[track_caller]
fn holds(oracle: WebhookOracle) {
    drawn::holds(&RUNS, oracle);
}

#[track_caller]
fn caught(bug: WebhookBug, by: WebhookOracle) {
    drawn::caught(SEEDS, run, bug, by);
}

#[test]
fn an_event_is_never_lost() {
    holds(WebhookOracle::NeverLost);
    let mut sum = WebhookSummary::default();
    for run in RUNS.iter().flatten() {
        sum.deliveries += run.deliveries;
        sum.refused += run.refused;
        sum.attempts += run.attempts;
        sum.effects += run.effects;
        sum.dead += run.dead;
    }
    println!("{SEEDS} worlds: {sum:?}");
    assert!(sum.effects > SEEDS && sum.dead > 0 && sum.refused > SEEDS);
}

#[test]
fn an_event_is_executed_once_and_a_fact_has_one_effect() {
    holds(WebhookOracle::OnceAnEvent);
    holds(WebhookOracle::OnceAFact);
}

#[test]
fn what_is_acknowledged_was_executed_or_lies_in_the_queue() {
    holds(WebhookOracle::AcknowledgedIsKept);
}

#[test]
fn p7_what_is_refused_is_not_acknowledged_and_nobody_is_told_gone() {
    holds(WebhookOracle::SaidAsItIs);
}

#[test]
fn nothing_is_done_for_what_its_sender_has_not_sent() {
    holds(WebhookOracle::NothingForged);
}

#[test]
fn planted_an_acknowledgement_on_arrival_is_caught() {
    caught(
        WebhookBug::AcknowledgedOnArrival,
        WebhookOracle::AcknowledgedIsKept,
    );
}

#[test]
fn planted_an_acknowledgement_of_what_was_not_stored_is_caught() {
    caught(
        WebhookBug::AcknowledgedUnstored,
        WebhookOracle::AcknowledgedIsKept,
    );
}

#[test]
fn planted_dead_letters_that_are_dropped_are_caught() {
    caught(WebhookBug::DeadLettersDropped, WebhookOracle::NeverLost);
}

#[test]
fn planted_a_shop_without_its_index_is_caught() {
    caught(WebhookBug::IndexMissing, WebhookOracle::OnceAFact);
}

#[test]
fn planted_a_key_of_the_delivery_is_caught() {
    caught(WebhookBug::KeyOfDelivery, WebhookOracle::OnceAnEvent);
}

#[test]
fn planted_a_message_dropped_without_proof_is_caught() {
    caught(WebhookBug::QueueDropsUnproved, WebhookOracle::NeverLost);
}

#[test]
fn planted_a_refusal_that_is_acknowledged_is_caught() {
    caught(WebhookBug::RefusalAcknowledged, WebhookOracle::SaidAsItIs);
}

#[test]
fn planted_a_repetition_that_is_too_old_is_caught() {
    caught(WebhookBug::RepetitionTooOld, WebhookOracle::NeverLost);
}

#[test]
fn planted_a_row_after_the_effect_is_caught() {
    caught(WebhookBug::RowAfterEffect, WebhookOracle::OnceAnEvent);
}

#[test]
fn planted_signatures_that_are_ignored_are_caught() {
    caught(WebhookBug::SignatureIgnored, WebhookOracle::NothingForged);
}

#[test]
fn planted_times_that_are_ignored_are_caught() {
    caught(WebhookBug::TimeIgnored, WebhookOracle::OnceAnEvent);
}
