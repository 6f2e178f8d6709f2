//! An order's way through its states.

use tokio::task::JoinSet;

use super::{assert_balance, relay_all};
use crate::client::{Call, Response, exchange, parse};
use crate::shop::Shop;

/// An order of one mug that is paid at once.
async fn paid(shop: &Shop) -> String {
    let response = shop.send(&Call::order("k")).await;
    response.json()["order"]["id"].as_str().unwrap().to_owned()
}

async fn step(shop: &Shop, order: &str, step: &str, key: &str) -> Response {
    let path = format!("/orders/{order}/{step}");
    shop.send(&Call::at(&path, key, "")).await
}

#[tokio::test]
async fn an_order_goes_its_way_once_and_a_second_time_is_a_success_that_does_nothing() {
    let shop = Shop::open().await;
    let order = paid(&shop).await;
    for (name, status) in [("ship", "SHIPPED"), ("finish", "FINISHED")] {
        for (key, outcome) in [("first", "applied"), ("second", "already_there")] {
            let response = step(&shop, &order, name, &format!("{name}-{key}")).await;
            assert_eq!(
                (response.status, response.outcome()),
                (200, Some("executed"))
            );
            let body = response.json();
            assert_eq!(
                (&body["status"], &body["outcome"]),
                (&status.into(), &outcome.into())
            );
        }
    }
    // It is past that.
    let late = step(&shop, &order, "ship", "late").await;
    assert_eq!(late.json()["outcome"], "already_there");
    relay_all(&shop.books).await;
    assert_eq!(shop.books.number("SELECT count(*) FROM notices").await, 2);
    assert_balance(&shop.books).await;
}

#[tokio::test]
async fn an_illegal_move_changes_nothing_and_raises_an_alarm() {
    let shop = Shop::open().await;
    let order = paid(&shop).await;
    let before = alarms(&shop).await;
    let response = step(&shop, &order, "finish", "f").await;
    assert_eq!(
        (response.status, response.outcome()),
        (409, Some("refused"))
    );
    assert_eq!(response.code(), "move_illegal");
    assert!(alarms(&shop).await > before);
    let none = step(&shop, "ord_none", "ship", "n").await;
    assert_eq!((none.status, none.code()), (404, "order_not_found".into()));
    assert_eq!(shop.books.number("SELECT status FROM orders").await, 2);
}

async fn alarms(shop: &Shop) -> u64 {
    let text = String::from_utf8(shop.look("/metrics").await.body).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("oncegate_origin_illegal_moves_total "));
    line.unwrap().parse().unwrap()
}

/// Every caller with a key of its own: only the state decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn shipping_and_canceling_at_once_is_one_of_them() {
    let shop = Shop::open().await;
    let order = paid(&shop).await;
    let mut calls = JoinSet::new();
    for number in 0..40 {
        let name = ["ship", "cancel"][number % 2];
        let call = Call::at(
            &format!("/orders/{order}/{name}"),
            &format!("k{number}"),
            "",
        );
        let (address, bytes) = (shop.address, call.request());
        calls.spawn(async move { parse(&exchange(address, &bytes).await) });
    }
    let answers = calls.join_all().await;
    let applied = answers
        .iter()
        .filter(|answer| answer.status == 200 && answer.json()["outcome"] == "applied");
    assert_eq!(applied.count(), 1);
    relay_all(&shop.books).await;
    let canceled = shop.books.number("SELECT status FROM orders").await == 9;
    let stock = shop.books.stock("mug").await;
    assert_eq!(stock, if canceled { 100 } else { 99 });
    assert_balance(&shop.books).await;
}

#[tokio::test]
async fn an_order_is_found_by_its_own_spelling_only() {
    let shop = Shop::open().await;
    let order = paid(&shop).await;
    let other = order.to_uppercase();
    let response = step(&shop, &other, "ship", "s").await;
    assert_eq!(
        (response.status, response.code()),
        (404, "order_not_found".into())
    );
    assert_eq!(shop.books.number("SELECT status FROM orders").await, 2);
}
