//! The settlement: two runs at once, and a run that dies half-way.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use oncegate_origin::clock::now_ms;
use oncegate_origin::id::Id;
use oncegate_origin::job::{Run, Settings};
use oncegate_origin::lock;
use oncegate_origin::shop::payout::settle;
use oncegate_origin::sql::{Dialect, Statements};

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{Store, assert_balance, on_store};
use crate::books::Books;
use crate::client::Call;
use crate::process::Program;
use crate::shop::{Shop, until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_oncegate-origin");
const DONE: &str = "SELECT count(*) FROM settlements WHERE status = 2";

impl<DB: Dialect> Store<DB> {
    /// Settlements of ten cents each.
    async fn owe_rows(&self, rows: i64) {
        let mut connection = self.connect().await;
        for row in 0..rows {
            let sql = "INSERT INTO settlements
                           (order_id, merchant, amount_cents, status, created_at)
                       VALUES (?, 'pottery', 10, 0, 0)";
            let id = format!("o{row}");
            connection.run(sql, &[(&id).into()]).await.unwrap();
        }
    }

    fn start_settling(&self, pause_ms: u64) -> Child {
        let mut command = Command::new(PROGRAM);
        let pause = pause_ms.to_string();
        command.args(["settle", "--lease-ms", "1000", "--pause-ms", &pause]);
        command.args(["--database", &self.books.url()]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    }

    async fn assert_paid_out(&self, rows: i64) {
        let paid = "SELECT count(*) FROM payouts";
        assert_eq!(self.books.number(DONE).await, rows);
        assert_eq!(self.books.number(paid).await, rows);
        let balance = "SELECT balance_cents FROM merchants";
        assert_eq!(self.books.number(balance).await, 10 * rows);
        assert_balance(&self.books).await;
    }
}

#[tokio::test]
async fn of_two_instances_one_settles_and_the_other_hears_that_it_does() {
    on_store!(|store| {
        store.owe_rows(20).await;
        let other = super::open::<DB>(&store.books).await;
        let settings = Settings::default();
        let (one, other) =
            tokio::join!(settle(&store.database, settings), settle(&other, settings));
        let runs = [one.unwrap(), other.unwrap()];
        assert!(runs.contains(&Run::Settled(20)), "{runs:?}");
        // The second one may have come after the first had ended.
        let idle = |run: &Run| matches!(run, Run::Busy | Run::Settled(0));
        assert!(runs.iter().any(idle), "{runs:?}");
        store.assert_paid_out(20).await;
        assert_eq!(
            settle(&store.database, settings).await.unwrap(),
            Run::Settled(0)
        );
    });
}

#[tokio::test]
async fn a_run_that_is_killed_half_way_is_continued_and_pays_nothing_twice() {
    on_store!(|store| {
        store.owe_rows(5).await;
        let mut killed = store.start_settling(200);
        until(async || store.books.number(DONE).await >= 2).await;
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(store.books.number(DONE).await < 5);
        // Its lock is not released, and not waited for longer than its lease.
        until(async || settle(&store.database, Settings::default()).await.unwrap() != Run::Busy)
            .await;
        store.assert_paid_out(5).await;
        let open = "SELECT count(*) FROM job_runs WHERE ended_at IS NULL";
        assert_eq!(store.books.number(open).await, 1);
    });
}

#[tokio::test]
async fn a_settlement_and_a_message_are_asked_for_over_http() {
    let shop = Shop::open().await;
    let order = shop.send(&Call::order("k")).await.json()["order"]["id"].clone();
    let order = order.as_str().unwrap();
    for step in ["ship", "finish"] {
        let call = Call::at(&format!("/orders/{order}/{step}"), step, "");
        assert_eq!(shop.send(&call).await.status, 200);
    }
    for (key, settled) in [("a", 1), ("b", 0)] {
        let response = shop.send(&Call::at("/settlements", key, "")).await;
        assert_eq!(response.outcome(), Some("executed"));
        assert_eq!(response.json()["settled"], settled);
    }
    let payload = json!({ "order": order, "status": "PAID" });
    let body = json!({ "id": "m", "topic": "notice", "payload": payload }).to_string();
    for (key, consumed) in [("c", "now"), ("d", "before")] {
        let response = shop.send(&Call::at("/messages", key, &body)).await;
        assert_eq!(response.json()["consumed"], consumed);
    }
    assert_eq!(shop.look("/books").await.json()["balance"], true);
    assert_balance(&shop.books).await;
}

#[tokio::test]
async fn l6_a_message_and_a_settlement_of_a_cancelled_key_do_nothing() {
    let shop = Shop::open().await;
    let payload = json!({ "order": "o", "status": "PAID" });
    let body = json!({ "id": "m", "topic": "notice", "payload": payload }).to_string();
    for call in [
        Call::at("/messages", "a", &body),
        Call::at("/settlements", "b", ""),
    ] {
        assert_eq!(shop.ask("cancel", &call).await.outcome(), Some("cancelled"));
        let late = shop.send(&call).await;
        assert_eq!((late.status, late.outcome()), (410, Some("cancelled")));
    }
    for table in ["consumed", "notices", "job_runs"] {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(shop.books.number(&sql).await, 0, "{table}");
    }
}

/// The second of three rows cannot be paid out. Nobody hears that nothing was done, a cancel least of all; the
/// next copy of the call goes on with the rows that are open.
#[tokio::test]
async fn l7_a_settlement_that_fails_half_way_is_unknown_and_gone_on_with() {
    let shop = Shop::open().await;
    owe_three(&shop).await;
    let in_the_way = "INSERT INTO payouts (order_id, merchant, amount_cents, created_at)
        VALUES ('o1', 'pottery', 10, 0)";
    shop.books.run(in_the_way).await;
    let call = Call::at("/settlements", "s", "");
    let failed = shop.send(&call).await;
    assert_eq!((failed.status, failed.outcome()), (500, None));
    assert_eq!(shop.books.number(DONE).await, 1);
    let cancel = shop.ask("cancel", &call).await;
    assert_eq!((cancel.status, cancel.outcome()), (409, Some("unknown")));
    assert_eq!(shop.ask("probe", &call).await.outcome(), Some("unknown"));
    shop.books
        .run("DELETE FROM payouts WHERE order_id = 'o1'")
        .await;
    let done = shop.send(&call).await;
    assert_eq!((done.status, done.outcome()), (200, Some("executed")));
    assert_eq!(done.json()["settled"], 2);
    assert_eq!(shop.send(&call).await.stored(), done.stored());
    assert_eq!(shop.books.number(DONE).await, 3);
    assert_balance(&shop.books).await;
}

/// The cancel waits for its turn, and hears what the settlement came to.
#[tokio::test]
async fn l6_a_cancel_that_comes_while_a_settlement_runs_does_not_say_that_nothing_was_done() {
    let shop = Shop::open().await;
    shop.books.run(&settlement(0)).await;
    shop.books.slow_down("INSERT ON payouts").await;
    let call = Call::at("/settlements", "s", "");
    let (settled, cancelled) = tokio::join!(shop.send(&call), async {
        let started = "SELECT count(*) FROM idempotency_ledger WHERE state = 'started'";
        until(async || shop.books.number(started).await == 1).await;
        shop.ask("cancel", &call).await
    });
    assert_eq!(settled.json()["settled"], 1);
    assert_eq!(cancelled.outcome(), Some("executed"));
    assert_eq!(cancelled.stored(), settled.stored());
    assert_balance(&shop.books).await;
}

/// The process died with the settlement half-way, and no client comes back.
#[tokio::test]
async fn l7_a_settlement_that_was_begun_is_finished_without_any_client() {
    let books = Books::new().await;
    let short = ["--settle-lease-ms", "5000"];
    let mut dying = Program::start(&books, &short);
    for row in 0..3 {
        books.run(&settlement(row)).await;
    }
    books.slow_down("INSERT ON payouts").await;
    let call = Call::at("/settlements", "s", "");
    let mut stream = TcpStream::connect(dying.address).await.unwrap();
    stream.write_all(&call.request()).await.unwrap();
    until(async || books.number(DONE).await == 1).await;
    dying.kill();
    assert!(books.number(DONE).await < 3);
    books.speed_up("payouts").await;
    let _shop = Program::start(&books, &[&short[..], &["--recover-ms", "100"]].concat());
    let settled = "SELECT count(*) FROM idempotency_ledger WHERE state = 'executed'";
    until(async || books.number(settled).await == 1).await;
    assert_eq!(books.number(DONE).await, 3);
    assert_balance(&books).await;
}

fn settlement(row: usize) -> String {
    format!(
        "INSERT INTO settlements (order_id, merchant, amount_cents, status, created_at)
         VALUES ('o{row}', 'pottery', 10, 0, 0)"
    )
}

async fn owe_three(shop: &Shop) {
    for row in 0..3 {
        shop.books.run(&settlement(row)).await;
    }
}

#[tokio::test]
async fn l5_a_message_is_answered_again_under_its_key_and_refuses_another_body() {
    let shop = Shop::open().await;
    let body = |id| {
        let payload = json!({ "order": "o", "status": "PAID" });
        json!({ "id": id, "topic": "notice", "payload": payload }).to_string()
    };
    let first = shop.send(&Call::at("/messages", "a", &body("m"))).await;
    let again = shop.send(&Call::at("/messages", "a", &body("m"))).await;
    assert_eq!(again.stored(), first.stored());
    let other = shop.send(&Call::at("/messages", "a", &body("n"))).await;
    assert_eq!((other.status, other.outcome()), (422, Some("executed")));
    assert_eq!(shop.books.number("SELECT count(*) FROM notices").await, 1);
}

/// A checker that finds nothing proves nothing, unless it finds what is there.
#[tokio::test]
async fn the_checker_names_what_does_not_balance() {
    let shop = Shop::open().await;
    assert_eq!(shop.send(&Call::order("k")).await.status, 201);
    for (harm, found) in [
        (
            "UPDATE products SET stock = stock - 1 WHERE sku = 'cup'",
            "stock",
        ),
        ("DELETE FROM payments", "charges"),
        (
            "INSERT INTO accounts (user_id, points) VALUES ('u', 5)",
            "points",
        ),
        (
            "INSERT INTO merchants (merchant, balance_cents) VALUES ('m', 5)",
            "payouts",
        ),
    ] {
        shop.books.run(harm).await;
        let books = shop.look("/books").await.json();
        assert_eq!(books["balance"], false);
        let findings = books["findings"].to_string();
        assert!(findings.contains(&format!("\"{found}")), "{findings}");
    }
}

/// The pitfall: expiry shorter than work. Both runs hold the lock, one after the other, and work at the
/// same time; the rows do not mind.
#[tokio::test]
async fn pitfall_expiry_shorter_than_work() {
    on_store!(|store| {
        let mut connection = store.connect().await;
        let naive = async |connection: &mut DB::Connection, owner, now| {
            lock::take(
                connection,
                Id::literal("naive"),
                Id::literal(owner),
                now,
                now + 1,
            )
            .await
            .unwrap()
        };
        // Work of 2 ms under a lock of 1 ms: the second one is let in while the first is at it.
        assert!(naive(&mut connection, "a", 10).await);
        assert!(naive(&mut connection, "b", 12).await);
        store.owe_rows(10).await;
        let settings = Settings {
            lease: Duration::ZERO,
            pause: Duration::from_millis(5),
        };
        let other = super::open::<DB>(&store.books).await;
        let (one, two) = tokio::join!(settle(&store.database, settings), settle(&other, settings));
        one.unwrap();
        two.unwrap();
        while settle(&store.database, Settings::default()).await.unwrap() == Run::Busy {}
        store.assert_paid_out(10).await;
    });
}

/// The pitfall: lock release without owner.
#[tokio::test]
async fn pitfall_lock_release_without_owner() {
    on_store!(|store| {
        let mut connection = store.connect().await;
        let now = now_ms();
        let take = async |connection: &mut DB::Connection, owner, from, until| {
            lock::take(
                connection,
                Id::literal("t"),
                Id::literal(owner),
                from,
                until,
            )
            .await
            .unwrap()
        };
        assert!(take(&mut connection, "slow", now, now + 10).await);
        assert!(take(&mut connection, "next", now + 20, now + 1000).await);
        // The slow one ends: naively it releases whatever lock there is, and a third one gets in.
        let naive = "UPDATE task_locks SET owner = NULL, lease_until = 0 WHERE task = ?";
        connection.run("BEGIN", &[]).await.unwrap();
        connection.run(naive, &["t".into()]).await.unwrap();
        assert!(take(&mut connection, "third", now + 30, now + 1000).await);
        connection.run("ROLLBACK", &[]).await.unwrap();
        // Ours leaves the lock with whoever has it.
        assert!(
            !lock::release(&mut connection, Id::literal("t"), Id::literal("slow"))
                .await
                .unwrap()
        );
        assert!(!take(&mut connection, "third", now + 30, now + 1000).await);
        assert!(
            lock::release(&mut connection, Id::literal("t"), Id::literal("next"))
                .await
                .unwrap()
        );
        assert!(take(&mut connection, "third", now + 30, now + 1000).await);
    });
}
