//! Fences: who comes late with a lock that somebody else has by now changes nothing.

use futures_util::future::join_all;
use oncegate_core::key::KeyKind;
use oncegate_origin::id::Id;
use oncegate_origin::ledger::{Effect, Failure, Ledger, Verdict};
use oncegate_origin::lock::admit;
use oncegate_origin::sql::{Dialect, Statements};
use oncegate_origin::sums::move_stock;

use super::{Store, assert_balance, on_store};
use crate::fixture::{answer, call, executed};

const SHELF: Id<'static> = Id::literal("shelf");

impl<DB: Dialect> Store<DB> {
    /// One worker's act under the lock: a mug leaves the shelf. `None`: nobody asks for its fence.
    async fn take_a_mug(&self, worker: &'static str, fence: Option<u64>) -> Verdict {
        let take = async move |connection: &mut DB::Connection| {
            if let Some(fence) = fence
                && !admit(connection, SHELF, fence).await?
            {
                return Ok(Effect::Refused(answer("late")));
            }
            let (operation, mug) = (Id::literal(worker), Id::literal("mug"));
            move_stock::<DB>(connection, operation, mug, 1).await?;
            Ok::<_, Failure>(executed("taken"))
        };
        let call = call(worker, 'a', KeyKind::Client);
        let ledger = Ledger::new(self.database.clone());
        ledger.once(&call, take).await.unwrap()
    }
}

/// The lock was shorter than the work of the first: the second has it, and has acted, when the first one acts.
#[tokio::test]
async fn a_lock_shorter_than_the_work_moves_the_stock_twice_and_with_its_fence_once() {
    on_store!(|store| {
        for worker in ["second", "first"] {
            let taken = store.take_a_mug(worker, None).await;
            assert_eq!(taken, Verdict::Executed(answer("taken")));
        }
        assert_eq!(store.books.stock("mug").await, 98);
        let second = store.take_a_mug("second-fenced", Some(2)).await;
        assert_eq!(second, Verdict::Executed(answer("taken")));
        let first = store.take_a_mug("first-fenced", Some(1)).await;
        assert_eq!(first, Verdict::Refused(answer("late")));
        assert_eq!(store.books.stock("mug").await, 97);
        let more = store.take_a_mug("second-once-more", Some(2)).await;
        assert_eq!(more, Verdict::Executed(answer("taken")));
        assert_balance(&store.books).await;
    });
}

#[tokio::test]
async fn an_act_that_was_rolled_back_bars_nobody_and_things_do_not_share_their_fences() {
    on_store!(|store| {
        let mut connection = store.connect().await;
        connection.run("BEGIN", &[]).await.unwrap();
        assert!(admit(&mut connection, SHELF, 9).await.unwrap());
        assert!(!admit(&mut connection, SHELF, 8).await.unwrap());
        connection.run("ROLLBACK", &[]).await.unwrap();
        assert!(admit(&mut connection, SHELF, 7).await.unwrap());
        let other = Id::literal("Shelf");
        assert!(admit(&mut connection, other, 1).await.unwrap());
        assert!(!admit(&mut connection, SHELF, 6).await.unwrap());
        assert!(admit(&mut connection, SHELF, u64::MAX).await.is_err());
    });
}

/// Twenty holders whose locks have ended, all at once. Whoever is let in writes its fence down in the next place.
#[tokio::test]
async fn of_many_holders_at_once_none_acts_after_a_later_one() {
    on_store!(|store| {
        let table = "CREATE TABLE acts (place BIGINT PRIMARY KEY, fence BIGINT NOT NULL)";
        store.books.run(table).await;
        let ledger = Ledger::new(store.database.clone());
        let hold = async |fence: u64| {
            let act = async move |connection: &mut DB::Connection| {
                if !admit(connection, SHELF, fence).await? {
                    return Ok(Effect::Refused(answer("late")));
                }
                let places = connection
                    .first("SELECT count(*) AS n FROM acts", &[])
                    .await?;
                let place: i64 = places.expect("a count").get("n")?;
                let sql = "INSERT INTO acts (place, fence) VALUES (?, ?)";
                let values = [place.into(), fence.cast_signed().into()];
                connection.run(sql, &values).await?;
                Ok::<_, Failure>(executed("acted"))
            };
            let call = call(&format!("k{fence}"), 'a', KeyKind::Client);
            ledger.once(&call, act).await.unwrap()
        };
        let heard = join_all((1..=20).map(hold)).await;
        let acted = heard
            .iter()
            .filter(|verdict| matches!(verdict, Verdict::Executed(_)));
        let mut connection = store.connect().await;
        let rows = connection
            .all("SELECT fence FROM acts ORDER BY place", &[])
            .await
            .unwrap();
        let fences: Vec<i64> = rows.iter().map(|row| row.get("fence").unwrap()).collect();
        assert_eq!(fences.len(), acted.count());
        assert!(fences.is_sorted(), "{fences:?}");
        assert_eq!(fences.last(), Some(&20));
    });
}
