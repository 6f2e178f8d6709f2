//! A shop that serves from a database of its own.

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::Poll;
use std::time::Duration;

use oncegate_core::signature::Secrets;
use oncegate_origin::job::Settings;
use oncegate_origin::lab::Lab;
use oncegate_origin::server::{Config, Origin};
use oncegate_origin::shop::callback::CallbackSecret;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::books::Books;
use crate::client::{Call, Response, SECRETS, exchange, parse, request};

/// What the payment provider signs with.
pub(crate) const CALLBACK_SECRET: &str = "0123456789abcdef";

pub(crate) const ADMIN_SECRETS: &str = "people=fedcba9876543210";

/// What the shop's own people send.
pub(crate) fn admin() -> (&'static str, String) {
    ("authorization", "Bearer fedcba9876543210".to_owned())
}

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

/// A shop inside this process. It stops when dropped.
pub(crate) struct Shop {
    pub(crate) address: SocketAddr,
    pub(crate) books: Books,
    _stop: oneshot::Sender<()>,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::start(Books::new().await, SECRETS, false).await
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
        let shop = Self::start(Books::new().await, SECRETS, true).await;
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

    /// What only the shop's own people may see.
    pub(crate) async fn look(&self, path: &str) -> Response {
        parse(&exchange(self.address, &request("GET", path, &[admin()], b"")).await)
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
            admin_secrets: Some(Secrets::parse(ADMIN_SECRETS).expect("secrets")),
            callback_secret: Some(CallbackSecret::parse(CALLBACK_SECRET).expect("a secret")),
            provider: None,
            recover_every: Duration::from_secs(10),
            settlement: Settings::default(),
            relay: false,
            faults,
            lab: Lab::default(),
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
