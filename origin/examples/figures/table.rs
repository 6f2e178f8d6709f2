//! The tables, which are the same on all three databases.

use oncegate_origin::sql::{Dialect, Statements};
use sqlx::Pool;

use crate::Result;

const DROP: [&str; 5] = [
    "DROP TABLE IF EXISTS figures_plain",
    "DROP TABLE IF EXISTS figures_unique",
    "DROP TABLE IF EXISTS figures_charges",
    "DROP TABLE IF EXISTS figures_tokens",
    "DROP TABLE IF EXISTS figures_locks",
];
const CREATE: [&str; 5] = [
    "CREATE TABLE figures_plain (id BIGINT NOT NULL PRIMARY KEY, request_no VARCHAR(64) NOT NULL, cents BIGINT NOT NULL)",
    "CREATE TABLE figures_unique
        (id BIGINT NOT NULL PRIMARY KEY, request_no VARCHAR(64) NOT NULL UNIQUE, cents BIGINT NOT NULL)",
    "CREATE TABLE figures_charges (pay_no VARCHAR(64) NOT NULL, cents BIGINT NOT NULL)",
    "CREATE TABLE figures_tokens (token VARCHAR(64) NOT NULL PRIMARY KEY)",
    "CREATE TABLE figures_locks (name VARCHAR(64) NOT NULL PRIMARY KEY, ends_ms BIGINT NOT NULL)",
];

/// Makes them anew, and empties the ledger.
pub(crate) async fn make<DB: Dialect>(pool: &Pool<DB>) -> Result<()> {
    drop(pool).await?;
    let mut connection = pool.acquire().await?;
    for sql in CREATE {
        connection.run(sql, &[]).await?;
    }
    connection
        .run("DELETE FROM idempotency_ledger", &[])
        .await?;
    Ok(())
}

/// Removes them.
pub(crate) async fn drop<DB: Dialect>(pool: &Pool<DB>) -> Result<()> {
    let mut connection = pool.acquire().await?;
    for sql in DROP {
        connection.run(sql, &[]).await?;
    }
    Ok(())
}

/// Runs one statement on a connection of its own: outside any transaction, as a service would that has none.
pub(crate) async fn run<DB: Dialect>(
    pool: &Pool<DB>,
    sql: &'static str,
    values: &[oncegate_origin::sql::Value<'_>],
) -> Result<u64> {
    Ok(pool.acquire().await?.run(sql, values).await?)
}

/// A number that a statement gives as `n`.
pub(crate) async fn number<DB: Dialect>(
    pool: &Pool<DB>,
    sql: &'static str,
    of: &str,
) -> Result<i64> {
    let row = pool.acquire().await?.first(sql, &[of.into()]).await?;
    Ok(row.ok_or("a count gives a row")?.get("n")?)
}

/// Charges a payment number, on whatever connection.
pub(crate) async fn charge<C: Statements>(
    connection: &mut C,
    pay_no: &str,
) -> std::result::Result<(), sqlx::Error> {
    let sql = "INSERT INTO figures_charges (pay_no, cents) VALUES (?, 500)";
    connection.run(sql, &[pay_no.into()]).await.map(|_| ())
}

/// How often a payment number was charged.
pub(crate) async fn charges<DB: Dialect>(pool: &Pool<DB>, pay_no: &str) -> Result<i64> {
    number(
        pool,
        "SELECT count(*) AS n FROM figures_charges WHERE pay_no = ?",
        pay_no,
    )
    .await
}
