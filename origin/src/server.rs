//! Connections: accepting them, hanging up on them, and ending in time.
//!
//! **Invariant: a caller that leaves does not stop an operation, and a shutdown does not halve one.**
//! Operations run as tasks of their own, apart from the connection that asked for them. At shutdown
//! they get [`GRACE`] to end; what is still open then is dropped with the process, and the database
//! rolls its transaction back.

use std::error::Error;
use std::fmt;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::Extensions;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use oncegate_core::signature::Secrets;
use sqlx::{MySql, Postgres, Sqlite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::commands::{self, owner};
use crate::gate::Gate;
use crate::http::{self, Context};
use crate::id::Id;
use crate::job::Settings;
use crate::lab::Lab;
use crate::ledger::Ledger;
use crate::ledger::outside::Times;
use crate::log;
use crate::outbox;
use crate::provider::client::Client;
use crate::shop::callback::CallbackSecret;
use crate::shop::effects::Here;
use crate::shop::unfinished::{Means, recover};
use crate::sql::{Database, Dialect};

/// How long open calls may go on after a shutdown began.
pub const GRACE: Duration = Duration::from_secs(1);

/// What an answer of the provider takes on top of the time for which it is waited for.
const MARGIN: Duration = Duration::from_millis(500);

/// Longer than any client keeps a connection that it may use again: a server that closes first can
/// meet a request that is already on its way, and nobody knows then what became of it.
const IDLE: Duration = Duration::from_secs(120);

/// What an origin needs to start.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a setting left out must be a compile error"
)]
pub struct Config {
    /// Where to listen. Port 0 takes any free one.
    pub listen: SocketAddr,
    /// `sqlite:<path>`, `mysql://…` or `postgres://…`
    pub database: String,
    /// The secrets that the gate signs with.
    pub secrets: Secrets,
    /// The secrets of those who may see books, counts, accounts and all orders. Without any nobody may.
    pub admin_secrets: Option<Secrets>,
    /// The secret that the payment provider signs its callbacks with. Without it none is taken.
    pub callback_secret: Option<CallbackSecret>,
    /// The payment provider. Without one, orders are paid at once or by callback.
    pub provider: Option<Client>,
    /// How often this process looks into what was begun and not finished.
    pub recover_every: Duration,
    /// How a settlement that is asked for over HTTP runs.
    pub settlement: Settings,
    /// Whether this process relays the outbox as well.
    pub relay: bool,
    /// Whether things may be broken on purpose.
    pub faults: bool,
    /// What the back room may ask the gate for, which is there with `faults`.
    pub lab: Lab,
}

/// An origin that listens.
#[derive(Debug)]
pub struct Origin {
    listener: TcpListener,
    closing: Closing,
    router: Router,
    tasks: TaskTracker,
}

impl Origin {
    /// Opens the database and starts to listen.
    ///
    /// # Errors
    ///
    /// The database cannot be opened, or the address cannot be listened on.
    pub async fn bind(config: Config) -> io::Result<Self> {
        let tasks = TaskTracker::new();
        let opened = match scheme(&config.database) {
            "sqlite" => open::<Sqlite>(&config, &tasks).await,
            "mysql" | "mariadb" => open::<MySql>(&config, &tasks).await,
            "postgres" | "postgresql" => open::<Postgres>(&config, &tasks).await,
            _ => Err("its URL begins with sqlite:, mysql:// or postgres://".into()),
        };
        let (closing, router) = opened.map_err(|error| {
            let place = without_password(&config.database);
            io::Error::other(format!("cannot open the database {place}: {error}"))
        })?;
        let listener = TcpListener::bind(config.listen).await.map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("cannot listen on {}: {error}", config.listen),
            )
        })?;
        Ok(Self {
            listener,
            closing,
            router,
            tasks,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// The socket has no address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` resolves, then ends within [`GRACE`] and a moment.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let stopping = CancellationToken::new();
        tokio::select! {
            () = accept(self.listener, self.router, &self.tasks, &stopping) => {}
            () = shutdown => {}
        }
        stopping.cancel();
        self.tasks.close();
        // Whatever does not end in time ends with the process.
        let _ = timeout(GRACE, self.tasks.wait()).await;
        let _ = timeout(GRACE / 2, self.closing.0).await;
    }
}

/// Waits for open transactions and closes the database, whichever it is.
struct Closing(Pin<Box<dyn Future<Output = ()> + Send>>);

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closing")
    }
}

async fn open<DB: Dialect>(
    config: &Config,
    tasks: &TaskTracker,
) -> Result<(Closing, Router), Box<dyn Error + Send + Sync>> {
    let database = commands::open_tables::<DB>(&config.database).await?;
    let ledger = ledger(&database, config);
    let context = Context {
        gate: Gate::new(ledger.clone(), config.secrets.clone()).with_tasks(tasks.clone()),
        database: database.clone(),
        admin_secrets: config.admin_secrets.clone(),
        callback_secret: config.callback_secret.clone(),
        provider: config.provider.clone(),
        settlement: config.settlement,
        lab: config.lab.clone(),
    };
    let relay = config.relay.then(|| {
        let database = database.clone();
        tokio::spawn(async move {
            let owner = owner();
            let owner = Id::parse(&owner).expect("a number and 32 digits");
            outbox::relay(&database, owner, &Here(database.clone())).await;
        })
    });
    let recovery = {
        let (database, provider) = (database.clone(), config.provider.clone());
        let (every, settings) = (config.recover_every, config.settlement);
        tokio::spawn(async move {
            let provider = provider.as_ref();
            let means = Means { provider, settings };
            recover(&database, &ledger, means, every).await;
        })
    };
    let router = http::router(context, config.faults);
    let close = async move {
        // What they have taken and not marked is due again when the lease is over.
        relay.iter().chain([&recovery]).for_each(JoinHandle::abort);
        database.close().await;
    };
    Ok((Closing(Box::pin(close)), router))
}

/// A duplicate, or a recovery, calls a provider again when nobody can be waiting for the last call any more.
fn ledger<DB: Dialect>(database: &Database<DB>, config: &Config) -> Ledger<DB> {
    let ledger = Ledger::new(database.clone());
    match &config.provider {
        Some(provider) => ledger.with_times(Times {
            call: provider.patience() + MARGIN,
            ..Times::default()
        }),
        None => ledger,
    }
}

/// What the URL names a kind of database by.
pub(crate) fn scheme(url: &str) -> &str {
    url.split(':').next().unwrap_or_default()
}

/// The URL as it may be shown: without a password, and without its query, which may hold one too.
pub(crate) fn without_password(url: &str) -> String {
    let shown = url.split('?').next().unwrap_or_default();
    let parts = shown.split_once("://").and_then(|(scheme, rest)| {
        let (login, place) = rest.rsplit_once('@')?;
        let user = login.split(':').next().unwrap_or_default();
        Some(format!("{scheme}://{user}@{place}"))
    });
    parts.unwrap_or_else(|| shown.to_owned())
}

/// Closes the connection that a request came on, without another byte.
#[derive(Clone, Debug)]
pub(crate) struct HangUp(CancellationToken);

impl HangUp {
    /// Never resolves: the connection, and with it whoever waits here, is gone.
    pub(crate) async fn now<T>(self) -> T {
        self.0.cancel();
        pending().await
    }
}

/// Never ends by itself. When it is dropped, nobody listens any more.
pub(crate) async fn accept(
    listener: TcpListener,
    router: Router,
    tasks: &TaskTracker,
    stopping: &CancellationToken,
) {
    let mut failing = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                failing = false;
                tasks.spawn(connection(stream, router.clone(), stopping.clone()));
            }
            // Out of file descriptors, mostly: those that are in use will be free again.
            Err(error) => {
                // The first of a row: the log must not drown in what it tells.
                if !failing {
                    let what = format!("cannot accept connections, and goes on trying: {error}");
                    log::error("accept", &what);
                }
                failing = true;
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router, stopping: CancellationToken) {
    let hang_up = HangUp(CancellationToken::new());
    let hung_up = hang_up.0.clone();
    // Small answers must not wait for the acknowledgement of earlier ones.
    let _ = stream.set_nodelay(true);
    let service = tower_service(router, hang_up);
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(serving);
    tokio::select! {
        // An error here is the client's: it sent no HTTP, or left.
        _ = &mut serving => return,
        () = hung_up.cancelled() => return,
        () = stopping.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = &mut serving => {}
        () = hung_up.cancelled() => {}
    }
}

/// Gives every request the means to hang up.
fn tower_service(
    router: Router,
    hang_up: HangUp,
) -> impl tower::Service<
    Request<Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future: Send,
> + Clone {
    tower::util::MapRequest::new(router, move |mut request: Request<Incoming>| {
        let extensions: &mut Extensions = request.extensions_mut();
        extensions.insert(hang_up.clone());
        request.map(axum::body::Body::new)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_is_secret_in_it() {
        let cases = [
            ("postgres://shop:secret@db/shop", "postgres://shop@db/shop"),
            (
                "postgres://db/shop?user=shop&password=secret",
                "postgres://db/shop",
            ),
            ("nats://shop:secret@broker:4222", "nats://shop@broker:4222"),
            ("sqlite:shop.sqlite", "sqlite:shop.sqlite"),
        ];
        for (url, shown) in cases {
            assert_eq!(without_password(url), shown);
        }
    }
}
