//! Rule L1 over HTTP: nothing is done without the gate's signature over the request line and the
//! named headers. The body is the transport's to protect.

use oncegate_core::header;
use oncegate_core::key::KeyKind;
use oncegate_core::signature::{CLOCK_TOLERANCE_MS, Claims, Secrets};
use oncegate_origin::clock::now_ms;

use crate::books::Books;
use crate::client::{Call, Response, SECRETS, exchange, parse, request};
use crate::shop::Shop;

type Headers = Vec<(&'static str, String)>;

fn signed() -> Headers {
    Call::order("k").headers_for("/orders")
}

fn with(name: &str, value: &str) -> Headers {
    let mut headers = signed();
    let header = headers
        .iter_mut()
        .find(|(known, _)| *known == name)
        .expect("a signed header");
    header.1 = value.to_owned();
    headers
}

async fn post(shop: &Shop, path: &str, headers: &Headers) -> Response {
    let body = Call::order("k").body;
    parse(
        &exchange(
            shop.address,
            &request("POST", path, headers, body.as_bytes()),
        )
        .await,
    )
}

async fn is_refused(shop: &Shop, path: &str, headers: &Headers) {
    let response = post(shop, path, headers).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (401, "signature_invalid"),
        "{headers:?}"
    );
    assert_eq!(response.outcome(), None);
}

fn sign(secrets: &str, at_ms: u64) -> String {
    let call = Call::order("k");
    let fingerprint = call.fingerprint().to_string();
    let claims = Claims {
        method: "POST",
        path_and_query: "/orders",
        key: "k",
        attempt: "1",
        operation: "op_0123456789012345678901234567890123456789012",
        key_kind: "client",
        fingerprint: &fingerprint,
    };
    Secrets::parse(secrets).unwrap().sign(at_ms, &claims)
}

#[tokio::test]
async fn l1_a_change_of_any_covered_part_is_refused_without_effect() {
    let shop = Shop::open().await;
    let fingerprint = "0".repeat(64);
    for (name, value) in [
        (header::IDEMPOTENCY_KEY, "other"),
        (header::IDEMPOTENCY_KEY, "\"k\""),
        (header::ATTEMPT, "2"),
        (header::OPERATION, "op_"),
        (header::KEY_KIND, "generated"),
        (header::FINGERPRINT, &fingerprint),
        (header::SIGNATURE, ""),
        (header::SIGNATURE, "t=1, kid=test, v1=00"),
    ] {
        is_refused(&shop, "/orders", &with(name, value)).await;
    }
    is_refused(&shop, "/orders?a=1", &signed()).await;
    is_refused(&shop, "/.oncegate/ledger/cancel", &signed()).await;
    is_refused(&shop, "/.oncegate/ledger/probe", &signed()).await;
    assert_eq!(shop.books.rows().await, 0);
    assert_eq!(post(&shop, "/orders", &signed()).await.status, 201);
}

#[tokio::test]
async fn l1_a_missing_or_repeated_header_is_refused() {
    let shop = Shop::open().await;
    for index in 0..signed().len() {
        let (mut without, mut twice) = (signed(), signed());
        without.remove(index);
        is_refused(&shop, "/orders", &without).await;
        twice.push(twice[index].clone());
        is_refused(&shop, "/orders", &twice).await;
    }
    is_refused(&shop, "/orders", &Headers::new()).await;
    assert_eq!(shop.books.executed().await, 0);
}

#[tokio::test]
async fn l1_another_secret_or_name_is_refused() {
    let shop = Shop::open().await;
    for secrets in ["test=another secret!!", "other=0123456789abcdef"] {
        let headers = with(header::SIGNATURE, &sign(secrets, now_ms()));
        is_refused(&shop, "/orders", &headers).await;
    }
    assert_eq!(shop.books.executed().await, 0);
}

#[tokio::test]
async fn l1_a_signature_from_a_clock_far_away_is_refused() {
    let shop = Shop::open().await;
    for at in [
        now_ms() - CLOCK_TOLERANCE_MS - 1000,
        now_ms() + CLOCK_TOLERANCE_MS + 10_000,
    ] {
        let headers = with(header::SIGNATURE, &sign(SECRETS, at));
        is_refused(&shop, "/orders", &headers).await;
    }
    let near = with(
        header::SIGNATURE,
        &sign(SECRETS, now_ms() - CLOCK_TOLERANCE_MS + 10_000),
    );
    assert_eq!(post(&shop, "/orders", &near).await.status, 201);
}

#[tokio::test]
async fn l1_secrets_rotate_without_a_gap() {
    let both = "new=fedcba9876543210,test=0123456789abcdef";
    let shop = Shop::start(Books::new().await, both, false).await;
    for secrets in [SECRETS, both] {
        let headers = with(header::SIGNATURE, &sign(secrets, now_ms()));
        assert_eq!(post(&shop, "/orders", &headers).await.status, 201);
    }
    assert_eq!(shop.books.executed().await, 1);
}

#[tokio::test]
async fn l8_a_signed_call_that_is_malformed_does_nothing_and_says_so() {
    let shop = Shop::open().await;
    let call = Call::order("no bare key").with_kind(KeyKind::Token);
    let response = shop.send(&call).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (400, "call_invalid")
    );
    assert!(
        response.json()["detail"]
            .as_str()
            .unwrap()
            .contains("(character 3)"),
        "{response:?}"
    );
    assert_eq!(response.outcome(), Some("not_executed"));
    assert_eq!(shop.books.executed().await, 0);
    // Of an operation it proves nothing that a question about it cannot be read.
    for question in ["probe", "cancel"] {
        let response = shop.ask(question, &call).await;
        assert_eq!(
            (response.status, response.outcome()),
            (400, Some("unknown"))
        );
    }
}

#[tokio::test]
async fn l1_a_quoted_key_is_signed_as_spelled_and_stored_as_meant() {
    let shop = Shop::open().await;
    assert_eq!(shop.send(&Call::order("\"a key\"")).await.status, 201);
    let found = shop
        .plain("GET", "/orders?request_id=a%20key", "")
        .await
        .json();
    assert_eq!(found["orders"][0]["request_id"], "a key");
}
