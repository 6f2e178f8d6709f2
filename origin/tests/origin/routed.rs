//! Rule L3 over several databases: a key, its row and its effect are in one of them, always the same.

use oncegate_core::key::KeyKind;
use oncegate_origin::ledger::{Call, Effect, Ledger, Routed, Verdict};
use oncegate_origin::sql::Dialect;

use crate::books::Books;
use crate::fixture::{Fixture, answer, call, executed, never, on_database, take};

const KEYS: usize = 20;

fn order(number: usize) -> Call {
    call(&format!("order-{number}"), 'a', KeyKind::Client)
}

async fn run<DB: Dialect>(ledger: Ledger<DB>, call: Call) -> Verdict {
    let effect =
        async |connection: &mut DB::Connection| take::<DB>(connection, Ok(executed("first"))).await;
    ledger.once(&call, effect).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l3_keys_are_routed_over_two_databases_and_each_is_executed_once() {
    on_database!(|one| {
        let two = Fixture::<DB>::on(Books::new().await).await;
        let routed = Routed::new(one.ledger.clone(), vec![two.ledger.clone()]);
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..5 * KEYS {
            let call = order(number % KEYS);
            calls.spawn(run(routed.of(&call.key).clone(), call));
        }
        assert!(
            calls
                .join_all()
                .await
                .iter()
                .all(|verdict| *verdict == Verdict::Executed(answer("first")))
        );
        let effects = [one.effects().await, two.effects().await];
        assert!(effects[0] > 0 && effects[1] > 0, "{effects:?}");
        assert_eq!(effects[0] + effects[1], 20);
        assert_eq!(effects, [one.rows().await, two.rows().await]);
    });
}

/// Another process routes alike, whatever it is asked; and each database answers for its own keys alone.
#[tokio::test]
async fn l3_another_process_finds_a_key_where_the_first_one_left_it() {
    on_database!(|one| {
        let two = Fixture::<DB>::on(Books::new().await).await;
        let routed = Routed::new(one.ledger.clone(), vec![two.ledger.clone()]);
        let other = Routed::new(one.another_ledger().await, vec![two.another_ledger().await]);
        for number in 0..KEYS {
            let call = order(number);
            let ledger = routed.of(&call.key);
            match number % 3 {
                0 => assert_eq!(
                    run(ledger.clone(), call).await,
                    Verdict::Executed(answer("first"))
                ),
                1 => assert_eq!(ledger.cancel(&call).await.unwrap(), Verdict::Cancelled),
                _ => {
                    let no = async |_: &mut DB::Connection| Ok(Effect::Refused(answer("no")));
                    ledger.once(&call, no).await.unwrap();
                }
            }
        }
        for number in 0..KEYS {
            let call = order(number);
            let found = other.of(&call.key).once(&call, never::<DB>).await.unwrap();
            let expected = match number % 3 {
                0 => Verdict::Executed(answer("first")),
                1 => Verdict::Cancelled,
                _ => Verdict::Refused(answer("no")),
            };
            assert_eq!(found, expected, "order {number}");
        }
        let mut rows = 0;
        for ledger in other.all() {
            for number in 0..KEYS {
                rows += usize::from(ledger.probe(&order(number)).await.unwrap().is_some());
            }
        }
        assert_eq!(rows, KEYS, "each key is in one database");
    });
}
