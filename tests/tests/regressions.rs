//! What chance found, told as stories, so that it stays found however worlds are drawn later.

use oncegate_core::key::KeyKind;
use oncegate_core::proof::Origin;
use oncegate_tests::{Business, DECLINED, Ending, Fate, Faults, Hop, Rates, Settings, Story, Told};

const CARD: u8 = 1;
const OTHER_CARD: u8 = 2;

/// The customer loses the answer, reloads, and types another card: the gate must not
/// send that one (the first may be charged), and has nobody to ask for the first one. He would wait
/// for ever if he could not cancel; then he hears what became of the first card.
#[test]
fn k3_another_card_during_an_unknown_operation_learns_what_became_of_the_first_one() {
    Story::of_customer_with(&[])
        .origin_will(&[Fate::executed().ending(Ending::Drops)])
        .pays_in_a_tab(CARD)
        .after_ms(30)
        .reloads(0, OTHER_CARD)
        .ends(&[Told::Done], 1);
}

/// A copy of the first card's request executes after the original had honestly failed;
/// the second card then meets a ledger that knows the key. The 422 is the ledger's own and has no
/// `state`: the gate's status says what became of the operation.
#[test]
fn l5_a_card_that_meets_the_effect_of_another_one_is_done_and_charges_nothing() {
    let copied_once = Faults {
        origin: Hop {
            duplicate: 1_000,
            ..Hop::default()
        },
        calm_ms: 50,
        ..Faults::none()
    };
    let settings = Settings::new(Origin::Ledger, KeyKind::Client);
    let honest = Fate::executed().but(Business::FailsHonestly);
    Story::amid(copied_once, settings, &[])
        .origin_will(&[
            honest,
            Fate {
                work_ms: 3_000,
                ..Fate::executed()
            },
        ])
        .pays_in_a_tab(CARD)
        .after_ms(300)
        .pays_in_a_tab(OTHER_CARD)
        .ends(&[Told::Done, Told::Done], 1);
}

/// Under an order number the first card failed honestly, and while its courier tells the
/// shard again and again, another card is refused. That refusal is not the first card's: a shard that
/// answers the first customer from the record must not say *refused* to a payload that may be sent.
#[test]
fn p4_the_refusal_of_another_card_is_not_told_to_the_one_that_may_be_sent() {
    let unheard = Faults {
        rates: Rates {
            completion_unheard: 1_000,
            ..Rates::default()
        },
        calm_ms: 2_000,
        ..Faults::none()
    };
    let settings = Settings::new(Origin::Ledger, KeyKind::Generated);
    Story::amid(unheard, settings, &[])
        .origin_will(&[Fate::executed().but(Business::FailsHonestly)])
        .pays_in_a_tab(CARD)
        .after_ms(700)
        .pays_in_a_tab(DECLINED)
        .ends(&[Told::Done, Told::Failed], 1);
}
