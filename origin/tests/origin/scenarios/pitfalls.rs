//! The pitfalls, each with the naive version that fails and ours beside it. Where two of the naive
//! callers meet is written out step by step, so that they meet every time. Two more are in [`super::jobs`].

use oncegate_core::key::KeyKind;
use oncegate_core::lifecycle::{OrderStatus, Outcome};
use oncegate_origin::consumer;
use oncegate_origin::id::Id;
use oncegate_origin::ledger::{Ledger, Verdict};
use oncegate_origin::lock;
use oncegate_origin::shop::moves::move_order;
use oncegate_origin::sql::{Dialect, Statements};
use oncegate_origin::sums::{join, move_stock};

use super::{Store, on_store};
use crate::fixture::{answer, call};

impl<DB: Dialect> Store<DB> {
    /// A table of the naive shop.
    async fn naive(&self) -> DB::Connection {
        let mut connection = self.connect().await;
        let table = "CREATE TABLE naive (name VARCHAR(64) NOT NULL, amount BIGINT NOT NULL)";
        connection.run(table, &[]).await.unwrap();
        connection
    }

    async fn naive_rows(&self) -> i64 {
        self.books.number("SELECT count(*) FROM naive").await
    }
}

const INSERT: &str = "INSERT INTO naive (name, amount) VALUES ('u', 1)";
const COUNT: &str = "SELECT count(*) AS n FROM naive WHERE name = 'u'";

async fn count<DB: Dialect>(connection: &mut DB::Connection) -> i64 {
    let row = connection.first(COUNT, &[]).await.unwrap().unwrap();
    row.get("n").unwrap()
}

#[tokio::test]
async fn pitfall_check_in_code_without_database_floor() {
    on_store!(|store| {
        let (mut one, mut two) = (store.naive().await, store.connect().await);
        let is_new = [
            count::<DB>(&mut one).await == 0,
            count::<DB>(&mut two).await == 0,
        ];
        for (connection, is_new) in [(&mut one, is_new[0]), (&mut two, is_new[1])] {
            if is_new {
                connection.run(INSERT, &[]).await.unwrap();
            }
        }
        assert_eq!(store.naive_rows().await, 2);
        let joined = [
            join::<DB>(&mut one, Id::literal("fair"), Id::literal("u"))
                .await
                .unwrap(),
            join::<DB>(&mut two, Id::literal("fair"), Id::literal("u"))
                .await
                .unwrap(),
        ];
        assert_eq!(joined, [true, false]);
    });
}

#[tokio::test]
async fn pitfall_lock_taken_for_idempotency() {
    on_store!(|store| {
        let mut connection = store.naive().await;
        let pay = Id::literal("pay");
        for owner in ["first", "duplicate that comes later"].map(Id::literal) {
            let taken = lock::take(&mut connection, pay, owner, 10, 20).await;
            assert!(taken.unwrap());
            connection.run(INSERT, &[]).await.unwrap();
            lock::release(&mut connection, pay, owner).await.unwrap();
        }
        assert_eq!(store.naive_rows().await, 2);
        let mut new = Vec::new();
        for _ in 0..2 {
            new.push(
                consumer::is_new(&mut connection, pay, Id::literal("m"))
                    .await
                    .unwrap(),
            );
        }
        assert_eq!(new, [true, false]);
    });
}

/// The status is safe, and the goods leave twice.
#[tokio::test]
async fn pitfall_main_row_protected_but_side_effects_not() {
    on_store!(|store| {
        let order = store.order_later("k", 1).await;
        let mut connection = store.naive().await;
        for _ in 0..2 {
            let sql = "UPDATE orders SET status = 2 WHERE id = ? AND status = 1";
            connection.run(sql, &[(&order).into()]).await.unwrap();
            // Whoever comes here does the side effect.
            connection.run(INSERT, &[]).await.unwrap();
        }
        assert_eq!(store.naive_rows().await, 2);
        let order = store.order_later("other", 1).await;
        let mut outcomes = Vec::new();
        for _ in 0..2 {
            let (from, to) = (OrderStatus::WaitPay, OrderStatus::Paid);
            outcomes.push(
                move_order::<DB>(&mut connection, &order, from, to)
                    .await
                    .unwrap(),
            );
        }
        assert_eq!(outcomes, [Outcome::Applied, Outcome::AlreadyThere]);
        assert_eq!(store.books.number("SELECT count(*) FROM outbox").await, 3);
    });
}

/// An article that does not exist violates another rule of the table than the one about duplicates.
#[tokio::test]
async fn pitfall_every_exception_taken_for_a_duplicate() {
    on_store!(|store| {
        let mut connection = store.connect().await;
        let naive = "INSERT INTO stock_moves (id, sku, quantity, missing, created_at)
                     VALUES ('m', 'no such article', 1, 0, 0)";
        let told = match connection.run(naive, &[]).await {
            Ok(_) => "moved",
            Err(_) => "was moved before",
        };
        assert_eq!(told, "was moved before");
        let moves = "SELECT count(*) FROM stock_moves";
        assert_eq!(store.books.number(moves).await, 0);
        let ours = {
            let (operation, sku) = (Id::literal("m"), Id::literal("no such article"));
            move_stock::<DB>(&mut connection, operation, sku, 1).await
        };
        assert!(ours.is_err());
    });
}

#[tokio::test]
async fn pitfall_get_then_delete_on_a_token() {
    on_store!(|store| {
        let (mut one, mut two) = (store.naive().await, store.connect().await);
        one.run(INSERT, &[]).await.unwrap();
        let got = [count::<DB>(&mut one).await, count::<DB>(&mut two).await];
        for connection in [&mut one, &mut two] {
            let sql = "DELETE FROM naive WHERE name = 'u'";
            connection.run(sql, &[]).await.unwrap();
        }
        assert_eq!(got, [1, 1], "both got the token, and both go on");
        let ledger = Ledger::new(store.database.clone());
        let token = call("token", 'a', KeyKind::Token);
        let take = || {
            ledger.once(&token, async move |connection: &mut DB::Connection| {
                connection.run(INSERT, &[]).await?;
                Ok(crate::fixture::executed("passed"))
            })
        };
        let heard = tokio::join!(take(), take(), take(), take());
        for verdict in [heard.0, heard.1, heard.2, heard.3] {
            assert_eq!(verdict.unwrap(), Verdict::Executed(answer("passed")));
        }
        assert_eq!(store.naive_rows().await, 1);
    });
}

/// A customer clicks once on each of two devices: two clicks, one payment.
#[tokio::test]
async fn pitfall_no_double_click_taken_for_business_idempotency() {
    on_store!(|store| {
        let mut connection = store.connect().await;
        let table = "CREATE TABLE clicks (click VARCHAR(64) PRIMARY KEY, pay_no VARCHAR(64))";
        connection.run(table, &[]).await.unwrap();
        for click in ["on the phone", "on the tablet"] {
            let sql = "INSERT INTO clicks (click, pay_no) VALUES (?, 'p')";
            connection.run(sql, &[click.into()]).await.unwrap();
        }
        assert_eq!(store.books.number("SELECT count(*) FROM clicks").await, 2);
        let mut new = Vec::new();
        let payments = Id::literal("payments");
        for _click in ["on the phone", "on the tablet"] {
            new.push(
                consumer::is_new(&mut connection, payments, Id::literal("p"))
                    .await
                    .unwrap(),
            );
        }
        assert_eq!(new, [true, false]);
    });
}
