//! Callers that send too much, send too little, or leave.

use std::time::Duration;

use sqlx::query;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::client::{CARD, Call, order};
use crate::shop::Shop;

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_without_effect() {
    let shop = Shop::open().await;
    let large = Call::order("k").with_body(" ".repeat(64 * 1024) + &order(&[("mug", 1)], CARD));
    let response = shop.send(&large).await;
    assert_eq!((response.status, response.outcome()), (413, None));
    assert_eq!(response.code(), "request_too_large");
    assert_eq!(
        shop.books
            .number("SELECT count(*) FROM idempotency_ledger")
            .await,
        0
    );
}

#[tokio::test]
async fn an_upload_that_is_cut_executes_nothing() {
    let shop = Shop::open().await;
    let mut request = Call::order("k").request();
    // What is left is a valid order; only the length that was announced shows that it is cut.
    let announced = String::from_utf8(request.clone()).unwrap();
    let length = Call::order("k").body.len();
    request = announced
        .replace(
            &format!("content-length: {length}"),
            &format!("content-length: {}", length + 1),
        )
        .into_bytes();
    let mut stream = TcpStream::connect(shop.address).await.unwrap();
    stream.write_all(&request).await.unwrap();
    stream.shutdown().await.unwrap();
    sleep(Duration::from_millis(200)).await;
    assert_eq!(
        shop.books
            .number("SELECT count(*) FROM idempotency_ledger")
            .await,
        0
    );
    assert_eq!(shop.books.executed().await, 0);
}

/// Another process holds the write lock, so the order is under way for as long as the test wants.
#[tokio::test]
async fn a_caller_that_leaves_does_not_stop_its_order() {
    let shop = Shop::open().await;
    let mut lock = shop.books.connect().await;
    query("BEGIN IMMEDIATE").execute(&mut lock).await.unwrap();
    let mut stream = TcpStream::connect(shop.address).await.unwrap();
    stream.write_all(&Call::order("k").request()).await.unwrap();
    sleep(Duration::from_millis(150)).await;
    drop(stream);
    sleep(Duration::from_millis(150)).await;
    query("COMMIT").execute(&mut lock).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    assert_eq!(shop.books.executed().await, 1);
    let again = shop
        .send(&Call {
            attempt: 2,
            ..Call::order("k")
        })
        .await;
    assert_eq!((again.status, again.outcome()), (201, Some("executed")));
    assert_eq!(shop.books.executed().await, 1);
}
