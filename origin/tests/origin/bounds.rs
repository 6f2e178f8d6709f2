//! Texts and numbers that fit no column: refused alike on every database, and never cut.

use serde_json::json;

use crate::client::Call;
use crate::shop::Shop;

#[tokio::test]
async fn a_text_that_is_too_long_is_refused_alike_on_every_database() {
    let shop = Shop::open().await;
    let long = "x".repeat(256);
    let payload = |order: &str| json!({ "order": order, "status": "PAID" });
    let message = |id: &str, order: &str| {
        json!({ "id": id, "topic": "notice", "payload": payload(order) }).to_string()
    };
    let (members, stock) = (
        format!("/activities/{long}/members"),
        format!("/stock/{long}"),
    );
    let user = |name: &str| json!({ "user": name, "amount": 1 }).to_string();
    let cart =
        json!({ "cart": [{ "sku": long, "quantity": 1 }], "pay": "later", "email": "a@b.c" });
    let too_much = json!({ "user": "u", "amount": i64::MAX }).to_string();
    for (number, (path, body, code)) in [
        (members.as_str(), user("u"), "field_invalid"),
        ("/activities/fair/members", user(&long), "field_invalid"),
        ("/activities/fair/members", user("a\0b"), "field_invalid"),
        ("/activities/fair/members", user(""), "field_invalid"),
        ("/points", user(&long), "field_invalid"),
        ("/points", too_much.clone(), "body_invalid"),
        (
            &stock,
            json!({ "quantity": 1 }).to_string(),
            "field_invalid",
        ),
        (
            "/stock/mug",
            json!({ "quantity": i64::MIN }).to_string(),
            "body_invalid",
        ),
        ("/messages", message(&long, "o"), "message_invalid"),
        ("/messages", message("m", &long), "message_invalid"),
        ("/messages", message("m\u{1}", "o"), "message_invalid"),
        ("/orders", cart.to_string(), "order_invalid"),
    ]
    .into_iter()
    .enumerate()
    {
        let response = shop
            .send(&Call::at(path, &format!("k{number}"), &body))
            .await;
        let found = (response.status, response.outcome(), response.code());
        assert_eq!(
            found,
            (422, Some("refused"), code.to_owned()),
            "{path} {body}"
        );
        let detail = response.json()["detail"].as_str().unwrap().to_owned();
        assert!(!detail.contains(&long), "{detail}");
    }
    for table in [
        "members",
        "accounts",
        "point_operations",
        "stock_moves",
        "consumed",
        "orders",
    ] {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(shop.books.number(&sql).await, 0, "{table}");
    }
    let read = [
        format!("/orders?request_id={long}"),
        "/orders?request_id=a%00".to_owned(),
    ];
    for path in read {
        let orders = shop.plain("GET", &path, "").await;
        assert_eq!(
            (orders.status, orders.json()),
            (200, json!({ "orders": [] }))
        );
    }
    for id in [long.as_str(), "a%00"] {
        let order = shop.plain("GET", &format!("/orders/{id}"), "").await;
        assert_eq!(
            (order.status, order.code()),
            (404, "order_not_found".to_owned())
        );
    }
}

/// Two names that differ in their last byte are two, at the longest.
#[tokio::test]
async fn the_longest_names_are_taken_whole() {
    let shop = Shop::open().await;
    let name = |last| "x".repeat(254) + last;
    for activity in [name("a"), name("b")] {
        for user in [name("a"), name("b")] {
            let path = format!("/activities/{activity}/members");
            let key = format!("{}{}", &activity[254..], &user[254..]);
            let call = Call::at(&path, &key, &json!({ "user": user }).to_string());
            assert_eq!(shop.send(&call).await.status, 201, "{key}");
        }
    }
    assert_eq!(shop.books.number("SELECT count(*) FROM members").await, 4);
}
