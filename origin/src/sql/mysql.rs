//! MySQL and MariaDB, with InnoDB.
//!
//! READ COMMITTED: whoever waited for a row then reads it, and not a snapshot from before it; and a
//! look-up locks no gaps, in which the inserts of others would hang. An insert that waited for a row
//! which is then rolled back may still end in a deadlock with another one that waited for it: InnoDB
//! chooses a victim, and the ledger tries again.

use std::str::FromStr;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError};
use sqlx::pool::PoolOptions;
use sqlx::{AssertSqlSafe, MySql, Pool, Row, SqlSafeStr, SqlStr};

use super::dialect::{Meaning, Migrations, Sql, driver, sealed};
use super::{Dialect, LOCK_WAIT, POOL};

impl sealed::Sealed for MySql {}

impl Dialect for MySql {
    async fn open(url: &str) -> Result<[Pool<Self>; 2], sqlx::Error> {
        let pool = PoolOptions::new()
            .max_connections(POOL)
            .acquire_timeout(LOCK_WAIT)
            .connect_with(MySqlConnectOptions::from_str(url)?)
            .await?;
        Ok([pool.clone(), pool])
    }

    /// The wait is a setting of the session, in whole seconds, and so is what becomes of a text that does not fit its column: an
    /// error, whatever the service has chosen for its own statements.
    fn begin(wait: Duration) -> SqlStr {
        let seconds = wait.as_secs_f32().ceil().max(1.0);
        AssertSqlSafe(format!(
            "SET @oncegate_lock_wait = @@innodb_lock_wait_timeout, @oncegate_sql_mode = @@sql_mode, \
             innodb_lock_wait_timeout = {seconds:.0}, \
             sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'); \
             SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION"
        ))
        .into_sql_str()
    }

    fn set_back() -> Option<SqlStr> {
        let set_back =
            "SET innodb_lock_wait_timeout = @oncegate_lock_wait, sql_mode = @oncegate_sql_mode";
        Some(set_back.into_sql_str())
    }

    /// An hour, since to wait for ever, as MySQL knows it, is to MariaDB not to wait. Names are of the whole server.
    fn lock_of_tables() -> Option<SqlStr> {
        let lock =
            "SELECT CAST(GET_LOCK(CONCAT('oncegate.', SHA1(DATABASE())), 3600) AS SIGNED) AS held";
        Some(lock.into_sql_str())
    }

    fn snapshot() -> SqlStr {
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; \
         START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
            .into_sql_str()
    }

    fn words(sql: Sql) -> SqlStr {
        sql.mysql.into_sql_str()
    }

    fn meaning(error: &sqlx::Error) -> Meaning {
        const LOCK_WAIT_TIMEOUT: u16 = 1205;
        const DEADLOCK: u16 = 1213;
        /// MariaDB: somebody else changed the row since it was read.
        const RECORD_CHANGED: u16 = 1020;
        let Some(error) = error.as_database_error() else {
            return Meaning::Other;
        };
        let number = error
            .try_downcast_ref::<MySqlDatabaseError>()
            .map(MySqlDatabaseError::number);
        match number {
            Some(LOCK_WAIT_TIMEOUT) => Meaning::Busy,
            Some(DEADLOCK | RECORD_CHANGED) => Meaning::Victim,
            _ if error.is_unique_violation() => Meaning::Duplicate,
            _ => Meaning::Other,
        }
    }

    fn migrations() -> Migrations {
        Migrations {
            ledger: &[(
                "ledger",
                include_str!("../../migrations/mysql/ledger/0001_ledger.sql"),
            )],
            beside: &[
                (
                    "fences",
                    include_str!("../../migrations/mysql/beside/0001_fences.sql"),
                ),
                (
                    "messages_and_jobs",
                    include_str!("../../migrations/mysql/beside/0002_messages_and_jobs.sql"),
                ),
            ],
            #[cfg(feature = "shop")]
            shop: &[
                (
                    "shop",
                    include_str!("../../migrations/mysql/shop/0001_shop.sql"),
                ),
                (
                    "scenarios",
                    include_str!("../../migrations/mysql/shop/0002_scenarios.sql"),
                ),
                (
                    "dead_letters",
                    include_str!("../../migrations/mysql/shop/0003_dead_letters.sql"),
                ),
            ],
        }
    }

    /// Unchecked: a key is bytes to MySQL, since its collations take `a` and `a ` for one text.
    fn text(row: &Self::Row, column: &str) -> Result<Option<String>, sqlx::Error> {
        row.try_get_unchecked(column)
    }

    driver!();
}
