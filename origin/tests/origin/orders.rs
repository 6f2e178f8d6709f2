//! The shop over HTTP.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oncegate_core::key::KeyKind;

use crate::client::{CARD, Call, DECLINED_CARD, Response, order};
use crate::shop::Shop;

/// Sends all calls at the same time.
async fn together(shop: &Arc<Shop>, calls: impl IntoIterator<Item = Call>) -> Vec<Response> {
    let spawned: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let shop = shop.clone();
            tokio::spawn(async move { shop.send(&call).await })
        })
        .collect();
    let mut responses = Vec::new();
    for call in spawned {
        responses.push(call.await.expect("an answer"));
    }
    responses
}

#[tokio::test]
async fn l2_the_key_is_looked_up_before_the_stock_is_judged() {
    let shop = Shop::open().await;
    let all = Call::order("k").with_body(order(&[("kettle", 20)], CARD));
    let first = shop.send(&all).await;
    assert_eq!((first.status, shop.books.stock("kettle").await), (201, 0));
    assert_eq!(shop.send(&all).await.stored(), first.stored());
}

#[tokio::test]
async fn l2_a_body_that_makes_no_order_is_a_refusal_that_stays() {
    let shop = Shop::open().await;
    for (key, body, field) in [
        ("a", "{".to_owned(), ""),
        ("b", order(&[], CARD), "cart"),
        (
            "c",
            order(&[("mug", 1), ("unicorn", 1)], CARD),
            "cart[1].sku",
        ),
        ("d", order(&[("mug", 100)], CARD), "cart[0].quantity"),
        ("e", order(&[("mug", 1)], "4242"), "card.number"),
    ] {
        let call = Call::order(key).with_body(body);
        let first = shop.send(&call).await;
        assert_eq!(
            (first.status, first.code().as_str()),
            (422, "order_invalid"),
            "{key}"
        );
        assert_eq!(
            (first.outcome(), &first.json()["field"]),
            (Some("refused"), &field.into())
        );
        assert_eq!(shop.send(&call).await.stored(), first.stored());
    }
    assert_eq!(
        (shop.books.executed().await, shop.books.stock("mug").await),
        (0, 100)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l3_fifty_callers_with_one_key_make_one_order_and_get_the_same_bytes() {
    let shop = Arc::new(Shop::open().await);
    let responses = together(&shop, (0..50).map(|_| Call::order("k"))).await;
    let first = &responses[0];
    assert_eq!((first.status, first.outcome()), (201, Some("executed")));
    for response in &responses {
        assert_eq!(
            (response.stored(), response.outcome()),
            (first.stored(), first.outcome())
        );
    }
    assert_eq!(
        (shop.books.executed().await, shop.books.stock("mug").await),
        (1, 99)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l3_a_hundred_keys_make_a_hundred_orders() {
    let shop = Arc::new(Shop::open().await);
    let responses = together(&shop, (0..100).map(|n| Call::order(&format!("k{n}")))).await;
    let orders: BTreeSet<_> = responses
        .iter()
        .filter_map(|r| r.header("location"))
        .collect();
    assert_eq!(orders.len(), 100);
    assert_eq!(
        (shop.books.executed().await, shop.books.stock("mug").await),
        (100, 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn l3_stock_is_sold_once_and_never_below_zero() {
    let shop = Arc::new(Shop::open().await);
    let kettles =
        |n| Call::order(&format!("k{n}")).with_body(order(&[("mug", 1), ("kettle", 3)], CARD));
    let responses = together(&shop, (0..15).flat_map(|n| [kettles(n), kettles(n)])).await;
    for response in &responses {
        match response.status {
            201 => assert_eq!(response.outcome(), Some("executed")),
            409 => {
                assert_eq!(
                    (response.outcome(), response.code()),
                    (Some("refused"), "out_of_stock".into())
                );
            }
            status => panic!("{status}"),
        }
    }
    assert_eq!(shop.books.executed().await, 6);
    assert_eq!(
        (
            shop.books.stock("kettle").await,
            shop.books.stock("mug").await
        ),
        (2, 94)
    );
}

#[tokio::test]
async fn l3_an_order_outside_the_ledger_is_an_error_and_not_a_duplicate() {
    let shop = Shop::open().await;
    assert_eq!(shop.send(&Call::order("k")).await.status, 201);
    shop.books.run("DELETE FROM idempotency_ledger").await;
    let response = shop.send(&Call::order("k")).await;
    assert_eq!((response.status, response.outcome()), (500, None));
    assert_eq!(
        (shop.books.orders().await, shop.books.stock("mug").await),
        (1, 99)
    );
}

#[tokio::test]
async fn l4_a_declined_card_leaves_its_refusal_and_nothing_else() {
    let shop = Shop::open().await;
    let declined = Call::order("k").with_body(order(&[("mug", 2)], DECLINED_CARD));
    let first = shop.send(&declined).await;
    assert_eq!((first.status, first.outcome()), (402, Some("refused")));
    assert_eq!(first.code(), "card_declined");
    assert_eq!(
        (shop.books.executed().await, shop.books.stock("mug").await),
        (0, 100)
    );
    let late = shop
        .send(&Call {
            attempt: 2,
            ..declined
        })
        .await;
    assert_eq!(
        (late.stored(), late.outcome()),
        (first.stored(), Some("refused"))
    );
}

#[tokio::test]
async fn l4_a_database_that_cannot_write_is_a_sure_failure() {
    let shop = Shop::open().await;
    shop.books.run("DROP TABLE payments").await;
    let response = shop.send(&Call::order("k")).await;
    assert_eq!(
        (response.status, response.outcome()),
        (503, Some("not_executed"))
    );
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(
        (shop.books.orders().await, shop.books.stock("mug").await),
        (0, 100)
    );
}

#[tokio::test]
async fn l5_another_request_under_the_key_hears_the_recorded_outcome() {
    let shop = Shop::open().await;
    let declined = Call::order("refused").with_body(order(&[("mug", 1)], DECLINED_CARD));
    for first in [&Call::order("ran"), &declined] {
        let response = shop.send(first).await;
        assert_eq!(response.header("oncegate-fingerprint"), None);
    }
    for (key, outcome) in [("ran", "executed"), ("refused", "refused")] {
        let other = Call::order(key).with_body(order(&[("cup", 1)], CARD));
        let response = shop.send(&other).await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (422, "key_reused")
        );
        assert_eq!(response.outcome(), Some(outcome));
        let recorded = response.header("oncegate-fingerprint");
        assert!(recorded.is_some_and(|recorded| recorded != other.fingerprint().to_string()));
    }
    assert_eq!(
        (shop.books.executed().await, shop.books.stock("cup").await),
        (1, 80)
    );
}

#[tokio::test]
async fn l5_an_order_number_is_paid_with_a_second_card() {
    let shop = Shop::open().await;
    let pay = |card| {
        Call::order("order-7")
            .with_kind(KeyKind::Generated)
            .with_body(order(&[("mug", 1)], card))
    };
    let declined = shop.send(&pay(DECLINED_CARD)).await;
    assert_eq!(declined.status, 402);
    assert_eq!(
        shop.send(&pay(DECLINED_CARD)).await.stored(),
        declined.stored()
    );
    assert_eq!(shop.send(&pay(CARD)).await.status, 201);
    let late = shop.send(&pay(DECLINED_CARD)).await;
    assert_eq!((late.status, late.outcome()), (422, Some("executed")));
    assert_eq!(shop.books.executed().await, 1);
}

#[tokio::test]
async fn l5_a_duplicate_waits_for_the_attempt_before_it() {
    // Whichever of the two comes first.
    let faults = r#"[{"delay_within": 400}, {"delay_within": 400}]"#;
    let shop = Arc::new(Shop::with_faults(faults).await);
    let started = Instant::now();
    let responses = together(&shop, [Call::order("k"), Call::order("k")]).await;
    assert_eq!(responses[0].stored(), responses[1].stored());
    assert!(started.elapsed() >= Duration::from_millis(400));
    assert_eq!(shop.books.executed().await, 1);
}

#[tokio::test]
async fn l6_probe_and_cancel_answer_from_the_row() {
    let shop = Shop::open().await;
    let says = async |what, call: &Call| {
        let response = shop.ask(what, call).await;
        response.outcome().unwrap().to_owned()
    };
    let [ran, refused, new] = ["ran", "refused", "new"].map(Call::order);
    let refused = refused.with_body(order(&[("mug", 1)], DECLINED_CARD));
    let paid = shop.send(&ran).await;
    shop.send(&refused).await;
    // A cancel that comes too late hears what an attempt hears, byte by byte.
    assert_eq!(shop.ask("cancel", &ran).await.body, paid.body);
    assert_eq!(says("probe", &new).await, "unknown");
    assert_eq!(says("probe", &ran).await, "executed");
    assert_eq!(says("cancel", &ran).await, "executed");
    assert_eq!(says("cancel", &refused).await, "refused");
    assert_eq!(says("cancel", &new).await, "cancelled");
    assert_eq!(says("probe", &new).await, "cancelled");
    let late = shop.send(&new).await;
    assert_eq!((late.status, late.outcome()), (410, Some("cancelled")));
    assert_eq!(late.code(), "operation_cancelled");
    assert_eq!(shop.books.executed().await, 1);
}

#[tokio::test]
async fn l6_a_cancel_waits_for_the_attempt_that_is_at_work() {
    let shop = Arc::new(Shop::with_faults(r#"[{"delay_within": 400}]"#).await);
    let slow = tokio::spawn({
        let shop = shop.clone();
        async move { shop.send(&Call::order("k")).await }
    });
    shop.books.until_locked().await;
    assert_eq!(
        shop.ask("probe", &Call::order("k")).await.outcome(),
        Some("unknown")
    );
    assert_eq!(
        shop.ask("cancel", &Call::order("k")).await.outcome(),
        Some("executed")
    );
    assert_eq!(slow.await.unwrap().status, 201);
}

#[tokio::test]
async fn l8_every_answer_says_what_became_of_the_operation() {
    let shop = Shop::with_faults(r#"["unavailable"]"#).await;
    let cancelled = Call::order("cancelled");
    shop.ask("cancel", &cancelled).await;
    let body = |sku, quantity, card| order(&[(sku, quantity)], card);
    for (status, outcome, key, body) in [
        (503, "not_executed", "k", body("mug", 1, CARD)),
        (201, "executed", "k", body("mug", 1, CARD)),
        (201, "executed", "k", body("mug", 1, CARD)),
        (422, "executed", "k", body("mug", 2, CARD)),
        (402, "refused", "declined", body("mug", 1, DECLINED_CARD)),
        (402, "refused", "declined", body("mug", 1, DECLINED_CARD)),
        (422, "refused", "declined", body("mug", 1, CARD)),
        (409, "refused", "too many", body("kettle", 21, CARD)),
        (422, "refused", "invalid", body("mug", 0, CARD)),
        (410, "cancelled", "cancelled", cancelled.body),
    ] {
        let key = format!("\"{key}\"");
        let response = shop.send(&Call::order(&key).with_body(body)).await;
        assert_eq!(
            (response.status, response.outcome()),
            (status, Some(outcome)),
            "{key}"
        );
    }
}

#[tokio::test]
async fn orders_are_found_by_id_and_by_key_newest_first() {
    let shop = Shop::open().await;
    let body = order(&[("mug", 2), ("beans", 1)], CARD);
    let first = shop.send(&Call::order("a").with_body(body)).await.json();
    shop.send(&Call::order("b")).await;
    assert_eq!(first["order"]["total_cents"], 2 * 2400 + 1450);
    let path = format!("/orders/{}", first["order"]["id"].as_str().unwrap());
    assert_eq!(shop.plain("GET", &path, "").await.json(), first);
    let by_key = shop.plain("GET", "/orders?request_id=a", "").await.json();
    assert_eq!(by_key["orders"], serde_json::json!([first["order"]]));
    let all = shop.look("/orders").await.json();
    let keys: Vec<_> = all["orders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| &order["request_id"])
        .collect();
    assert_eq!(keys, ["b", "a"]);
    assert_eq!(
        shop.plain("GET", "/orders/ord_0", "").await.code(),
        "order_not_found"
    );
}

#[tokio::test]
async fn the_catalogue_shows_what_is_left() {
    let shop = Shop::open().await;
    shop.send(&Call::order("k")).await;
    let products = shop.plain("GET", "/catalog", "").await.json()["products"].clone();
    assert_eq!(products.as_array().unwrap().len(), 6);
    assert_eq!(
        products[0],
        serde_json::json!({
            "sku": "mug", "name": "Stoneware mug, ash glaze", "name_zh": "灰釉陶杯",
            "price_cents": 2400, "stock": 99,
        })
    );
    assert_eq!(
        shop.plain("GET", "/health", "").await.json()["status"],
        "ok"
    );
}
