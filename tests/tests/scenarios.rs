//! The stories that the product is made for, told one by one.

use oncegate_core::proof::Origin;
use oncegate_tests::{Business, Chaos, DECLINED, Ending, Fate, Story, Told};

const CARD: u8 = 1;
const OTHER_CARD: u8 = 2;

fn executed() -> Fate {
    Fate::executed()
}

#[test]
fn a_purchase_is_charged_once() {
    Story::of_customer_with(&[])
        .pays_in_a_tab(CARD)
        .ends(&[Told::Done], 1);
}

#[test]
fn an_answer_that_is_lost_after_execution_is_found_again() {
    Story::of_customer_with(&[])
        .origin_will(&[executed().ending(Ending::Drops)])
        .pays_in_a_tab(CARD)
        .ends(&[Told::Done], 1);
}

#[test]
fn a1_a_bare_503_after_the_commit_twice_proves_nothing() {
    let proxy = executed().ending(Ending::Bare(503));
    Story::of_customer_with(&[])
        .origin_will(&[proxy, proxy])
        .pays_in_a_tab(CARD)
        .ends(&[Told::Done], 1);
}

#[test]
fn a1_an_honest_503_twice_is_sent_again() {
    let honest = executed().but(Business::FailsHonestly);
    Story::of_customer_with(&[])
        .origin_will(&[honest, honest])
        .pays_in_a_tab(CARD)
        .ends(&[Told::Done], 1);
}

/// The story that no index over one key prevents: the refusal must bar the attempt that is late.
#[test]
fn l4_a_first_attempt_that_wakes_up_after_the_second_was_refused_does_nothing() {
    let slow = executed().late_by(300_000);
    let declined = executed().but(Business::Refuses);
    Story::of_customer_with(&[CARD])
        .origin_will(&[slow, declined])
        .pays_in_a_tab(CARD)
        .ends(&[Told::Done], 1);
}

#[test]
fn l4_a_refusal_while_the_first_attempt_is_at_work_answers_with_what_it_did() {
    let slow = Fate {
        work_ms: 33_000,
        ..executed()
    };
    let declined = executed().but(Business::Refuses);
    Story::of_customer_with(&[CARD])
        .origin_will(&[slow, declined, declined, declined])
        .pays_in_a_tab(CARD)
        .ends(&[Told::Done], 1);
}

#[test]
fn t4_a_customer_who_gives_up_after_a_refusal_is_not_charged() {
    Story::of_customer_with(&[])
        .pays_in_a_tab(DECLINED)
        .ends(&[Told::Failed], 0);
}

#[test]
fn t4_a_customer_who_pays_with_another_card_is_charged_once() {
    Story::of_customer_with(&[OTHER_CARD])
        .pays_in_a_tab(DECLINED)
        .ends(&[Told::Done], 1);
}

#[test]
fn an_origin_that_stops_and_starts_is_waited_for() {
    Story::of_customer_with(&[])
        .origin_will(&[Fate {
            work_ms: 500,
            ..executed()
        }])
        .pays_in_a_tab(CARD)
        .after_ms(200)
        .strikes(Chaos::OriginStops)
        .after_ms(15_000)
        .strikes(Chaos::OriginStarts)
        .ends(&[Told::Done], 1);
}

#[test]
fn i2_a_gate_that_is_evicted_in_mid_flight_keeps_the_attempt() {
    Story::of_customer_with(&[])
        .origin_will(&[Fate {
            work_ms: 2_000,
            ..executed()
        }])
        .pays_in_a_tab(CARD)
        .after_ms(1_000)
        .strikes(Chaos::Evict)
        .after_ms(500)
        .strikes(Chaos::Evict)
        .ends(&[Told::Done], 1);
}

#[test]
fn i2_without_a_ledger_an_evicted_gate_sends_nothing_twice() {
    Story::at(Origin::None, &[])
        .origin_will(&[Fate {
            work_ms: 2_000,
            ..executed()
        }])
        .pays_in_a_tab(CARD)
        .after_ms(1_000)
        .strikes(Chaos::Evict)
        .pays_in_a_tab(CARD)
        .ends(&[Told::Done, Told::Done], 1);
}

#[test]
fn a_courier_that_dies_after_the_commit_leaves_the_answer_in_the_ledger() {
    Story::of_customer_with(&[])
        .origin_will(&[Fate {
            answers_after_ms: 10_000,
            ..executed()
        }])
        .pays_in_a_tab(CARD)
        .after_ms(1_000)
        .strikes(Chaos::CouriersDie)
        .ends(&[Told::Done], 1);
}

/// The gate that called the courier is gone too: only the lease tells that the attempt is lost.
#[test]
fn a_courier_that_dies_unseen_is_replaced_after_the_lease() {
    Story::of_customer_with(&[])
        .origin_will(&[Fate {
            answers_after_ms: 10_000,
            ..executed()
        }])
        .pays_in_a_tab(CARD)
        .after_ms(1_000)
        .strikes(Chaos::Evict)
        .strikes(Chaos::CouriersDie)
        .ends(&[Told::Done], 1);
}

#[test]
fn i5_without_a_ledger_a_dead_courier_leaves_an_unknown_operation() {
    Story::at(Origin::None, &[])
        .origin_will(&[Fate {
            answers_after_ms: 10_000,
            ..executed()
        }])
        .pays_in_a_tab(CARD)
        .after_ms(1_000)
        .strikes(Chaos::CouriersDie)
        .ends(&[Told::Nothing], 1);
}

#[test]
fn a_double_click_and_a_second_tab_are_one_purchase() {
    Story::of_customer_with(&[])
        .pays_in_a_tab(CARD)
        .after_ms(40)
        .pays_again_in(0, CARD)
        .pays_in_a_tab(CARD)
        .ends(&[Told::Done, Told::Done], 1);
}

#[test]
fn a_reload_in_mid_flight_keeps_the_key() {
    Story::of_customer_with(&[])
        .origin_will(&[Fate {
            work_ms: 5_000,
            ..executed()
        }])
        .pays_in_a_tab(CARD)
        .after_ms(1_000)
        .reloads(0, CARD)
        .ends(&[Told::Done], 1);
}

#[test]
fn l6_an_operator_who_cancels_first_bars_the_attempt_that_is_late() {
    Story::of_customer_with(&[CARD])
        .origin_will(&[executed().late_by(60_000)])
        .pays_in_a_tab(CARD)
        .after_ms(1_000)
        .strikes(Chaos::CancelAtOrigin)
        .ends(&[Told::Done], 1);
}

#[test]
fn t2_a_clock_that_jumps_ends_leases_early_and_charges_once() {
    Story::of_customer_with(&[])
        .origin_will(&[Fate {
            work_ms: 8_000,
            ..executed()
        }])
        .pays_in_a_tab(CARD)
        .after_ms(1_000)
        .strikes(Chaos::ClockJumps(120_000))
        .pays_in_a_tab(CARD)
        .after_ms(3_000)
        .strikes(Chaos::ClockJumps(-240_000))
        .ends(&[Told::Done, Told::Done], 1);
}
