//! The scenarios of the shop, each with what it rests on, and the pitfalls beside it. Every storm ends
//! with a look at the books: they balance.

mod callbacks;
mod fences;
mod jobs;
mod moves;
mod outbox;
mod pitfalls;
mod provider;
mod sums;

use oncegate_core::key::Key;
use oncegate_origin::books;
use oncegate_origin::clock::now_ms;
use oncegate_origin::id::Id;
use oncegate_origin::outbox::relay_once;
use oncegate_origin::shop::effects::Here;
use oncegate_origin::shop::place;
use oncegate_origin::sql::{Database, Dialect, Statements};
use serde_json::json;
use sqlx::Connection as _;

use crate::books::Books;

/// A shop's database, without a server in front of it.
pub(crate) struct Store<DB: Dialect> {
    pub(crate) books: Books,
    pub(crate) database: Database<DB>,
}

/// Runs the body with a store, on the database that the environment names. In the body, `DB` is that
/// database.
macro_rules! on_store {
    (|$store:ident| $body:block) => {{
        async fn on<DB: oncegate_origin::sql::Dialect>(
            $store: crate::scenarios::Store<DB>,
        ) $body
        let kind = crate::books::Kind::of_environment();
        let books = crate::books::Books::new().await;
        crate::books::with_database!(kind, DB => {
            on(crate::scenarios::Store::<DB>::on(books).await).await;
        });
    }};
}

pub(crate) use on_store;

impl<DB: Dialect> Store<DB> {
    pub(crate) async fn on(books: Books) -> Self {
        let database = open::<DB>(&books).await;
        Self { books, database }
    }

    /// A connection of its own, outside any transaction.
    pub(crate) async fn connect(&self) -> DB::Connection {
        DB::Connection::connect(&self.books.url()).await.unwrap()
    }

    /// An order of mugs that is paid later.
    pub(crate) async fn order_later(&self, key: &str, mugs: u32) -> String {
        let body = later(mugs);
        let key = Key::parse(key).unwrap();
        let mut connection = self.connect().await;
        place::<DB>(&mut connection, &key, body.as_bytes(), now_ms())
            .await
            .unwrap();
        let sql = "SELECT id FROM orders WHERE request_id = ?";
        let row = connection.first(sql, &[key.as_str().into()]).await.unwrap();
        row.unwrap().get("id").unwrap()
    }
}

/// The body of an order of mugs that is paid later.
pub(crate) fn later(mugs: u32) -> String {
    json!({ "cart": [{ "sku": "mug", "quantity": mugs }], "pay": "later", "email": "a@b.c" })
        .to_string()
}

async fn open<DB: Dialect>(books: &Books) -> Database<DB> {
    let database = Database::<DB>::open(&books.url()).await.unwrap();
    database.migrate_shop().await.unwrap();
    database
}

/// Two relays at once, until nothing is due.
pub(crate) async fn relay_all(books: &Books) {
    crate::books::with_database!(books.kind(), DB => relay_on::<DB>(books).await);
}

async fn relay_on<DB: Dialect>(books: &Books) {
    let (one, other) = (open::<DB>(books).await, open::<DB>(books).await);
    loop {
        let (one, other) = (Here(one.clone()), Here(other.clone()));
        let (first, second) = tokio::join!(
            relay_once(&one.0, Id::literal("one"), &one),
            relay_once(&other.0, Id::literal("other"), &other)
        );
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!((first.failed, second.failed), (0, 0));
        if first.delivered + second.delivered == 0 {
            return;
        }
    }
}

/// Stock, charges, messages, points and payouts, recomputed from the rows.
pub(crate) async fn assert_balance(books: &Books) {
    let findings = crate::books::with_database!(books.kind(), DB => {
        books::check(&open::<DB>(books).await).await
    });
    assert_eq!(findings.unwrap().to_string(), "the books balance");
}
