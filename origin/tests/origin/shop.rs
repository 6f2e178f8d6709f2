//! A shop that serves from a directory of its own, and a look at its books from outside.

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::Poll;
use std::time::Duration;

use oncegate_core::signature::Secrets;
use oncegate_origin::server::{Config, Origin};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection, query, query_scalar};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::client::{Call, Response, SECRETS, exchange, parse, request};

/// Asks again until it is so, for as long as a slow machine may need.
pub(crate) async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !is_so().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let ended = timeout(Duration::from_secs(30), asking).await;
    assert!(ended.is_ok(), "it did not come to this within 30 s");
}

/// Gives a future its place in the queue: polled once, it is ahead of whatever comes later.
pub(crate) async fn queue_up(future: &mut (impl Future + Unpin)) {
    let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context)));
    assert!(polled.await.is_pending());
}

/// A directory with a database file in it.
pub(crate) struct Books(TempDir);

impl Books {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.0.path().join("shop.sqlite").display())
    }

    /// A connection of its own, as another process would have it.
    pub(crate) async fn connect(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.0.path().join("shop.sqlite"));
        options.connect().await.expect("the shop's file")
    }

    /// Another process that holds the write lock, until the connection commits or closes.
    pub(crate) async fn lock(&self) -> SqliteConnection {
        let mut lock = self.connect().await;
        query("BEGIN IMMEDIATE").execute(&mut lock).await.unwrap();
        lock
    }

    /// Until somebody is inside a transaction that writes.
    pub(crate) async fn until_locked(&self) {
        let path = self.0.path().join("shop.sqlite");
        let options = SqliteConnectOptions::new().filename(path);
        let options = options.busy_timeout(Duration::ZERO);
        let mut asking = options.connect().await.expect("the shop's file");
        until(async || {
            let got = query("BEGIN IMMEDIATE").execute(&mut asking).await;
            if got.is_ok() {
                query("ROLLBACK").execute(&mut asking).await.unwrap();
            }
            got.is_err()
        })
        .await;
    }

    /// Until there are so many orders.
    pub(crate) async fn until_executed(&self, orders: i64) {
        until(async || self.orders().await == orders).await;
        assert_eq!(self.executed().await, orders);
    }

    /// One number out of the file.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let mut connection = self.connect().await;
        query_scalar(AssertSqlSafe(sql))
            .fetch_one(&mut connection)
            .await
            .expect("a number")
    }

    pub(crate) async fn orders(&self) -> i64 {
        self.number("SELECT count(*) FROM orders").await
    }

    /// Every row of the ledger.
    pub(crate) async fn rows(&self) -> i64 {
        self.number("SELECT count(*) FROM idempotency_ledger").await
    }

    pub(crate) async fn stock(&self, sku: &str) -> i64 {
        self.number(&format!("SELECT stock FROM products WHERE sku = '{sku}'"))
            .await
    }

    /// Orders, payments, and executed rows: all the same number, whatever happened.
    pub(crate) async fn executed(&self) -> i64 {
        let orders = self.orders().await;
        let payments = self.number("SELECT count(*) FROM payments").await;
        let rows = "SELECT count(*) FROM idempotency_ledger WHERE state = 'executed'";
        assert_eq!((orders, orders), (payments, self.number(rows).await));
        orders
    }
}

/// A shop inside this process. It stops when dropped.
pub(crate) struct Shop {
    pub(crate) address: SocketAddr,
    pub(crate) books: Books,
    _stop: oneshot::Sender<()>,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::start(Books::new(), SECRETS, false).await
    }

    /// Sends the order of `key` again, as the gate would, and finds it executed, once.
    pub(crate) async fn finds_the_one_order(&self, key: &str) {
        let again = Call {
            attempt: 2,
            ..Call::order(key)
        };
        let found = self.send(&again).await;
        assert_eq!((found.status, found.outcome()), (201, Some("executed")));
        assert_eq!(self.books.executed().await, 1);
    }

    pub(crate) async fn with_faults(faults: &str) -> Self {
        let shop = Self::start(Books::new(), SECRETS, true).await;
        shop.set_faults(faults).await;
        shop
    }

    pub(crate) async fn start(books: Books, secrets: &str, faults: bool) -> Self {
        let origin = bind(&books, secrets, faults).await;
        let address = origin.address().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(origin.serve(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            books,
            _stop: stop,
        }
    }

    pub(crate) async fn send(&self, call: &Call) -> Response {
        parse(&exchange(self.address, &call.request()).await)
    }

    /// Probe or cancel of a call.
    pub(crate) async fn ask(&self, what: &str, call: &Call) -> Response {
        let path = format!("/.oncegate/ledger/{what}");
        let bytes = request("POST", &path, &call.headers_for(&path), b"");
        parse(&exchange(self.address, &bytes).await)
    }

    pub(crate) async fn set_faults(&self, faults: &str) {
        assert_eq!(self.plain("PUT", "/faults", faults).await.status, 204);
    }

    /// Until the orders that arrived have left so many faults.
    pub(crate) async fn until_faults_left(&self, left: usize) {
        let list = async || self.plain("GET", "/faults", "").await.json();
        until(async || list().await.as_array().map(Vec::len) == Some(left)).await;
    }

    pub(crate) async fn plain(&self, method: &str, path: &str, body: &str) -> Response {
        parse(&exchange(self.address, &request(method, path, &[], body.as_bytes())).await)
    }
}

async fn bind(books: &Books, secrets: &str, faults: bool) -> Origin {
    for _ in 0..100 {
        let config = Config {
            listen: address(),
            database: books.url(),
            secrets: Secrets::parse(secrets).expect("secrets"),
            faults,
        };
        if let Ok(origin) = Origin::bind(config).await {
            return origin;
        }
    }
    panic!("no free port");
}

/// An address below the range from which the system takes the ports of outgoing connections: those
/// would collide now and then.
pub(crate) fn address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = u16::try_from(process::id() % 500).expect("below 500") * 20;
    let port = 21_000 + first + NEXT.fetch_add(1, Ordering::Relaxed);
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
