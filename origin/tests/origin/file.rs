//! Rule L5 on SQLite: how long an attempt waits for the one lock of the file, and what it says when it waited
//! in vain.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oncegate_core::key::KeyKind;
use oncegate_origin::ledger::{Effect, Failure};
use sqlx::{Sqlite, SqliteConnection, query};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::books::Books;
use crate::client::{Call, Response, SECRETS};
use crate::fixture::{Fixture, answer, call, executed, never, take};
use crate::shop::{Shop, queue_up};

async fn unlock(mut lock: SqliteConnection) {
    query("COMMIT").execute(&mut lock).await.unwrap();
}

fn says_busy(response: &Response) {
    assert_eq!(
        (response.status, response.header("retry-after")),
        (503, Some("1"))
    );
    let detail = response.json()["detail"].to_string();
    assert!(detail.contains("The database is busy."), "{detail}");
}

fn is_busy(failure: &Failure) {
    assert!(matches!(failure, Failure::NotExecuted(_)), "{failure}");
    assert!(
        failure.to_string().contains("the database is busy"),
        "{failure}"
    );
}

fn took_five_seconds(since: Instant) {
    let waited = since.elapsed();
    assert!((4500..6000).contains(&waited.as_millis()), "{waited:?}");
}

#[tokio::test]
async fn l5_an_attempt_that_waited_in_vain_did_nothing_and_says_so() {
    let shop = Shop::start(Books::in_a_file(), SECRETS, false).await;
    let lock = shop.books.lock_file().await;
    let since = Instant::now();
    let (attempt, cancelled) = (Call::order("k"), Call::order("c"));
    let (attempt, cancel) = tokio::join!(shop.send(&attempt), shop.ask("cancel", &cancelled));
    took_five_seconds(since);
    says_busy(&attempt);
    says_busy(&cancel);
    assert_eq!(attempt.outcome(), Some("not_executed"));
    // The operation may have been executed by others, for all that this cancel knows.
    assert_eq!(cancel.outcome(), Some("unknown"));
    unlock(lock).await;
    assert_eq!(shop.books.rows().await, 0);
    assert_eq!(shop.send(&Call::order("k")).await.status, 201);
}

/// A duplicate in the same process knows that it is its own key that is held.
#[tokio::test]
async fn l5_a_duplicate_waits_five_seconds_and_no_longer() {
    let fixture = Fixture::<Sqlite>::on(Books::in_a_file()).await;
    let (inside, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let call = call("k", 'a', KeyKind::Client);
    let first = {
        let (inside, go_on) = (inside.clone(), go_on.clone());
        fixture
            .ledger
            .once(&call, async move |connection: &mut SqliteConnection| {
                inside.notify_one();
                go_on.notified().await;
                take::<Sqlite>(connection, Ok(executed("first"))).await
            })
    };
    let duplicate = async {
        inside.notified().await;
        let since = Instant::now();
        let waited = fixture.ledger.once(&call, never::<Sqlite>).await;
        took_five_seconds(since);
        go_on.notify_one();
        waited
    };
    let (first, duplicate) = tokio::join!(first, duplicate);
    assert!(
        matches!(duplicate, Err(Failure::InProgress)),
        "{duplicate:?}"
    );
    first.unwrap();
    assert_eq!(fixture.effects().await, 1);
}

/// The second attempt waits three seconds for the connection, which the first one has while it
/// waits for the lock, and then for the lock itself.
#[tokio::test]
async fn l5_waiting_for_a_connection_and_for_the_lock_does_not_add_up() {
    let fixture = Fixture::<Sqlite>::on(Books::in_a_file()).await;
    let lock = fixture.books.lock_file().await;
    let attempt = async |key, after| {
        sleep(after).await;
        let since = Instant::now();
        let call = call(key, 'a', KeyKind::Client);
        let failure = fixture.ledger.once(&call, never::<Sqlite>).await;
        took_five_seconds(since);
        is_busy(&failure.unwrap_err());
    };
    tokio::join!(
        attempt("a", Duration::ZERO),
        attempt("b", Duration::from_secs(2))
    );
    unlock(lock).await;
    assert_eq!(fixture.rows().await, 0);
}

/// An attempt waits three seconds to begin; then it is refused, and meanwhile another one has the
/// database.
#[tokio::test]
async fn l5_waiting_again_after_a_refusal_does_not_add_up() {
    let fixture = Fixture::<Sqlite>::on(Books::in_a_file()).await;
    let lock = fixture.books.lock_file().await;
    let (inside, queued, done) = (
        Notify::new(),
        Arc::new(Notify::new()),
        Arc::new(Notify::new()),
    );
    let inside = Arc::new(inside);
    let since = Instant::now();
    let refused = async {
        let verdict = fixture
            .ledger
            .once(
                &call("refused", 'a', KeyKind::Client),
                async |_: &mut SqliteConnection| {
                    inside.notify_one();
                    queued.notified().await;
                    Ok(Effect::Refused(answer("no")))
                },
            )
            .await;
        took_five_seconds(since);
        done.notify_one();
        verdict
    };
    let other = async {
        sleep(Duration::from_secs(3)).await;
        unlock(lock).await;
        inside.notified().await;
        let call = call("other", 'a', KeyKind::Client);
        let done = done.clone();
        let mut other = Box::pin(fixture.ledger.once(
            &call,
            async move |connection: &mut SqliteConnection| {
                done.notified().await;
                take::<Sqlite>(connection, Ok(executed("yes"))).await
            },
        ));
        queue_up(&mut other).await;
        queued.notify_one();
        other.await
    };
    let (refused, other) = tokio::join!(refused, other);
    is_busy(&refused.unwrap_err());
    other.unwrap();
    assert_eq!((fixture.effects().await, fixture.rows().await), (1, 1));
}

#[tokio::test]
async fn the_books_are_read_while_somebody_writes() {
    let shop = Shop::start(Books::in_a_file(), SECRETS, false).await;
    let lock = shop.books.lock_file().await;
    let response = shop.look("/books").await;
    assert_eq!(
        (response.status, &response.json()["balance"]),
        (200, &true.into())
    );
    unlock(lock).await;
}
