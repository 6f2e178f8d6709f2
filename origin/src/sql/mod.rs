//! Every SQL statement of the crate, and the connections they run on.
//!
//! **Invariant: whoever writes holds the database's write lock from the first statement on.**
//! `Database::begin` takes it (`BEGIN IMMEDIATE`), so a transaction never reads something that
//! another one changes before it commits, and never fails half-way because it could not upgrade.
//!
//! This module is the seam for a second database: the rest of the crate names [`Connection`] and
//! `Transaction`, passes plain Rust values, and knows no SQL.

pub(crate) mod ledger;
pub(crate) mod shop;

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::SqlSafeStr;
use sqlx::error::DatabaseError;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{
    Sqlite, SqliteConnectOptions, SqliteError, SqliteJournalMode, SqlitePool, SqliteSynchronous,
};
use tokio::time::{Instant, timeout};

/// What a statement runs on.
pub type Connection = sqlx::SqliteConnection;

/// A transaction that holds the write lock. It rolls back when dropped.
pub(crate) type Transaction = sqlx::Transaction<'static, Sqlite>;

/// How long a call waits for the database: for the connection and for the lock, before its effect
/// and after a refusal, all together (L5).
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// What is left of [`LOCK_WAIT`] for one call.
#[derive(Debug)]
pub(crate) struct Patience(Duration);

impl Default for Patience {
    fn default() -> Self {
        Self(LOCK_WAIT)
    }
}

/// The database could not be had within [`LOCK_WAIT`].
#[derive(Debug)]
pub(crate) struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = LOCK_WAIT.as_secs();
        write!(f, "the database is busy: others held it for {seconds} s")
    }
}

impl Error for Busy {}

const READERS: u32 = 4;

/// An open database with all its tables.
///
/// There is one connection that writes. SQLite has one write lock anyway; waiting for the
/// connection is fair (first come, first served), while waiting for SQLite's lock is polling and
/// would let late callers overtake early ones until those time out. SQLite's own lock still decides
/// between processes.
#[derive(Clone, Debug)]
pub struct Database {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Database {
    /// Opens `sqlite:<path>`, creates the file if there is none, and brings its tables up to date.
    ///
    /// # Errors
    ///
    /// The URL is no SQLite URL, the file cannot be opened, or a newer version has changed it.
    pub async fn open(url: &str) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::from_str(url)?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // What was answered must survive a power cut, so every commit reaches the disk.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(LOCK_WAIT);
        let pool = |size| {
            PoolOptions::new()
                .max_connections(size)
                .acquire_timeout(LOCK_WAIT)
        };
        let writer: SqlitePool = pool(1).connect_with(options.clone()).await?;
        migrator().run(&writer).await?;
        let readers = pool(READERS).connect_lazy_with(options.read_only(true));
        Ok(Self { writer, readers })
    }

    /// Waits for open transactions, then closes the file.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Takes the write lock. An error, [`Busy`] or another, means that there is no transaction: what
    /// a caller would have done in it is certainly not done.
    pub(crate) async fn begin(
        &self,
        patience: &mut Patience,
    ) -> Result<Transaction, Box<dyn Error + Send + Sync>> {
        let since = Instant::now();
        // Given up, it leaves nothing open: the connection undoes a BEGIN that nobody waits for.
        let begun = timeout(patience.0, self.writer.begin_with("BEGIN IMMEDIATE")).await;
        patience.0 = patience.0.saturating_sub(since.elapsed());
        match begun {
            Ok(Ok(transaction)) => Ok(transaction),
            Ok(Err(error)) if !is_busy(&error) => Err(error.into()),
            Ok(Err(_)) | Err(_) => Err(Busy.into()),
        }
    }

    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }
}

/// Whether the lock could not be had within [`LOCK_WAIT`].
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    const SQLITE_BUSY: i32 = 5;
    // The low byte of an extended code is the primary code.
    matches!(error, sqlx::Error::PoolTimedOut)
        || sqlite(error).is_some_and(|error| primary_code(error) == Some(SQLITE_BUSY))
}

/// Whether a unique index was violated. It is never the ledger's own: that one is met with
/// `ON CONFLICT (key, slot) DO NOTHING`, which swallows no other violation.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation())
}

fn sqlite(error: &sqlx::Error) -> Option<&SqliteError> {
    error.as_database_error()?.try_downcast_ref()
}

fn primary_code(error: &SqliteError) -> Option<i32> {
    let extended: i32 = error.code()?.parse().ok()?;
    Some(extended & 0xff)
}

fn migrator() -> Migrator {
    let migration = |version, name: &'static str, sql: &'static str| {
        Migration::new(
            version,
            name.into(),
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    };
    Migrator::with_migrations(vec![
        migration(
            1,
            "ledger",
            include_str!("../../migrations/0001_ledger.sql"),
        ),
        migration(2, "shop", include_str!("../../migrations/0002_shop.sql")),
    ])
}
