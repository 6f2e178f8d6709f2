//! What is stored before what is done.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::attempt::budget::{Budget, CAPACITY};
use crate::attempt::flow::{Act, Flow, Moment, Order, Step, Wish};
use crate::attempt::record::{Naming, Phase, Record};
use crate::intent::InstallSecret;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A browser: what it stores, and its clock.
struct Page {
    stored: Option<Record>,
    wall_ms: u64,
    budget: Budget,
}

impl Page {
    fn new() -> Self {
        Self {
            stored: None,
            wall_ms: 1_000 * DAY_MS,
            budget: Budget::default(),
        }
    }

    fn order(&mut self, wish: Wish, digest: &str) -> (Flow, Act) {
        let order = Order {
            wish,
            naming: naming(),
            digest: digest.to_string(),
            proven: true,
            config: CONFIG,
            seed: 1,
        };
        let (flow, step) = Flow::start(order, self.moment(0));
        (flow, self.keep(step))
    }

    fn next(&mut self, flow: Flow, event: Event) -> (Flow, Act) {
        let (flow, step) = flow.next(event, None, self.moment(1_000)).unwrap();
        (flow, self.keep(step))
    }

    fn keep(&mut self, step: Step) -> Act {
        if step.write.is_some() {
            self.stored = step.write;
        }
        step.act
    }

    fn moment(&mut self, now_ms: u64) -> Moment<'_> {
        Moment {
            now_ms,
            wall_ms: self.wall_ms,
            stored: self.stored.clone(),
            budget: &mut self.budget,
        }
    }

    fn record(&self) -> &Record {
        self.stored.as_ref().unwrap()
    }
}

fn naming() -> Naming {
    Naming::Derived {
        secret: InstallSecret::from_random([7; 32]),
        intent: "cart-42".to_string(),
    }
}

fn answered(word: Status) -> Event {
    Event::Answered(status(word))
}

fn end_of(act: Act) -> End {
    match act {
        Act::Finish { end, .. } => end,
        act => panic!("{act:?} is no end"),
    }
}

#[test]
fn the_key_is_stored_in_the_step_that_sends_it() {
    let mut page = Page::new();
    let (flow, act) = page.order(Wish::Submit, "a");
    assert!(matches!(act, Act::Send { .. }));
    assert_eq!(page.record(), flow.record());
    assert_eq!((page.record().phase, page.record().sends), (Phase::Open, 1));
    assert_eq!(page.record().key, naming().begin(0).key);
}

#[test]
fn t4_executed_stays_and_refused_raises_the_epoch() {
    for (word, phase, epoch) in [
        (Status::Executed, Phase::Executed, 0),
        (Status::Refused, Phase::None, 1),
        (Status::Cancelled, Phase::None, 1),
    ] {
        let mut page = Page::new();
        let (flow, _) = page.order(Wish::Submit, "a");
        page.next(flow, answered(word));
        assert_eq!((page.record().phase, page.record().epoch), (phase, epoch));
    }
}

#[test]
fn t4_what_runs_into_trouble_keeps_its_record() {
    let mut page = Page::new();
    let (flow, _) = page.order(Wish::Submit, "a");
    let before = page.stored.clone();
    page.next(flow, Event::Aborted);
    assert_eq!(page.stored, before);
}

#[test]
fn t3_a_key_that_is_too_old_is_looked_up_and_neither_sent_nor_cancelled() {
    for wish in [Wish::Submit, Wish::LookUp, Wish::Cancel] {
        let mut page = Page::new();
        page.order(Wish::Submit, "a");
        page.wall_ms += DAY_MS;
        let before = page.stored.clone();
        let (flow, act) = page.order(wish, "a");
        assert!(matches!(act, Act::Look { .. }), "{wish:?}");
        let (_, act) = page.next(flow.clone(), look::seen(None));
        assert!(matches!(end_of(act), End::Unknown(_)), "{wish:?}");
        assert_eq!(page.stored, before);
        let (_, act) = page.next(flow, look::seen(Some(Outcome::Executed)));
        assert!(matches!(end_of(act), End::Done { .. }), "{wish:?}");
        assert_eq!(page.record().phase, Phase::Executed);
    }
}

#[test]
fn t4_an_executed_intent_is_done_whatever_is_asked() {
    for wish in [Wish::LookUp, Wish::Cancel] {
        let mut page = Page::new();
        let (flow, _) = page.order(Wish::Submit, "a");
        page.next(flow, answered(Status::Executed));
        let (_, act) = page.order(wish, "");
        let done = End::Done {
            replayed: true,
            changed: false,
        };
        assert_eq!(end_of(act), done);
    }
}

#[test]
fn a_changed_payload_at_a_gate_that_is_known_is_settled_first() {
    let mut page = Page::new();
    page.order(Wish::Submit, "a");
    page.stored.as_mut().unwrap().lifetime_ms = Some(7 * DAY_MS);
    let first = page.record().key.clone();
    let (flow, act) = page.order(Wish::Submit, "b");
    assert!(matches!(act, Act::Look { .. }));
    let (flow, act) = page.next(flow, look::seen(None));
    assert!(matches!(act, Act::Cancel { .. }));
    assert_eq!(
        (page.record().epoch, page.record().digest.as_str()),
        (0, "a")
    );
    let (_, act) = page.next(flow, look::seen(Some(Outcome::Cancelled)));
    assert!(matches!(act, Act::Send { .. }));
    assert_eq!(
        (page.record().epoch, page.record().digest.as_str()),
        (1, "b")
    );
    assert_ne!(page.record().key, first);
}

#[test]
fn a_field_that_does_not_count_makes_no_other_payload() {
    let executed = key_reused(Some(Outcome::Executed), false);
    let ends = |sends: &[&str]| {
        let mut page = Page::new();
        let (mut flow, _) = page.order(Wish::Submit, sends[0]);
        for digest in &sends[1..] {
            flow = page.order(Wish::Submit, digest).0;
        }
        end_of(page.next(flow, Event::Answered(executed)).1)
    };
    let done = |changed| End::Done {
        replayed: true,
        changed,
    };
    assert_eq!(ends(&["a", "a"]), done(false));
    assert_eq!(ends(&["a", "b"]), done(true));
    // Which of them was executed, nobody knows.
    assert_eq!(ends(&["a", "b", "b"]), done(true));
}

#[test]
fn an_executed_key_that_several_payloads_were_sent_under_may_be_an_earlier_ones() {
    let mut page = Page::new();
    page.order(Wish::Submit, "a");
    let (flow, _) = page.order(Wish::Submit, "b");
    let turned_away = Answer {
        gate: true,
        problem: Problem {
            retryable: Some(false),
            ..Problem::default()
        },
        ..bare(413)
    };
    let (flow, act) = page.next(flow, Event::Answered(turned_away));
    assert!(matches!(act, Act::Cancel { .. }));
    let (_, act) = page.next(flow, look::seen(Some(Outcome::Executed)));
    let earlier = End::Done {
        replayed: true,
        changed: true,
    };
    assert_eq!(end_of(act), earlier);
}

#[test]
fn what_the_gate_says_of_the_lifetime_does_not_undo_what_another_tab_has_stored() {
    let mut page = Page::new();
    let (first, _) = page.order(Wish::Submit, "a");
    page.order(Wish::Submit, "b");
    let busy = Event::Answered(status(Status::InProgress));
    let (_, step) = first.next(busy, Some(DAY_MS), page.moment(1_000)).unwrap();
    page.keep(step);
    let record = page.record();
    assert_eq!((record.digest.as_str(), record.mixed), ("b", true));
    assert_eq!(record.lifetime_ms, Some(DAY_MS));
}

#[test]
fn no_step_writes_over_what_another_tab_has_reached() {
    let mut page = Page::new();
    let (flow, _) = page.order(Wish::Submit, "a");
    let further = Record {
        phase: Phase::Executed,
        ..naming().begin(0)
    };
    page.stored = Some(further.clone());
    let (_, act) = page.next(flow.clone(), Event::NetworkError);
    assert!(matches!(act, Act::Wait { .. }));
    assert_eq!(page.record(), &further);
    page.stored = Some(naming().begin(3));
    page.next(flow, answered(Status::Refused));
    assert_eq!(page.record().epoch, 3);
}

#[test]
fn repetitions_wait_their_turn_and_first_sends_do_not() {
    let mut page = Page::new();
    let mut longest_ms = 0;
    for _ in 0..2 * CAPACITY {
        let (flow, act) = page.order(Wish::Submit, "a");
        assert!(matches!(act, Act::Send { .. }));
        match page.next(flow, Event::NetworkError).1 {
            Act::Wait { until_ms, .. } => longest_ms = longest_ms.max(until_ms),
            act => assert_eq!(end_of(act), End::Unknown(Why::Deadline)),
        }
    }
    assert!((20_000..90_000).contains(&longest_ms), "{longest_ms}");
}

#[test]
fn an_operation_without_an_intent_draws_its_keys() {
    let naming = Naming::Drawn {
        random: [0xff; 10],
        wall_ms: 0x0192_3456_789a,
    };
    let keys = [0, 1].map(|epoch| naming.begin(epoch).key);
    assert_eq!(keys[0], "01923456-789a-7fff-bfff-ffffffffffff");
    assert_ne!(keys[0], keys[1]);
}
