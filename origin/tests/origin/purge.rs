//! Rule L9: how long rows are kept, and how large they may be.

use std::time::Duration;

use oncegate_core::key::KeyKind;
use oncegate_origin::ledger::{Answer, Effect, Failure, RETENTION};

use crate::books::Kind;
use crate::fixture::{call, never, on_database, take};

#[tokio::test]
async fn l9_rows_are_forgotten_after_the_retention_and_not_before() {
    on_database!(|fixture| {
        let [old, new] = ["old", "new"].map(|key| call(key, 'a', KeyKind::Client));
        fixture.execute(&old).await;
        fixture.books.run(&aged(RETENTION)).await;
        fixture.execute(&new).await;
        assert_eq!(fixture.ledger.purge(RETENTION).await.unwrap(), 1);
        fixture.replay(&new).await;
        assert_eq!(fixture.rows().await, 1);
        assert_eq!(fixture.ledger.purge(RETENTION).await.unwrap(), 0);
    });
}

#[tokio::test]
async fn l9_what_is_not_settled_is_never_forgotten() {
    on_database!(|fixture| {
        let begun = call("begun", 'a', KeyKind::Client);
        let lost = async |_| Err::<(), _>("no answer".into());
        let record = async |connection: &mut DB::Connection, _: &()| never::<DB>(connection).await;
        let ended = fixture.ledger.outside(&begun, b"", lost, record).await;
        assert!(matches!(ended, Err(Failure::Unknown(_))), "{ended:?}");
        let refused = call("refused", 'a', KeyKind::Client);
        fixture.refuse(&refused, "no").await;
        fixture
            .ledger
            .cancel(&call("cancelled", 'a', KeyKind::Client))
            .await
            .unwrap();
        let long_ago = "UPDATE idempotency_ledger SET claimed_at = 0, called_at = 0";
        fixture.books.run(long_ago).await;
        fixture.books.run(&aged(RETENTION)).await;
        assert_eq!(fixture.ledger.purge(RETENTION).await.unwrap(), 2);
        assert_eq!(fixture.ledger.unfinished(None, 2).await.unwrap().len(), 1);
    });
}

/// More than one batch.
#[tokio::test]
async fn l9_the_purge_goes_on_until_nothing_is_left_to_forget() {
    on_database!(|fixture| {
        let row = |number| {
            let fingerprint = "a".repeat(64);
            format!("('k{number}', '', '{fingerprint}', 'cancelled', 1, 1)")
        };
        let rows: Vec<_> = (0..1201).map(row).collect();
        let columns = "request_key, slot, fingerprint, state, claimed_at, settled_at";
        let insert = format!(
            "INSERT INTO idempotency_ledger ({columns}) VALUES {}",
            rows.join(", ")
        );
        fixture.books.run(&insert).await;
        assert_eq!(
            fixture.ledger.purge(Duration::from_hours(1)).await.unwrap(),
            1201
        );
        assert_eq!(fixture.rows().await, 0);
    });
}

/// The purge is in the middle of its batch, and a key that lies among those that go is taken and settled: no gap between
/// rows is locked, in which it would wait.
#[tokio::test]
async fn l9_a_purge_keeps_no_other_key_waiting() {
    on_database!(|fixture| {
        // SQLite has one writer, whatever the statement.
        if fixture.books.kind() == Kind::Sqlite {
            fixture.execute(&call("k", 'a', KeyKind::Client)).await;
            return;
        }
        for key in ["b", "d", "f"] {
            fixture.execute(&call(key, 'a', KeyKind::Client)).await;
        }
        fixture.books.run(&aged(RETENTION)).await;
        let act = "DELETE ON idempotency_ledger";
        fixture.books.slow_down(act).await;
        let ledger = fixture.ledger.clone();
        let purging = tokio::spawn(async move { ledger.purge(RETENTION).await.unwrap() });
        fixture.books.until_locked().await;
        for key in ["a", "c", "e", "g"] {
            fixture.execute(&call(key, 'a', KeyKind::Client)).await;
        }
        assert!(!purging.is_finished(), "they waited for the purge");
        assert_eq!(purging.await.unwrap(), 3);
        assert_eq!(fixture.rows().await, 4);
    });
}

#[tokio::test]
async fn l3_an_answer_that_cannot_be_stored_undoes_its_effect() {
    on_database!(|fixture| {
        let call = call("k", 'a', KeyKind::Client);
        let answer = |size: usize| Answer {
            status: 200,
            headers: vec![("a".into(), "b".into())],
            body: vec![b'x'; size],
        };
        let ended = fixture
            .ledger
            .once(&call, async move |connection: &mut DB::Connection| {
                take::<DB>(connection, Ok(Effect::Executed(answer(1_899_996)))).await
            })
            .await;
        assert!(matches!(ended, Err(Failure::NotExecuted(_))), "{ended:?}");
        assert_eq!((fixture.effects().await, fixture.rows().await), (0, 0));
        fixture
            .ledger
            .once(&call, async move |connection: &mut DB::Connection| {
                take::<DB>(connection, Ok(Effect::Executed(answer(1_899_995)))).await
            })
            .await
            .unwrap();
        assert_eq!((fixture.effects().await, fixture.rows().await), (1, 1));
    });
}

/// Makes every settled row a little older than this.
fn aged(by: Duration) -> String {
    let by = by.as_millis() + 1000;
    format!(
        "UPDATE idempotency_ledger SET settled_at = settled_at - {by} WHERE settled_at IS NOT NULL"
    )
}
