//! What the program does besides serving: each command opens the database, does one thing, and closes it.

use std::error::Error;
use std::process;
use std::time::Duration;

use oncegate_client::Claims;
use sqlx::{MySql, Postgres, Sqlite};
use uuid::Uuid;

use crate::books::{self, Findings};
use crate::broker::{Broker, Limits};
use crate::clock::now_ms;
use crate::consumer;
use crate::dead::{self, DeadLetter, Replayed};
use crate::id::Id;
use crate::job::{Run, Settings};
use crate::ledger::Ledger;
use crate::outbox;
use crate::server::{scheme, without_password};
use crate::shop::effects::Here;
use crate::shop::payout;
use crate::sql::{Database, Dialect, OtherBuild};

/// Whatever went wrong, in a sentence.
pub type Trouble = Box<dyn Error + Send + Sync>;

/// Opens the database of a URL and runs an expression with it.
macro_rules! with_database {
    ($url:expr, |$database:ident| $run:expr) => {
        match scheme($url) {
            "sqlite" => {
                let $database = open::<Sqlite>($url).await?;
                let ended = $run;
                $database.close().await;
                ended
            }
            "mysql" | "mariadb" => {
                let $database = open::<MySql>($url).await?;
                let ended = $run;
                $database.close().await;
                ended
            }
            "postgres" | "postgresql" => {
                let $database = open::<Postgres>($url).await?;
                let ended = $run;
                $database.close().await;
                ended
            }
            _ => Err("the database's URL begins with sqlite:, mysql:// or postgres://".into()),
        }
    };
}

/// Brings all tables up to date.
///
/// # Errors
///
/// The database cannot be opened, or another version has changed it.
pub async fn migrate(url: &str) -> Result<(), Trouble> {
    with_database!(url, |database| Ok(()))
}

/// Recomputes the books.
///
/// # Errors
///
/// The database failed.
pub async fn check(url: &str) -> Result<Findings, Trouble> {
    with_database!(url, |database| Ok(books::check(&database).await?))
}

/// Settles what is open.
///
/// # Errors
///
/// The database failed.
pub async fn settle(url: &str, settings: Settings) -> Result<Run, Trouble> {
    with_database!(url, |database| Ok(
        payout::settle(&database, settings).await?
    ))
}

/// Forgets keys that were settled longer ago than `retention`, and records of messages that no broker
/// delivers any more. Says how many of both.
///
/// # Errors
///
/// The database failed.
pub async fn purge(url: &str, retention: Duration) -> Result<[u64; 2], Trouble> {
    with_database!(url, |database| {
        let keys = Ledger::new(database.clone()).purge(retention).await?;
        Ok([keys, consumer::purge(&database, now_ms()).await?])
    })
}

/// Relays the outbox to a broker, or to the shop itself, until the future is dropped.
///
/// # Errors
///
/// The database or the broker cannot be reached.
pub async fn relay(url: &str, broker: Option<&str>, revive: bool) -> Result<(), Trouble> {
    with_database!(url, |database| {
        if revive {
            outbox::revive(&database).await?;
        }
        let owner = owner();
        let owner = Id::parse(&owner)?;
        match broker {
            None => outbox::relay(&database, owner, &Here(database.clone())).await,
            Some(broker) => {
                let broker = Broker::connect(broker).await?;
                outbox::relay(&database, owner, &broker).await;
            }
        }
        Ok(())
    })
}

/// Consumes what the broker delivers, each message under a claim if there are claims, until the future is dropped.
///
/// # Errors
///
/// The database or the broker cannot be reached.
pub async fn consume(url: &str, broker: &str, claims: Option<&Claims>) -> Result<(), Trouble> {
    let broker = Broker::connect(broker).await?;
    let limits = Limits::default();
    with_database!(url, |database| broker
        .consume(&database, limits, claims)
        .await)
}

/// The messages that nobody could work off.
///
/// # Errors
///
/// The database failed.
pub async fn dead_letters(url: &str) -> Result<Vec<DeadLetter>, Trouble> {
    with_database!(url, |database| Ok(dead::list(&database).await?))
}

/// Does the work of all dead letters, or of the one in a place.
///
/// # Errors
///
/// The database failed.
pub async fn replay(url: &str, place: Option<&str>) -> Result<Replayed, Trouble> {
    with_database!(url, |database| Ok(dead::replay(&database, place).await?))
}

/// Forgets a dead letter. `false`: there is none in this place.
///
/// # Errors
///
/// The database failed.
pub async fn discard(url: &str, place: &str) -> Result<bool, Trouble> {
    with_database!(url, |database| Ok(dead::discard(&database, place).await?))
}

/// A name that no other process has, for leases.
pub(crate) fn owner() -> String {
    format!("{}-{}", process::id(), Uuid::now_v7().simple())
}

async fn open<DB: Dialect>(url: &str) -> Result<Database<DB>, Trouble> {
    open_tables(url).await.map_err(|error| {
        let place = without_password(url);
        format!("cannot open the database {place}: {error}").into()
    })
}

/// Opens a database with all tables up to date.
pub(crate) async fn open_tables<DB: Dialect>(url: &str) -> Result<Database<DB>, Trouble> {
    let opened = Database::open_shop(url).await;
    opened.map_err(|error| match OtherBuild::of(&error) {
        Some(other) => format!("{other} (`cargo xtask up --fresh` makes one)").into(),
        None => error.into(),
    })
}
