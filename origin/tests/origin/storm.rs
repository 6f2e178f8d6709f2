//! Many at once: rules L3 and L5 where attempts meet in the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use oncegate_core::key::KeyKind;
use oncegate_origin::ledger::{Call, Failure, Ledger, Verdict};
use oncegate_origin::sql::{Dialect, Statements};
use tokio::sync::{Barrier, Notify};

use crate::books::Kind;
use crate::fixture::{Fixture, answer, call, executed, never, on_database, take};
use crate::shop::queue_up;

/// The articles' figure: a hundred callers send one payment number a thousand times. They come through
/// four processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l3_a_hundred_callers_with_one_payment_number_make_one_charge() {
    on_database!(|fixture| {
        let mut ledgers = vec![fixture.ledger.clone()];
        for _ in 1..4 {
            ledgers.push(fixture.another_ledger().await);
        }
        let runs = Arc::new(AtomicUsize::new(0));
        let callers: Vec<_> = (0..100)
            .map(|caller| tokio::spawn(pay_ten_times(ledgers[caller % 4].clone(), runs.clone())))
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!((fixture.effects().await, fixture.rows().await), (1, 1));
    });
}

async fn pay_ten_times<DB: Dialect>(ledger: Ledger<DB>, runs: Arc<AtomicUsize>) {
    let call = call("pay-1", 'a', KeyKind::Client);
    for _ in 0..10 {
        let runs = runs.clone();
        let paid = ledger.once(&call, async move |connection: &mut DB::Connection| {
            runs.fetch_add(1, Ordering::SeqCst);
            take::<DB>(connection, Ok(executed("paid"))).await
        });
        assert_eq!(paid.await.unwrap(), Verdict::Executed(answer("paid")));
    }
}

/// Ten pairs, each of which takes two rows crosswise: where rows are locked, one of each pair is given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l4_a_storm_of_deadlocks_is_weathered_and_nothing_is_done_twice() {
    on_database!(|fixture| {
        let rows: Vec<_> = (2..22).map(|id| format!("({id}, 100)")).collect();
        let insert = format!("INSERT INTO mugs (id, stock) VALUES {}", rows.join(", "));
        fixture.books.run(&insert).await;
        let runs = Arc::new(AtomicUsize::new(0));
        let mut attempts = Vec::new();
        for pair in 1..=10 {
            let met = Arc::new(Barrier::new(2));
            for way in [[2 * pair, 2 * pair + 1], [2 * pair + 1, 2 * pair]] {
                let crossing = cross(fixture.ledger.clone(), way, met.clone(), runs.clone());
                attempts.push(tokio::spawn(crossing));
            }
        }
        for attempt in attempts {
            assert_eq!(attempt.await.unwrap(), Verdict::Executed(answer("both")));
        }
        let taken = "SELECT count(*) FROM mugs WHERE id > 1 AND stock = 98";
        assert_eq!(
            (fixture.books.number(taken).await, fixture.rows().await),
            (20, 20)
        );
        let given_up = runs.load(Ordering::SeqCst) - 20;
        match Kind::of_environment() {
            Kind::Sqlite => assert_eq!(given_up, 0),
            Kind::MySql | Kind::Postgres => assert!(given_up >= 10, "{given_up}"),
        }
    });
}

/// Takes one row, meets the other one of the pair, and takes the second row. SQLite lets one after the
/// other in, so there is nobody to meet.
async fn cross<DB: Dialect>(
    ledger: Ledger<DB>,
    way: [i64; 2],
    met: Arc<Barrier>,
    runs: Arc<AtomicUsize>,
) -> Verdict {
    let once = Arc::new(AtomicUsize::new(0));
    ledger
        .once(
            &call(&format!("k{}", way[0]), 'a', KeyKind::Client),
            async move |connection: &mut DB::Connection| {
                runs.fetch_add(1, Ordering::SeqCst);
                let first = once.fetch_add(1, Ordering::SeqCst) == 0;
                let sql = "UPDATE mugs SET stock = stock - 1 WHERE id = ?";
                connection.run(sql, &[way[0].into()]).await?;
                if first && Kind::of_environment() != Kind::Sqlite {
                    met.wait().await;
                }
                connection.run(sql, &[way[1].into()]).await?;
                Ok(executed("both"))
            },
        )
        .await
        .unwrap()
}

/// More duplicates than there are connections wait for one key. Another operation does not wait for them,
/// where the database lets two write at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l5_those_who_wait_for_one_key_keep_nobody_else_from_the_database() {
    on_database!(|fixture| {
        let (inside, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let first = tokio::spawn(hold(&fixture, inside.clone(), go_on.clone()));
        inside.notified().await;
        let mut waiting = Vec::new();
        for _ in 0..40 {
            let (ledger, call) = (fixture.ledger.clone(), call("held", 'a', KeyKind::Client));
            let mut duplicate = Box::pin(async move { ledger.once(&call, never::<DB>).await });
            queue_up(&mut duplicate).await;
            waiting.push(tokio::spawn(duplicate));
        }
        let (ledger, other) = (fixture.ledger.clone(), call("other", 'a', KeyKind::Client));
        let other = tokio::spawn(async move {
            let fine = async move |_: &mut DB::Connection| Ok(executed("fine"));
            ledger.once(&other, fine).await.unwrap()
        });
        if Kind::of_environment() == Kind::Sqlite {
            go_on.notify_one();
        }
        assert_eq!(other.await.unwrap(), Verdict::Executed(answer("fine")));
        go_on.notify_one();
        let first = first.await.unwrap();
        for duplicate in waiting {
            assert_eq!(duplicate.await.unwrap().unwrap(), first);
        }
    });
}

fn hold<DB: Dialect>(
    fixture: &Fixture<DB>,
    inside: Arc<Notify>,
    go_on: Arc<Notify>,
) -> impl Future<Output = Verdict> + Send + 'static {
    let ledger = fixture.ledger.clone();
    async move {
        let effect = async move |connection: &mut DB::Connection| {
            inside.notify_one();
            go_on.notified().await;
            take::<DB>(connection, Ok(executed("first"))).await
        };
        let call = call("held", 'a', KeyKind::Client);
        ledger.once(&call, effect).await.unwrap()
    }
}

/// Another process holds the key. Where rows are locked, the duplicate knows that it is this key.
#[tokio::test]
async fn l5_a_duplicate_waits_five_seconds_for_another_process_and_then_says_what_it_knows() {
    on_database!(|fixture| {
        let (inside, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let first = tokio::spawn(hold(&fixture, inside.clone(), go_on.clone()));
        inside.notified().await;
        let other = fixture.another_ledger().await;
        let held = call("held", 'a', KeyKind::Client);
        let since = Instant::now();
        let ended = other.once(&held, never::<DB>).await;
        let waited = since.elapsed().as_millis();
        assert!((4500..6500).contains(&waited), "{waited}");
        match (Kind::of_environment(), ended) {
            (Kind::Sqlite, Err(Failure::NotExecuted(_))) => {}
            (Kind::MySql | Kind::Postgres, Err(Failure::InProgress)) => {}
            (_, ended) => panic!("{ended:?}"),
        }
        go_on.notify_one();
        assert_eq!(first.await.unwrap(), Verdict::Executed(answer("first")));
        assert_eq!(
            replayed(&other, &held).await,
            Verdict::Executed(answer("first"))
        );
        assert_eq!(fixture.effects().await, 1);
    });
}

async fn replayed<DB: Dialect>(ledger: &Ledger<DB>, call: &Call) -> Verdict {
    ledger.once(call, never::<DB>).await.unwrap()
}

/// PostgreSQL commits nothing after a failed statement; the others go on. Either way, row and effect agree.
#[tokio::test]
async fn l3_an_effect_that_swallows_an_error_of_the_database_is_whole_or_not_at_all() {
    on_database!(|fixture| {
        let swallow = async |connection: &mut DB::Connection| {
            let wrong = connection.run("UPDATE nowhere SET nothing = 1", &[]).await;
            assert!(wrong.is_err());
            let taken = take::<DB>(connection, Ok(executed("done"))).await;
            Ok(taken.unwrap_or_else(|_| executed("not done")))
        };
        let ended = fixture
            .ledger
            .once(&call("k", 'a', KeyKind::Client), swallow)
            .await;
        match (Kind::of_environment(), ended) {
            (Kind::Postgres, Err(Failure::NotExecuted(_))) => {
                assert_eq!((fixture.effects().await, fixture.rows().await), (0, 0));
            }
            (Kind::MySql | Kind::Sqlite, Ok(Verdict::Executed(_))) => {
                assert_eq!((fixture.effects().await, fixture.rows().await), (1, 1));
            }
            (_, ended) => panic!("{ended:?}"),
        }
    });
}
