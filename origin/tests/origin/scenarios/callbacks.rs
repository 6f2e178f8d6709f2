//! The payment provider calls back: twice, five times, a hundred times.

use oncegate_origin::shop::callback::CallbackSecret;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{assert_balance, later, relay_all};
use crate::client::{Call, exchange, parse, request};
use crate::shop::{CALLBACK_SECRET, Shop, until};

const MUG: i64 = 2400;

/// An order of one mug that waits for its payment.
async fn order(shop: &Shop, key: &str) -> String {
    let call = Call::order(key).with_body(later(1));
    let response = shop.send(&call).await;
    assert_eq!(
        (response.status, response.outcome()),
        (201, Some("executed"))
    );
    let order = response.json()["order"].clone();
    assert_eq!(
        (&order["status"], &order["paid"]),
        (&"WAIT_PAY".into(), &false.into())
    );
    order["id"].as_str().unwrap().to_owned()
}

fn callback(pay_no: &str, order: &str, amount: i64) -> Vec<u8> {
    let sign = CallbackSecret::parse(CALLBACK_SECRET)
        .unwrap()
        .sign(pay_no, order, amount);
    form(pay_no, order, amount, &sign)
}

fn form(pay_no: &str, order: &str, amount: i64, sign: &str) -> Vec<u8> {
    let body = format!("pay_no={pay_no}&order_no={order}&amount_cents={amount}&sign={sign}");
    let kind = (
        "content-type",
        "application/x-www-form-urlencoded".to_owned(),
    );
    request("POST", "/callbacks/payment", &[kind], body.as_bytes())
}

async fn call_back(shop: &Shop, bytes: &[u8]) -> String {
    let response = parse(&exchange(shop.address, bytes).await);
    assert_eq!(response.status, 200);
    String::from_utf8(response.body).unwrap()
}

async fn status(shop: &Shop, order: &str) -> i64 {
    let sql = format!("SELECT status FROM orders WHERE id = '{order}'");
    shop.books.number(&sql).await
}

async fn count(shop: &Shop, table: &str) -> i64 {
    shop.books
        .number(&format!("SELECT count(*) FROM {table}"))
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_callbacks_at_once_are_one_change_one_stock_move_and_one_message() {
    let shop = Shop::open().await;
    let order = order(&shop, "k").await;
    assert_eq!(shop.books.stock("mug").await, 100);
    let bytes = callback("p1", &order, MUG);
    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let (address, bytes) = (shop.address, bytes.clone());
        calls.spawn(async move { parse(&exchange(address, &bytes).await).body });
    }
    assert!(calls.join_all().await.iter().all(|word| word == b"success"));
    assert_eq!(status(&shop, &order).await, 2);
    assert_eq!(count(&shop, "outbox").await, 3);
    relay_all(&shop.books).await;
    relay_all(&shop.books).await;
    assert_eq!(shop.books.stock("mug").await, 99);
    for table in ["callbacks", "stock_moves", "coupons", "notices"] {
        assert_eq!(count(&shop, table).await, 1, "{table}");
    }
    assert_balance(&shop.books).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_second_payment_of_an_order_is_surplus_and_moves_nothing() {
    let shop = Shop::open().await;
    let order = order(&shop, "k").await;
    let mut calls = JoinSet::new();
    for number in 0..20 {
        let (address, bytes) = (shop.address, callback(&format!("p{number}"), &order, MUG));
        calls.spawn(async move { parse(&exchange(address, &bytes).await).body });
    }
    assert!(calls.join_all().await.iter().all(|word| word == b"success"));
    relay_all(&shop.books).await;
    let surplus = "SELECT count(*) FROM callbacks WHERE outcome = 'surplus'";
    assert_eq!(shop.books.number(surplus).await, 19);
    assert_eq!(shop.books.stock("mug").await, 99);
    assert_balance(&shop.books).await;
}

#[tokio::test]
async fn a_payment_of_a_canceled_order_is_surplus_and_does_not_revive_it() {
    let shop = Shop::open().await;
    let order = order(&shop, "k").await;
    let cancel = Call::at(&format!("/orders/{order}/cancel"), "c", "");
    assert_eq!(shop.send(&cancel).await.status, 200);
    assert_eq!(
        call_back(&shop, &callback("p", &order, MUG)).await,
        "success"
    );
    assert_eq!(status(&shop, &order).await, 9);
    let surplus = "SELECT count(*) FROM callbacks WHERE outcome = 'surplus'";
    assert_eq!(shop.books.number(surplus).await, 1);
    relay_all(&shop.books).await;
    assert_eq!(shop.books.stock("mug").await, 100);
}

#[tokio::test]
async fn what_the_shop_did_not_ask_for_is_answered_fail_and_changes_nothing() {
    let shop = Shop::open().await;
    let order = order(&shop, "k").await;
    let foreign = [
        callback("p", "ord_none", MUG),
        callback("p", &order, 1),
        form("p", &order, MUG, "00"),
        form("p", &order, MUG, ""),
    ];
    for bytes in foreign {
        assert_eq!(call_back(&shop, &bytes).await, "fail");
    }
    assert_eq!(
        (status(&shop, &order).await, count(&shop, "callbacks").await),
        (1, 0)
    );
    assert_eq!(
        call_back(&shop, &callback("p", &order, MUG)).await,
        "success"
    );
    let other = self::order(&shop, "other").await;
    assert_eq!(call_back(&shop, &callback("p", &other, MUG)).await, "fail");
    assert_eq!(status(&shop, &other).await, 1);
}

/// The signed text of both is the same.
#[tokio::test]
async fn a_callback_cannot_be_cut_in_another_place_and_sent_again() {
    let shop = Shop::open().await;
    let order = order(&shop, "k").await;
    let secret = CallbackSecret::parse(CALLBACK_SECRET).unwrap();
    let sign = secret.sign("p\nx", &order, MUG);
    assert_eq!(sign, secret.sign("p", &format!("x\n{order}"), MUG));
    assert_eq!(
        call_back(&shop, &form("p%0Ax", &order, MUG, &sign)).await,
        "fail"
    );
    assert_eq!(count(&shop, "callbacks").await, 0);
}

#[tokio::test]
async fn a_sender_that_leaves_half_way_has_paid_and_hears_so_the_next_time() {
    let shop = Shop::open().await;
    let order = order(&shop, "k").await;
    let bytes = callback("p", &order, MUG);
    let mut stream = TcpStream::connect(shop.address).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
    drop(stream);
    until(async || status(&shop, &order).await == 2).await;
    assert_eq!(call_back(&shop, &bytes).await, "success");
    assert_eq!(count(&shop, "outbox").await, 3);
}

/// One mug is on the shelf, and two orders that are paid later want it.
#[tokio::test]
async fn canceling_puts_back_only_what_was_taken() {
    let shop = Shop::open().await;
    let (first, second) = (order(&shop, "a").await, order(&shop, "b").await);
    // All but one were sold before.
    shop.books
        .run("UPDATE products SET stock = 1, initial_stock = 1 WHERE sku = 'mug'")
        .await;
    for (pay_no, order) in [("p1", &first), ("p2", &second)] {
        let word = call_back(&shop, &callback(pay_no, order, MUG)).await;
        assert_eq!(word, "success");
        relay_all(&shop.books).await;
    }
    assert_eq!(shop.books.stock("mug").await, 0);
    let cancel = Call::at(&format!("/orders/{second}/cancel"), "c", "");
    assert_eq!(shop.send(&cancel).await.status, 200);
    relay_all(&shop.books).await;
    assert_eq!(shop.books.stock("mug").await, 0);
    let cancel = Call::at(&format!("/orders/{first}/cancel"), "d", "");
    assert_eq!(shop.send(&cancel).await.status, 200);
    relay_all(&shop.books).await;
    assert_eq!(shop.books.stock("mug").await, 1);
    assert_balance(&shop.books).await;
}

#[tokio::test]
async fn the_books_balance_after_the_records_of_messages_were_forgotten() {
    let shop = Shop::open().await;
    let order = order(&shop, "k").await;
    call_back(&shop, &callback("p", &order, MUG)).await;
    relay_all(&shop.books).await;
    shop.books.run("DELETE FROM consumed").await;
    assert_balance(&shop.books).await;
}
