//! What chance found, told as stories. Each names the seed that showed it first.

use oncegate_tests::{Business, Ending, Fate, Story, Told};

const CARD: u8 = 1;
const OTHER_CARD: u8 = 2;

/// Seed 19445. The customer loses the answer, reloads, and types another card: the gate must not
/// send that one (the first may be charged), and has nobody to ask for the first one. Only the first
/// card settles it. He is never told anything false meanwhile.
#[test]
fn k3_another_card_during_an_unknown_operation_waits_for_the_first_one() {
    Story::of_customer_with(&[])
        .origin_will(&[Fate::executed().ending(Ending::Drops)])
        .pays_in_a_tab(CARD)
        .after_ms(700)
        .reloads(0)
        .pays_in_a_tab(OTHER_CARD)
        .ends(&[Told::Done, Told::Done], 1);
}

/// Seed 45704. A copy of the first card's request executes after the original had honestly failed;
/// the second card then meets a ledger that knows the key. The 422 is the ledger's own and has no
/// `state`: the gate's status says what became of the operation.
#[test]
fn l5_a_card_that_meets_the_effect_of_another_one_is_done_and_charges_nothing() {
    let honest = Fate::executed().but(Business::FailsHonestly);
    Story::with_a_copy_of_the_first_attempt()
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
