//! The switches that break things on purpose.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::books::Books;
use crate::client::{Call, SECRETS, exchange, parse, request};
use crate::shop::Shop;

#[tokio::test]
async fn without_the_flag_there_are_no_switches() {
    let shop = Shop::open().await;
    for (method, path) in [
        ("PUT", "/faults"),
        ("GET", "/faults"),
        ("PUT", "/faults/messages"),
        ("DELETE", "/shop"),
        ("POST", "/lab/locks"),
        ("GET", "/lab/notices/r"),
        ("POST", "/lab/callbacks"),
        ("GET", "/lab/callbacks/o"),
        ("POST", "/lab/naive"),
        ("POST", "/lab/orders"),
    ] {
        assert_eq!(
            shop.plain(method, path, "[\"fail\"]").await.status,
            404,
            "{method} {path}"
        );
    }
    assert_eq!(shop.send(&Call::order("k")).await.status, 201);
}

#[tokio::test]
async fn messages_have_switches_of_their_own() {
    let shop = Shop::with_faults("[]").await;
    // What is in the doing of an order is nothing to a message.
    for nothing in [r#""fail""#, r#""refuse""#, r#"{"delay_within":1}"#] {
        let set = format!("[{nothing}]");
        let refused = shop.plain("PUT", "/faults/messages", &set).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "faults_invalid".into())
        );
        let why = format!("{nothing} does nothing to a message: set it at /faults.");
        assert_eq!(refused.json()["detail"], why);
    }
    let set = shop.plain("PUT", "/faults/messages", r#"["unavailable"]"#);
    assert_eq!(set.await.status, 204);
    assert_eq!(shop.plain("POST", "/orders", "").await.status, 401);
    assert_eq!(shop.plain("POST", "/messages", "").await.status, 503);
    assert_eq!(shop.plain("POST", "/messages", "").await.status, 401);
}

#[tokio::test]
async fn a_back_room_that_does_not_know_its_gate_says_what_it_was_not_given() {
    let shop = Shop::with_faults("[]").await;
    let json = [("content-type", "application/json".to_owned())];
    for (path, wanted, flag) in [
        (
            "/lab/locks",
            r#"{"run":"r","guard":"lock"}"#,
            "--locks-secret",
        ),
        (
            "/lab/claims",
            r#"{"run":"r","how":"claimed"}"#,
            "--claims-secret",
        ),
        (
            "/lab/cron",
            r#"{"slot":"s","name":"n"}"#,
            "--gate-admin-secret",
        ),
    ] {
        let bytes = request("POST", path, &json, wanted.as_bytes());
        let answer = parse(&exchange(shop.address, &bytes).await);
        assert_eq!(
            (answer.status, answer.code()),
            (503, "gate_not_known".into())
        );
        let said = String::from_utf8(answer.body).unwrap();
        assert!(said.contains(flag), "{said}");
    }
}

#[tokio::test]
async fn each_order_takes_the_first_fault_signed_or_not() {
    let shop = Shop::with_faults(r#"["none", "unavailable", {"delay_after": 1}]"#).await;
    shop.plain("GET", "/orders", "").await;
    assert_eq!(shop.plain("POST", "/orders", "").await.status, 401);
    assert_eq!(
        shop.plain("GET", "/faults", "").await.body,
        br#"["unavailable",{"delay_after":1}]"#
    );
    assert_eq!(shop.plain("POST", "/orders", "").await.status, 503);
    shop.set_faults("[\"refuse\"]").await;
    assert_eq!(
        shop.plain("GET", "/faults", "").await.body,
        br#"["refuse"]"#
    );
    assert_eq!(
        shop.plain("PUT", "/faults", "[\"explode\"]").await.code(),
        "faults_invalid"
    );
    assert_eq!(
        shop.plain("GET", "/faults", "").await.body,
        br#"["refuse"]"#
    );
}

#[tokio::test]
async fn drop_after_commit_leaves_one_order_and_not_a_byte_of_an_answer() {
    let shop = Shop::with_faults(r#"["drop_after_commit"]"#).await;
    let answer = exchange(shop.address, &Call::order("k").request()).await;
    assert_eq!(answer, b"");
    assert_eq!(shop.books.executed().await, 1);
    shop.finds_the_one_order("k").await;
}

#[tokio::test]
async fn drop_before_leaves_nothing() {
    let shop = Shop::with_faults(r#"["drop_before"]"#).await;
    assert_eq!(
        exchange(shop.address, &Call::order("k").request()).await,
        b""
    );
    assert_eq!(shop.books.executed().await, 0);
    assert_eq!(shop.send(&Call::order("k")).await.status, 201);
}

/// Delays that no test waits for.
#[tokio::test]
async fn delays_are_on_their_side_of_the_commit() {
    let shop = Shop::with_faults(r#"[{"delay_before": 600000}, {"delay_after": 600000}]"#).await;
    let send = |key| {
        let (address, request) = (shop.address, Call::order(key).request());
        tokio::spawn(async move { exchange(address, &request).await })
    };
    let before = send("before");
    shop.until_faults_left(1).await;
    let after = send("after");
    shop.books.until_executed(1).await;
    // The connection to the database is given in turn, so what is not delayed comes after both.
    assert_eq!(shop.send(&Call::order("k")).await.status, 201);
    let keys = "SELECT count(*) FROM orders WHERE request_id IN ('after', 'k')";
    assert_eq!(
        (shop.books.number(keys).await, shop.books.executed().await),
        (2, 2)
    );
    assert!(!before.is_finished() && !after.is_finished());
}

#[tokio::test]
async fn a_delay_ends() {
    let faults = r#"[{"delay_before": 200}, {"delay_within": 200}, {"delay_after": 200}]"#;
    let shop = Shop::with_faults(faults).await;
    for key in ["before", "within", "after"] {
        let started = Instant::now();
        assert_eq!(shop.send(&Call::order(key)).await.status, 201);
        assert!(started.elapsed() >= Duration::from_millis(200), "{key}");
    }
}

#[tokio::test]
async fn a_delayed_attempt_arrives_although_its_caller_left() {
    let shop = Shop::start(Books::in_a_file(), SECRETS, true).await;
    shop.set_faults(r#"[{"delay_before": 200}]"#).await;
    // So that it cannot be done before its caller left.
    let lock = shop.books.lock_file().await;
    let mut stream = TcpStream::connect(shop.address).await.unwrap();
    stream.write_all(&Call::order("k").request()).await.unwrap();
    shop.until_faults_left(0).await;
    drop(stream);
    assert_eq!(shop.books.executed().await, 0);
    drop(lock);
    shop.books.until_executed(1).await;
}

#[tokio::test]
async fn l4_refuse_declines_any_card_for_good() {
    let shop = Shop::with_faults(r#"["refuse"]"#).await;
    let first = shop.send(&Call::order("k")).await;
    assert_eq!((first.status, first.outcome()), (402, Some("refused")));
    assert_eq!(shop.send(&Call::order("k")).await.stored(), first.stored());
    assert_eq!(
        (shop.books.executed().await, shop.books.stock("mug").await),
        (0, 100)
    );
}

#[tokio::test]
async fn unavailable_does_nothing_and_says_so() {
    let shop = Shop::with_faults(r#"["unavailable"]"#).await;
    let response = shop.send(&Call::order("k")).await;
    assert_eq!(
        (response.status, response.outcome()),
        (503, Some("not_executed"))
    );
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(shop.books.executed().await, 0);
}

#[tokio::test]
async fn unavailable_after_commit_did_it_and_says_nothing() {
    let shop = Shop::with_faults(r#"["unavailable_after_commit"]"#).await;
    let response = shop.send(&Call::order("k")).await;
    assert_eq!((response.status, response.outcome()), (503, None));
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(shop.books.executed().await, 1);
}

#[tokio::test]
async fn l4_fail_rolls_back_and_says_nothing() {
    let shop = Shop::with_faults(r#"["fail"]"#).await;
    let response = shop.send(&Call::order("k")).await;
    assert_eq!((response.status, response.outcome()), (500, None));
    assert_eq!(
        (shop.books.executed().await, shop.books.stock("mug").await),
        (0, 100)
    );
    assert_eq!(shop.send(&Call::order("k")).await.status, 201);
}

#[tokio::test]
async fn deleting_the_shop_empties_the_books_and_fills_the_shelves() {
    let shop = Shop::with_faults("[]").await;
    shop.send(&Call::order("k")).await;
    assert_eq!(shop.plain("DELETE", "/shop", "").await.status, 204);
    assert_eq!(
        (shop.books.executed().await, shop.books.stock("mug").await),
        (0, 100)
    );
    assert_eq!(shop.send(&Call::order("k")).await.status, 201);
}

#[tokio::test]
async fn hanging_up_concerns_one_connection() {
    let shop = Shop::with_faults(r#"["drop_before", {"delay_after": 200}]"#).await;
    let dropped = Call::order("a").request();
    let kept = Call::order("b");
    let (dropped, kept) = tokio::join!(exchange(shop.address, &dropped), async {
        shop.until_faults_left(1).await;
        shop.send(&kept).await
    });
    assert_eq!((dropped.len(), kept.status), (0, 201));
    let health = exchange(shop.address, &request("GET", "/health", &[], b"")).await;
    assert!(health.starts_with(b"HTTP/1.1 200"));
}
