//! Points, goods on a shelf, and activities.

use std::collections::BTreeMap;

use oncegate_core::key::KeyKind;
use serde_json::json;
use tokio::task::JoinSet;

use super::assert_balance;
use crate::client::{Call, Response, exchange, parse};
use crate::shop::Shop;

async fn all(shop: &Shop, calls: impl IntoIterator<Item = Call>) -> Vec<Response> {
    let mut set = JoinSet::new();
    for call in calls {
        let (address, bytes) = (shop.address, call.request());
        set.spawn(async move { parse(&exchange(address, &bytes).await) });
    }
    set.join_all().await
}

fn statuses(answers: &[Response]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer.status).or_default() += 1;
    }
    counts
}

/// Ten operations, each sent five times, all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn points_are_added_once_for_each_operation() {
    let shop = Shop::open().await;
    let body = json!({ "user": "u", "amount": 7 }).to_string();
    let call = |number: usize| Call::at("/points", &format!("k{}", number % 10), &body);
    let answers = all(&shop, (0..50).map(call)).await;
    assert_eq!(statuses(&answers), BTreeMap::from([(200, 50)]));
    let account = shop.look("/points/u").await.json();
    assert_eq!(account["points"], 70);
    assert_balance(&shop.books).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn points_are_never_below_zero() {
    let shop = Shop::open().await;
    let body = |amount: i64| json!({ "user": "u", "amount": amount }).to_string();
    shop.send(&Call::at("/points", "k", &body(50))).await;
    let call = |number| Call::at("/points", &format!("k{number}"), &body(-20));
    let answers = all(&shop, (0..10).map(call)).await;
    assert_eq!(statuses(&answers), BTreeMap::from([(200, 2), (409, 8)]));
    assert_eq!(shop.look("/points/u").await.json()["points"], 10);
    assert_balance(&shop.books).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stock_is_taken_once_for_each_operation_and_never_below_zero() {
    let shop = Shop::open().await;
    let body = json!({ "quantity": 3 }).to_string();
    let call = |number: usize| Call::at("/stock/kettle", &format!("k{}", number / 2), &body);
    let answers = all(&shop, (0..40).map(call)).await;
    // Twenty kettles are six times three, each of the six heard twice.
    assert_eq!(statuses(&answers), BTreeMap::from([(200, 12), (409, 28)]));
    assert_eq!(shop.books.stock("kettle").await, 2);
    assert_balance(&shop.books).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_activity_is_joined_once_and_the_others_hear_so() {
    let shop = Shop::open().await;
    let body = json!({ "user": "u" }).to_string();
    let call = |number: usize| Call::at("/activities/fair/members", &format!("k{number}"), &body);
    let answers = all(&shop, (0..50).map(call)).await;
    assert_eq!(statuses(&answers), BTreeMap::from([(200, 49), (201, 1)]));
    let again = shop.send(&call(50)).await;
    assert_eq!(again.json()["outcome"], "already joined");
    assert_eq!(shop.books.number("SELECT count(*) FROM members").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_callers_on_one_token_are_one_order() {
    let shop = Shop::open().await;
    let call = Call::order("token").with_kind(KeyKind::Token);
    let answers = all(&shop, (0..100).map(|_| call.clone())).await;
    assert_eq!(statuses(&answers), BTreeMap::from([(201, 100)]));
    let first = answers[0].stored();
    assert!(answers.iter().all(|answer| answer.stored() == first));
    assert_eq!(shop.books.executed().await, 1);
    assert_balance(&shop.books).await;
}
