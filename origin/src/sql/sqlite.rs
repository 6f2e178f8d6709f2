//! SQLite: one file, one writer.
//!
//! Whoever writes holds the database's write lock from the first statement on (`BEGIN IMMEDIATE`), so
//! a transaction never reads something that another one changes before it commits, and never fails
//! half-way because it could not upgrade.

use std::str::FromStr;
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteError, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Pool, Row, SqlSafeStr, SqlStr, Sqlite};

use super::dialect::{Meaning, Migrations, Sql, driver, sealed};
use super::{Dialect, LOCK_WAIT};

const READERS: u32 = 4;

impl sealed::Sealed for Sqlite {}

impl Dialect for Sqlite {
    /// One connection writes. SQLite has one write lock anyway; waiting for the connection is fair
    /// (first come, first served), while waiting for SQLite's lock is polling and would let late callers
    /// overtake early ones until those time out. SQLite's own lock still decides between processes.
    async fn open(url: &str) -> Result<[Pool<Self>; 2], sqlx::Error> {
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
        let writer = pool(1).connect_with(options.clone()).await?;
        let readers = pool(READERS).connect_lazy_with(options.read_only(true));
        Ok([writer, readers])
    }

    /// How long it waits for the lock is a setting of the connection, `busy_timeout`.
    fn begin(_wait: Duration) -> SqlStr {
        "BEGIN IMMEDIATE".into_sql_str()
    }

    fn snapshot() -> SqlStr {
        "BEGIN".into_sql_str()
    }

    fn words(sql: Sql) -> SqlStr {
        sql.sqlite.into_sql_str()
    }

    fn meaning(error: &sqlx::Error) -> Meaning {
        const SQLITE_BUSY: i32 = 5;
        let sqlite = error.as_database_error();
        match sqlite {
            Some(error) if error.is_unique_violation() => Meaning::Duplicate,
            Some(error) if primary_code(error) == Some(SQLITE_BUSY) => Meaning::Busy,
            _ => Meaning::Other,
        }
    }

    fn migrations() -> Migrations {
        Migrations {
            ledger: &[(
                "ledger",
                include_str!("../../migrations/sqlite/ledger/0001_ledger.sql"),
            )],
            beside: &[
                (
                    "fences",
                    include_str!("../../migrations/sqlite/beside/0001_fences.sql"),
                ),
                (
                    "messages_and_jobs",
                    include_str!("../../migrations/sqlite/beside/0002_messages_and_jobs.sql"),
                ),
            ],
            #[cfg(feature = "shop")]
            shop: &[
                (
                    "shop",
                    include_str!("../../migrations/sqlite/shop/0001_shop.sql"),
                ),
                (
                    "scenarios",
                    include_str!("../../migrations/sqlite/shop/0002_scenarios.sql"),
                ),
                (
                    "dead_letters",
                    include_str!("../../migrations/sqlite/shop/0003_dead_letters.sql"),
                ),
            ],
        }
    }

    fn text(row: &Self::Row, column: &str) -> Result<Option<String>, sqlx::Error> {
        row.try_get(column)
    }

    driver!();
}

/// The low byte of an extended code.
fn primary_code(error: &dyn DatabaseError) -> Option<i32> {
    let error: &SqliteError = error.try_downcast_ref()?;
    let extended: i32 = error.code()?.parse().ok()?;
    Some(extended & 0xff)
}
