//! PostgreSQL.
//!
//! READ COMMITTED: each statement sees what was committed before it, so whoever waited for a row then
//! reads it. `ON CONFLICT DO NOTHING` waits for a row that is not committed yet, and is no failed
//! statement, after which nothing more could be done in the transaction.

use std::str::FromStr;
use std::time::Duration;

use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Pool, Postgres, Row, SqlSafeStr, SqlStr};

use super::dialect::{Meaning, Migrations, Sql, driver, numbered, sealed};
use super::{Dialect, LOCK_WAIT, POOL};

impl sealed::Sealed for Postgres {}

impl Dialect for Postgres {
    async fn open(url: &str) -> Result<[Pool<Self>; 2], sqlx::Error> {
        let pool = PoolOptions::new()
            .max_connections(POOL)
            .acquire_timeout(LOCK_WAIT)
            .connect_with(PgConnectOptions::from_str(url)?)
            .await?;
        Ok([pool.clone(), pool])
    }

    fn begin(wait: Duration) -> SqlStr {
        // Zero would be for ever.
        let milliseconds = wait.as_millis().max(1);
        AssertSqlSafe(format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {milliseconds}"
        ))
        .into_sql_str()
    }

    /// A number that nobody else has; it is of this database.
    fn lock_of_tables() -> Option<SqlStr> {
        let lock = "SELECT CAST(1 AS BIGINT) AS held FROM pg_advisory_lock(8029752514108291)";
        Some(lock.into_sql_str())
    }

    fn snapshot() -> SqlStr {
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".into_sql_str()
    }

    fn words(sql: Sql) -> SqlStr {
        numbered(sql.postgres)
    }

    fn meaning(error: &sqlx::Error) -> Meaning {
        let Some(error) = error.as_database_error() else {
            return Meaning::Other;
        };
        match error.code().as_deref() {
            Some("23505") => Meaning::Duplicate,
            // serialization_failure, deadlock_detected
            Some("40001" | "40P01") => Meaning::Victim,
            // lock_not_available
            Some("55P03") => Meaning::Busy,
            _ => Meaning::Other,
        }
    }

    fn migrations() -> Migrations {
        Migrations {
            ledger: &[(
                "ledger",
                include_str!("../../migrations/postgres/ledger/0001_ledger.sql"),
            )],
            beside: &[
                (
                    "fences",
                    include_str!("../../migrations/postgres/beside/0001_fences.sql"),
                ),
                (
                    "messages_and_jobs",
                    include_str!("../../migrations/postgres/beside/0002_messages_and_jobs.sql"),
                ),
            ],
            #[cfg(feature = "shop")]
            shop: &[
                (
                    "shop",
                    include_str!("../../migrations/postgres/shop/0001_shop.sql"),
                ),
                (
                    "scenarios",
                    include_str!("../../migrations/postgres/shop/0002_scenarios.sql"),
                ),
                (
                    "dead_letters",
                    include_str!("../../migrations/postgres/shop/0003_dead_letters.sql"),
                ),
            ],
        }
    }

    fn text(row: &Self::Row, column: &str) -> Result<Option<String>, sqlx::Error> {
        row.try_get(column)
    }

    driver!();
}
