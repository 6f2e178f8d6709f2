//! What only the shop's own people see.

use crate::books::Books;
use crate::client::{Call, exchange, parse, request};
use crate::process::Program;
use crate::shop::{Shop, admin};

const PATHS: [&str; 4] = ["/books", "/metrics", "/points/u", "/orders"];

#[tokio::test]
async fn books_counts_accounts_and_all_orders_need_an_admin_secret() {
    let shop = Shop::open().await;
    for path in PATHS {
        assert_eq!(shop.look(path).await.status, 200, "{path}");
        for wrong in [
            "Bearer 0123456789abcdef",
            "Basic fedcba9876543210",
            "fedcba9876543210",
        ] {
            let headers = [("authorization", wrong.to_owned())];
            let bytes = request("GET", path, &headers, b"");
            let refused = parse(&exchange(shop.address, &bytes).await);
            assert_eq!(
                (refused.status, refused.code()),
                (401, "unauthorized".to_owned()),
                "{path}"
            );
        }
        assert_eq!(shop.plain("GET", path, "").await.status, 401, "{path}");
        // The gate signs what it protects, and that is none of this.
        let signed = Call::order("k").headers_for(path);
        let bytes = request("GET", path, &signed, b"");
        assert_eq!(
            parse(&exchange(shop.address, &bytes).await).status,
            401,
            "{path}"
        );
    }
}

#[tokio::test]
async fn where_no_admin_secret_is_configured_there_is_nothing_to_see() {
    let shop = Program::start(&Books::new().await, &[]);
    for path in PATHS {
        let bytes = request("GET", path, &[admin()], b"");
        assert_eq!(
            parse(&exchange(shop.address, &bytes).await).status,
            404,
            "{path}"
        );
    }
}

#[tokio::test]
async fn what_waits_for_a_person_is_counted_whichever_process_left_it() {
    let shop = Shop::open().await;
    let dead = "INSERT INTO outbox (id, aggregate, place, topic, payload, state, attempts,
            due_at, lease_until, created_at)
        VALUES ('m', 'a', 1, 'notice', '{}', 'dead', 10, 0, 0, 0)";
    shop.books.run(dead).await;
    let text = String::from_utf8(shop.look("/metrics").await.body).unwrap();
    for line in [
        "dead_letters 0",
        "outbox_dead 1",
        "outbox_pending 0",
        "unfinished 0",
    ] {
        assert!(
            text.contains(&format!("\noncegate_origin_{line}\n")),
            "{text}"
        );
    }
}
