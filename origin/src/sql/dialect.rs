//! What differs between the databases, and a thin layer over what does not.
//!
//! **Invariant: a statement is written once where the three agree.** Its placeholders are `?`, its
//! values are integers, texts and bytes, and nobody outside this folder knows which database it is.

use std::borrow::Cow;
use std::time::Duration;

#[cfg(feature = "postgres")]
use sqlx::AssertSqlSafe;
use sqlx::migrate::{Migrate, Migrator};
use sqlx::{Pool, SqlSafeStr, SqlStr};

use super::Row;

/// A database that a ledger can live in: `sqlx::Sqlite`, `sqlx::MySql` (MariaDB too) or
/// `sqlx::Postgres`. A service that imports the ledger only names one; the methods are for code that
/// runs on all three.
pub trait Dialect: sqlx::Database<Connection: Migrate> + sealed::Sealed {
    /// Opens the pools of a program of its own: those that write, and those that only read.
    #[doc(hidden)]
    fn open(url: &str) -> impl Future<Output = Result<[Pool<Self>; 2], sqlx::Error>> + Send;

    /// What begins a transaction in which nobody waits for a lock longer than `wait`.
    #[doc(hidden)]
    fn begin(wait: Duration) -> SqlStr;

    /// What sets a connection back that is somebody else's, before such a transaction ends. `None`: nothing outlives
    /// the transaction.
    #[doc(hidden)]
    fn set_back() -> Option<SqlStr> {
        None
    }

    /// What begins a transaction that only reads, all of it at one moment.
    #[doc(hidden)]
    fn snapshot() -> SqlStr;

    /// This database's words for a statement.
    #[doc(hidden)]
    fn words(sql: Sql) -> SqlStr;

    /// What an error means to a ledger.
    #[doc(hidden)]
    fn meaning(error: &sqlx::Error) -> Meaning;

    /// What waits for the lock of whoever changes tables, with `held` = 1 once it is had. It is the session's, and ends with it.
    /// `None`: a transaction is all that is needed.
    #[doc(hidden)]
    fn lock_of_tables() -> Option<SqlStr> {
        None
    }

    /// The files that make the ledger's table, those of what stands beside it, and the shop's.
    #[doc(hidden)]
    fn migrations() -> Migrations;

    /// Runs a statement and counts the rows that it concerned.
    #[doc(hidden)]
    fn execute(
        connection: &mut Self::Connection,
        sql: SqlStr,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Every row that a statement gives.
    #[doc(hidden)]
    fn fetch(
        connection: &mut Self::Connection,
        sql: SqlStr,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Self::Row>, sqlx::Error>> + Send;

    /// A column that holds bytes.
    #[doc(hidden)]
    fn bytes(row: &Self::Row, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error>;

    /// A column that holds a number.
    #[doc(hidden)]
    fn integer(row: &Self::Row, column: &str) -> Result<Option<i64>, sqlx::Error>;

    /// A column that holds text.
    #[doc(hidden)]
    fn text(row: &Self::Row, column: &str) -> Result<Option<String>, sqlx::Error>;
}

pub(super) mod sealed {
    /// The three databases, and no other: a ledger on a fourth would have to be proved first.
    pub trait Sealed {}
}

/// A statement, in the words of each database.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a database left out must be a compile error"
)]
pub struct Sql {
    /// For MySQL and MariaDB.
    pub mysql: &'static str,
    /// For PostgreSQL.
    pub postgres: &'static str,
    /// For SQLite.
    pub sqlite: &'static str,
}

impl Sql {
    /// A statement that is the same in all of them.
    pub const fn same(same: &'static str) -> Self {
        Self {
            mysql: same,
            postgres: same,
            sqlite: same,
        }
    }
}

impl From<&'static str> for Sql {
    fn from(same: &'static str) -> Self {
        Self::same(same)
    }
}

/// A value in the place of a `?`. `None` is NULL.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the three types that the three agree on"
)]
pub enum Value<'v> {
    /// A BLOB, BYTEA or VARBINARY.
    Bytes(Option<&'v [u8]>),
    /// A BIGINT.
    Integer(Option<i64>),
    /// A TEXT or VARCHAR.
    Text(Option<&'v str>),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(Some(value))
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::Integer(value)
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(value: &'v str) -> Self {
        Self::Text(Some(value))
    }
}

impl<'v> From<&'v String> for Value<'v> {
    fn from(value: &'v String) -> Self {
        Self::Text(Some(value))
    }
}

impl<'v> From<Option<&'v str>> for Value<'v> {
    fn from(value: Option<&'v str>) -> Self {
        Self::Text(value)
    }
}

impl<'v> From<Option<&'v [u8]>> for Value<'v> {
    fn from(value: Option<&'v [u8]>) -> Self {
        Self::Bytes(value)
    }
}

/// Statements on a connection of any of the three.
///
/// ```
/// # use oncegate_origin::sql::{Dialect, Statements};
/// async fn take<DB: Dialect>(connection: &mut DB::Connection) -> Result<bool, sqlx::Error> {
///     let sql = "UPDATE products SET stock = stock - ? WHERE sku = ? AND stock >= ?";
///     Ok(connection.run(sql, &[3.into(), "mug".into(), 3.into()]).await? == 1)
/// }
/// ```
pub trait Statements: Migrate + Send + Sized {
    /// The database of this connection.
    type Database: Dialect<Connection = Self>;

    /// Runs a statement and counts the rows that it concerned.
    fn run(
        &mut self,
        sql: impl Into<Sql>,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Every row that a statement gives.
    fn all(
        &mut self,
        sql: impl Into<Sql>,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Row<Self::Database>>, sqlx::Error>> + Send;

    /// The first row that a statement gives, if there is one.
    fn first(
        &mut self,
        sql: impl Into<Sql>,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<Row<Self::Database>>, sqlx::Error>> + Send;
}

impl<C: sqlx::Connection<Database: Dialect<Connection = C>>> Statements for C {
    type Database = C::Database;

    fn run(
        &mut self,
        sql: impl Into<Sql>,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send {
        Self::Database::execute(self, Self::Database::words(sql.into()), values)
    }

    fn all(
        &mut self,
        sql: impl Into<Sql>,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Row<C::Database>>, sqlx::Error>> + Send {
        let words = C::Database::words(sql.into());
        async {
            let rows = C::Database::fetch(self, words, values).await?;
            Ok(rows.into_iter().map(Row::new).collect())
        }
    }

    fn first(
        &mut self,
        sql: impl Into<Sql>,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<Row<C::Database>>, sqlx::Error>> + Send {
        let words = C::Database::words(sql.into());
        async {
            let rows = C::Database::fetch(self, words, values).await?;
            Ok(rows.into_iter().next().map(Row::new))
        }
    }
}

/// What an error of the database means to a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a meaning that a ledger forgets must be a compile error"
)]
pub enum Meaning {
    /// A lock could not be had in time.
    Busy,
    /// The primary key or a unique index of some table was violated.
    Duplicate,
    /// Nothing of all that.
    Other,
    /// The transaction was rolled back to let another one through, and may be tried again.
    Victim,
}

/// The files that make the tables.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Migrations {
    /// Name and text, in order.
    pub ledger: &'static [(&'static str, &'static str)],
    /// Fences, messages and jobs: only for who wants them.
    pub beside: &'static [(&'static str, &'static str)],
    /// The shop's.
    #[cfg(feature = "shop")]
    pub shop: &'static [(&'static str, &'static str)],
}

/// Numbers the files from 1, and keeps account of them in a table of their own: the service's other
/// migrations have their own numbers. Whoever runs it has the lock, which is one for all accounts.
pub(super) fn migrator(files: &[(&'static str, &'static str)], table: &'static str) -> Migrator {
    use sqlx::migrate::{Migration, MigrationType};

    let numbered = (1..).zip(files).map(|(version, (name, sql))| {
        let name = Cow::Borrowed(*name);
        Migration::new(
            version,
            name,
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    });
    let mut migrator = Migrator::with_migrations(numbered.collect());
    migrator.dangerous_set_table_name(table);
    migrator.set_locking(false);
    migrator
}

/// `$1`, `$2`, … in the place of each `?`.
#[cfg(feature = "postgres")]
pub(super) fn numbered(sql: &str) -> SqlStr {
    let mut pieces = sql.split('?');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for (number, piece) in (1..).zip(pieces) {
        text += &format!("${number}{piece}");
    }
    // Made of a literal of this program and of numbers.
    AssertSqlSafe(text).into_sql_str()
}

/// The methods that are the same words for three types.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! driver {
    () => {
        async fn execute(
            connection: &mut Self::Connection,
            sql: sqlx::SqlStr,
            values: &[crate::sql::Value<'_>],
        ) -> Result<u64, sqlx::Error> {
            let query = crate::sql::dialect::bound!(sql, values);
            Ok(query.execute(connection).await?.rows_affected())
        }

        async fn fetch(
            connection: &mut Self::Connection,
            sql: sqlx::SqlStr,
            values: &[crate::sql::Value<'_>],
        ) -> Result<Vec<Self::Row>, sqlx::Error> {
            let query = crate::sql::dialect::bound!(sql, values);
            query.fetch_all(connection).await
        }

        fn bytes(row: &Self::Row, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
            sqlx::Row::try_get(row, column)
        }

        fn integer(row: &Self::Row, column: &str) -> Result<Option<i64>, sqlx::Error> {
            sqlx::Row::try_get(row, column)
        }
    };
}

/// A query with its values.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! bound {
    ($sql:ident, $values:ident) => {
        $values
            .iter()
            .fold(sqlx::query::<Self>($sql), |query, value| match value {
                crate::sql::Value::Bytes(value) => query.bind(*value),
                crate::sql::Value::Integer(value) => query.bind(*value),
                crate::sql::Value::Text(value) => query.bind(*value),
            })
    };
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) use {bound, driver};

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered() {
        let numbered = |sql| numbered(sql).as_str().to_owned();
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
        assert_eq!(
            numbered("UPDATE t SET a = ? WHERE b = ? AND c >= ?"),
            "UPDATE t SET a = $1 WHERE b = $2 AND c >= $3"
        );
    }
}
