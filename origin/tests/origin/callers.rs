//! Callers that send too much, send too little, or leave.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{CARD, Call, exchange, order, parse};
use crate::shop::Shop;

#[tokio::test]
async fn l8_a_body_that_is_too_large_is_refused_without_effect_and_says_so() {
    for shop in [Shop::open().await, Shop::with_faults("[]").await] {
        let response = shop.send(&too_large()).await;
        assert_eq!(
            (response.status, response.outcome()),
            (413, Some("not_executed"))
        );
        assert_eq!(response.code(), "request_too_large");
        assert_eq!(shop.books.rows().await, 0);
    }
}

#[tokio::test]
async fn l1_a_body_that_is_too_large_and_not_signed_learns_nothing() {
    for shop in [Shop::open().await, Shop::with_faults("[]").await] {
        let response = shop.plain("POST", "/orders", &too_large().body).await;
        assert_eq!((response.status, response.outcome()), (401, None));
    }
}

/// The client ends its half of the connection early and still listens.
#[tokio::test]
async fn l8_an_upload_that_is_cut_executes_nothing_and_says_so() {
    for shop in [Shop::open().await, Shop::with_faults("[]").await] {
        let mut stream = TcpStream::connect(shop.address).await.unwrap();
        stream.write_all(&cut(&Call::order("k"))).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let response = parse(&answer);
        assert_eq!(
            (response.status, response.outcome()),
            (400, Some("not_executed"))
        );
        assert_eq!(response.code(), "body_incomplete");
        assert_eq!(
            (shop.books.rows().await, shop.books.executed().await),
            (0, 0)
        );
    }
}

/// What is stored is an answer to the whole request, and to nothing else.
#[tokio::test]
async fn l8_a_form_that_is_cut_or_too_large_executes_nothing_and_says_so() {
    let shop = Shop::with_faults("[]").await;
    let whole = "sku=mug&email=a%40b.c";
    let form = |path, body: &str| Call::at(path, "k", body);
    let as_form = |request: Vec<u8>| {
        let text = String::from_utf8(request).unwrap();
        let kind = "content-type: application/x-www-form-urlencoded";
        text.replacen("\r\n", &format!("\r\n{kind}\r\n"), 1)
            .into_bytes()
    };
    let too_large = format!("{whole}&note={}", "x".repeat(64 * 1024));
    let too_large = |path| form(path, &too_large).request();
    let (orders, callbacks) = ("/lab/orders", "/callbacks/payment");
    for (request, status, code) in [
        (cut(&form(orders, whole)), 400, "body_incomplete"),
        (cut(&form(callbacks, whole)), 400, "body_incomplete"),
        (too_large(orders), 413, "request_too_large"),
        (too_large(callbacks), 413, "request_too_large"),
    ] {
        let mut stream = TcpStream::connect(shop.address).await.unwrap();
        stream.write_all(&as_form(request)).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let response = parse(&answer);
        let said = (response.status, response.outcome(), response.code());
        assert_eq!(said, (status, Some("not_executed"), code.to_owned()));
        assert_eq!(shop.books.rows().await, 0);
    }
    let again = as_form(form(orders, whole).request());
    let response = parse(&exchange(shop.address, &again).await);
    assert_eq!(
        (response.status, response.outcome()),
        (201, Some("executed"))
    );
}

/// Its order takes so long that the shop hears of the leaving before the order is done.
#[tokio::test]
async fn a_caller_that_leaves_does_not_stop_its_order() {
    let shop = Shop::open().await;
    shop.books.slow_down_orders().await;
    let mut stream = TcpStream::connect(shop.address).await.unwrap();
    stream.write_all(&Call::order("k").request()).await.unwrap();
    shop.books.until_locked().await;
    drop(stream);
    assert_eq!(shop.books.executed().await, 0);
    shop.books.until_executed(1).await;
    shop.finds_the_one_order("k").await;
}

fn too_large() -> Call {
    Call::order("k").with_body(" ".repeat(64 * 1024) + &order(&[("mug", 1)], CARD))
}

/// What is left is a valid order; only the length that was announced shows that it is cut.
fn cut(call: &Call) -> Vec<u8> {
    let length = call.body.len();
    String::from_utf8(call.request())
        .unwrap()
        .replace(
            &format!("content-length: {length}"),
            &format!("content-length: {}", length + 1),
        )
        .into_bytes()
}
